"""The paths of a database and of the files beside it."""

import os
from pathlib import Path

from lakebed.errors import Invalid
from lakebed.store.sqlite.failures import errors_translated
from lakebed.store.sqlite.permissions import permissions_beside


def checked_path(path: Path) -> Path:
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid("the path of a database is not valid Unicode", subject=repr(text)) from None
    if "\x00" in text:
        raise Invalid("the path of a database has a null byte", subject=repr(text))
    with errors_translated(path):
        if path.exists() and not path.is_file():
            found = "a folder" if path.is_dir() else "something else"
            raise Invalid("the path of the database is not a file", subject=text, expected="a file", found=found)
    return path.absolute()


def make_folder(folder: Path) -> None:
    """Create each missing folder, durably."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def create_file(path: Path) -> None:
    """Create an empty file, unless there is one, with no permission that its folder does not have.

    SQLite itself would let all users read it. Its journals get the permissions of the database.
    """
    with errors_translated(path):
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, permissions_beside(path)))


def identity(path: str | Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def beside(path: Path, suffix: str) -> Path:
    """A file that belongs to a database: beside the real one, if its path is a link."""
    return Path(os.path.realpath(path) + suffix)


def size_of(path: Path) -> int:
    """The size of a file, 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
