"""File system steps that survive a power cut. They raise `OSError`; the caller, who knows the path, translates it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def opened(full: str, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of what is at the path; a link is not followed."""
    descriptor = os.open(full, flags | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync_file(full: str, permissions: int = 0o777) -> None:
    """Make a file durable, which is then allowed no more than the permissions."""
    with opened(full) as descriptor:
        _restrict(descriptor, permissions)
        os.fsync(descriptor)


def sync_folder(folder: str, permissions: int = 0o777) -> None:
    """The same for a folder: the names in it."""
    with opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        _restrict(descriptor, permissions)
        os.fsync(descriptor)


def _restrict(descriptor: int, permissions: int) -> None:
    """Take from a file or folder that another program made what is not allowed; what is another user's stays."""
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & 0o777 & ~permissions:
        with suppress(PermissionError):
            os.fchmod(descriptor, mode & (permissions | 0o7000))


def make_private_folder(folder: str) -> None:
    """Create a folder that only its owner can open, or make an empty one such."""
    make_folders(os.path.dirname(folder), "/")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.path.isdir(folder) and not os.listdir(folder):
            os.chmod(folder, 0o700)
        return
    sync_folder(os.path.dirname(folder))


def make_folders(folder: str, top: str, permissions: int = 0o777) -> None:
    """Create the missing folders below `top`, from there down, each durable in its parent before the next.

    `FileNotFoundError` if `top` is missing: if a lake's disk is not mounted, no new lake is started at its mount point.
    """
    if folder == top or os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    make_folders(parent, top, permissions)
    try:
        os.mkdir(folder, permissions)
    except FileExistsError:
        return  # another process just made it, or it is a file: opening something in it will show
    try:
        sync_folder(parent)
    except OSError:
        with suppress(OSError):
            os.rmdir(folder)  # otherwise the next writer would assume that it is durable
        raise


def write_whole(descriptor: int, piece: memoryview) -> None:
    """Write all of the piece: one system call writes at most 2 GB, and may write less."""
    written = os.write(descriptor, piece)
    while written < len(piece):
        written += os.write(descriptor, piece[written:])
