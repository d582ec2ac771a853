"""Texts that a word reads: files that are named, and the standard input."""

import sys
from pathlib import Path

from lakebed.errors import Invalid, NotFound


def text_of_file(path: str) -> str:
    """The text of a file, or an error that says why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound("there is no such file", subject=path, advice="Check the path.") from error
    except OSError as error:
        raise Invalid("the file can't be read", subject=f"{path:.200}", found=error.strerror) from error
    except ValueError as error:  # not UTF-8, or a path with a NUL
        raise Invalid(
            "this is not a file of text", subject=f"{path:.200}", expected="UTF-8", found=str(error)
        ) from error


def given_text() -> str:
    """All of the standard input."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise Invalid("the standard input is not text", expected="UTF-8", found=str(error)) from error
