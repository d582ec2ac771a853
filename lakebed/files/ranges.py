"""Reading exactly one range of an open file."""

import os

from lakebed.errors import Corrupt, Invalid
from lakebed.files.os_errors import negative


def read_range(descriptor: int, path: str, size: int, start: int, length: int) -> bytes:
    if start < 0 or length < 0:
        raise negative("range", (start, length), path)
    check_start(path, start, size)
    read = _read(descriptor, start, length) if start + length <= size else None
    if read is None or len(read) < length:
        raise too_short(path, start, length, size - start if read is None else len(read))
    return read


def check_start(path: str, start: int, size: int) -> None:
    """`Invalid` if a range begins beyond the end of a file."""
    if start > size:
        raise Invalid(
            "the range starts beyond the end of the file",
            subject=path,
            expected=f"a start of at most {size}",
            found=start,
            advice="Ask for its size first.",
        )


def too_short(path: str, start: int, length: int, found: int) -> Corrupt:
    """The error of a range of which only some bytes were found."""
    return Corrupt(
        "the file is too short",
        subject=path,
        expected=f"{length} bytes from {start} on",
        found=f"{found} bytes",
        advice="The file was truncated or replaced: restore it from a copy.",
    )


def _read(descriptor: int, start: int, length: int) -> bytes:
    """As many bytes as there are: one system call reads at most 2 GB."""
    read = os.pread(descriptor, length, start)
    if len(read) == length:
        return read
    several = [read]
    while read and (done := sum(map(len, several))) < length:
        read = os.pread(descriptor, length - done, start + done)
        several.append(read)
    return b"".join(several)
