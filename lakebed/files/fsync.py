"""Steps that outlive a power cut. They raise `OSError`: whoever knows the path says what it means."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def opened(full: str, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of what is there, never through a link."""
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
    """Make what lacks of the folder below `top`, from there down, each durable in its parent before the next.

    `FileNotFoundError` if `top` is not there: a lake whose disk is not mounted is not begun anew beneath it.
    """
    if folder == top or os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    make_folders(parent, top)
    try:
        os.mkdir(folder)
    except FileExistsError:
        return  # made by somebody else just now, or a file: whoever opens something in it will know
    try:
        sync_folder(parent)
    except OSError:
        with suppress(OSError):
            os.rmdir(folder)  # or the next writer would take it for durable
        raise


def write_whole(descriptor: int, piece: memoryview) -> None:
    """Write all of the piece: one call of the system writes 2 GB at most, and less when it likes."""
    written = os.write(descriptor, piece)
    while written < len(piece):
        written += os.write(descriptor, piece[written:])
