"""Which paths are allowed: relative POSIX paths that mean the same on every backend and never leave the root."""

import os
import re

from lakebed.errors import Invalid

TEMPORARY = ".tmp-"
"""The prefix of the names of temporary files, and of no others."""

PART_BYTES = 255  # NAME_MAX of every common file system
PATH_BYTES = 1024  # the longest key of S3, GCS and Azure

# C0 and C1 controls, the separator of Windows, and surrogates, which UTF-8 can't encode.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")


def check_path(path: str) -> str:
    """The path itself, or `Invalid`."""
    flaw = _flaw(path)
    if flaw is not None:
        raise _refused(path, flaw)
    return path


def check_prefix(prefix: str) -> str:
    """The folder of everything with this prefix ("" is the root), or `Invalid` if no path can start with it."""
    folder, slash, begin = prefix.rpartition("/")
    flaw = _flaw(folder) if slash else None
    if flaw is None and _FORBIDDEN.search(begin):
        flaw = part_flaw(begin)
    if flaw is not None:
        raise _refused(prefix, flaw)
    return folder


def part_flaw(part: str) -> str | None:
    """What is wrong with one part of a path, if anything is."""
    if not part:
        return "an empty part: the path is empty, absolute, or has too many slashes"
    if part in (".", ".."):
        return f"the part {part!r}"
    if (character := _FORBIDDEN.search(part)) is not None:
        return f"the character {character.group()!r}"
    if part.startswith(TEMPORARY):
        return f"a part that starts with {TEMPORARY!r}, which is reserved for temporary files"
    if len(part.encode()) > PART_BYTES:
        return f"a part of {len(part.encode())} bytes, where {PART_BYTES} is the maximum"
    return None


def can_be_path(text: str) -> bool:
    """Whether a text can name a file of this machine: it has no NUL, and only surrogates that stand for bytes."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def part_is_plain(part: str) -> bool:
    """Whether every character of a part means the same on every system."""
    return _FORBIDDEN.search(part) is None


def _flaw(path: str) -> str | None:
    for part in path.split("/"):
        if (flaw := part_flaw(part)) is not None:
            return flaw
    if (size := len(path.encode())) > PATH_BYTES:
        return f"{size} bytes, where {PATH_BYTES} is the maximum"
    return None


def _refused(path: str, flaw: str) -> Invalid:
    shown = path if path.isprintable() else ascii(path)
    return Invalid(
        "the path is not allowed",
        subject=shown if len(shown) <= 100 else f"{shown[:99]}…",
        expected="a relative path such as data/a/b.parquet",
        found=flaw,
        advice="Name a file below the root, by a plain relative path.",
    )
