"""File system steps that survive a power cut. They raise `OSError`; the caller, who knows the path, translates it."""

import os
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


def sync_file(full: str) -> None:
    with opened(full) as descriptor:
        os.fsync(descriptor)


def sync_folder(folder: str) -> None:
    with opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


def make_folders(folder: str, top: str) -> None:
    """Create the missing folders below `top`, from there down, each durable in its parent before the next.

    `FileNotFoundError` if `top` is missing: if a lake's disk is not mounted, no new lake is started at its mount point.
    """
    if folder == top or os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    make_folders(parent, top)
    try:
        os.mkdir(folder)
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
