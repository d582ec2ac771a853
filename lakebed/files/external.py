"""External files: named by full URLs, read where they are, never written or deleted."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from lakebed.errors import Invalid
from lakebed.files.os_errors import error_for, not_found
from lakebed.files.paths import part_is_plain

SCHEME = "file://"


def is_external(path: str) -> bool:
    """Whether a path is a URL. No relative path looks like one, since it can't have an empty part."""
    return "://" in path


def url_of(full: str) -> str:
    """The only URL of an absolute path: parts in UTF-8, percent-encoded except letters, digits and `_.-~`."""
    _check_parts(full, full)
    return Path(full).as_uri()


def full_path(url: str) -> str:
    """The absolute path of a URL; `Invalid` unless it is spelled as `url_of` spells it.

    Entries are identified by their paths: a file with two spellings could be added twice.
    """
    full = absolute_path(url)
    if url_of(full) != url:
        raise _refused(url, "another spelling of the URL", f"Write it as {url_of(full)}.")
    return full


def absolute_path(url: str) -> str:
    """The absolute path of a URL in any encoding; `Invalid` unless it names a file on this machine."""
    rest = url.removeprefix(SCHEME)
    if rest == url or not rest.startswith("/"):
        raise _refused(url, f"{url.partition('/')[0]!r} before the path", "Copy the file to this machine.")
    full = os.fsdecode(unquote_to_bytes(rest))
    _check_parts(full, url)
    return full


def find(path: str) -> tuple[str, os.stat_result]:
    """The real path of a URL's file, with links resolved, and its status; or `NotFound`."""
    full = os.path.realpath(full_path(path))
    try:
        found = os.stat(full)
    except (FileNotFoundError, NotADirectoryError):
        raise not_found(path, f"nothing at {full}") from None
    except OSError as error:
        raise error_for(error, path) from error
    if not stat.S_ISREG(found.st_mode):
        raise not_found(path, f"something other than a file at {full}")
    return full, found


def check_not_external(path: str) -> None:
    """Refuse an external file, which the lake must not write or delete."""
    if is_external(path):
        raise Invalid(
            "a file outside the root can only be read",
            subject=path,
            expected="a path below the root",
            advice="The file belongs to another program: write or delete it there.",
        )


def folders_above(full: str) -> Iterator[str]:
    """The folders above an absolute path, from the innermost to the outermost."""
    while full != "/":
        full = os.path.dirname(full)
        yield full


def _check_parts(full: str, subject: str) -> None:
    parts = full.split("/")[1:]
    for part in parts:
        if part in ("", ".", "..") or not part_is_plain(part):
            raise _refused(subject, f"the part {part!r}", "Use a path without empty parts, `.`, `..` or controls.")


def _refused(url: str, found: str, advice: str) -> Invalid:
    shown = url if url.isprintable() else ascii(url)
    expected = "a URL such as file:///data/a.parquet"
    return Invalid("the URL is not allowed", subject=shown, expected=expected, found=found, advice=advice)
