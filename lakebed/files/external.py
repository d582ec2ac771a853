"""Files outside the root: told by full URLs, read where they are, never written or deleted."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from lakebed.errors import Invalid
from lakebed.files.os_errors import absent, refused
from lakebed.files.paths import part_is_plain

SCHEME = "file://"


def is_outside(path: str) -> bool:
    """Whether a path is a URL; a relative path can't have an empty part, so none looks like one."""
    return "://" in path


def url_of(full: str) -> str:
    """The one URL of an absolute path: parts in UTF-8, percent-encoded but for letters, digits and `_.-~`."""
    _check_parts(full, full)
    return Path(full).as_uri()


def full_path(url: str) -> str:
    """The absolute path that a URL stands for; `Invalid` unless it is the one that `url_of` gives.

    Entries are told apart by their paths: of two spellings of one file, both could be added.
    """
    full = decoded(url)
    if url_of(full) != url:
        raise _refused(url, "another spelling of it", f"Write it as {url_of(full)}.")
    return full


def decoded(url: str) -> str:
    """The absolute path of a URL however it is encoded; `Invalid` for one that this machine has no file for."""
    rest = url.removeprefix(SCHEME)
    if rest == url or not rest.startswith("/"):
        raise _refused(url, f"{url.partition('/')[0]!r} before the path", "Copy the file to where the lake is.")
    full = os.fsdecode(unquote_to_bytes(rest))
    _check_parts(full, url)
    return full


def find(path: str) -> tuple[str, os.stat_result]:
    """Where the file of a URL is, behind whatever links lead there, and what is known of it; or `NotFound`."""
    full = os.path.realpath(full_path(path))
    try:
        found = os.stat(full)
    except (FileNotFoundError, NotADirectoryError):
        raise absent(path, f"nothing at {full}") from None
    except OSError as error:
        raise refused(error, path) from error
    if not stat.S_ISREG(found.st_mode):
        raise absent(path, f"no plain file at {full}")
    return full, found


def check_inside(path: str) -> None:
    """`Invalid` for a file that is not the lake's to write or delete."""
    if is_outside(path):
        raise Invalid(
            "a file outside the root is only read",
            subject=path,
            expected="a path below the root",
            advice="It belongs to whoever put it there: write or delete it with their tools.",
        )


def folders_above(full: str) -> Iterator[str]:
    """Each folder from that of an absolute path up to the outermost."""
    while full != "/":
        full = os.path.dirname(full)
        yield full


def _check_parts(full: str, subject: str) -> None:
    parts = full.split("/")[1:]
    for part in parts:
        if part in ("", ".", "..") or not part_is_plain(part):
            raise _refused(subject, f"the part {part!r}", "Name the file by plain parts, without `.` and `..`.")


def _refused(url: str, found: str, advice: str) -> Invalid:
    shown = url if url.isprintable() else ascii(url)
    expected = "a URL such as file:///data/a.parquet"
    return Invalid("the URL is refused", subject=shown, expected=expected, found=found, advice=advice)
