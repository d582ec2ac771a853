"""The branch that a user switched to: a small file in the lake's folder, outside of the lake's versions.

<lake>/switched-<user>    the address of the line, `default@dev`, and in a second line the one before
"""

import getpass
import os
import re
from dataclasses import dataclass

from lakebed.errors import Forbidden, LakebedError
from lakebed.files import LocalFiles

PREFIX = "switched-"


@dataclass(frozen=True, slots=True)
class Switched:
    """The line that is worked on, and the one before, to which `switch -` goes back."""

    place: str | None = None
    before: str | None = None


def switched(folder: str) -> Switched:
    """What was remembered; nothing if nobody switched, or if the file can't be read."""
    try:
        lines = [line.strip() for line in LocalFiles(folder).read(_name()).decode().splitlines()]
    except (LakebedError, UnicodeDecodeError):
        return Switched()
    return Switched(*(line or None for line in (*lines, "", "")[:2]))


def remember(folder: str, place: str, before: str) -> None:
    """Remember a line; the file is replaced whole, or stays as it was."""
    try:
        LocalFiles(folder).put(_name(), f"{place}\n{before}\n".encode())
    except LakebedError as error:
        raise Forbidden(
            "the branch can't be remembered here",
            subject=folder,
            found=error.problem,
            advice="Name it each time: --on REF.",
        ) from error


def _name() -> str:
    return PREFIX + re.sub(r"[^\w.-]", "_", _user())


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in many containers
        return str(os.getuid())
