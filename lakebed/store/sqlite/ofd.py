"""Locks that belong to an open file, not to a process: closing another descriptor of the file does not drop them.

They are Linux's (`F_OFD_SETLK`). SQLite's own locks are POSIX's: a process loses all that it has on a file when it
closes any descriptor of it, and nothing reports that. Both kinds meet each other, so these also find SQLite's.
"""

import fcntl
import struct
import sys
from contextlib import suppress

AVAILABLE = hasattr(fcntl, "F_OFD_GETLK") and sys.maxsize > 1 << 32
"""Whether this system has them; without them nothing here locks or finds anything."""

_FLOCK = struct.Struct("@hhqqi4x")  # l_type, l_whence, l_start, l_len, l_pid


def share(descriptor: int, byte: int) -> bool:
    """Take a shared lock on a byte, for as long as the descriptor is open; whether that worked."""
    return AVAILABLE and _set(descriptor, fcntl.F_OFD_SETLK, byte)


def share_by_process(descriptor: int, byte: int) -> bool:
    """Take a shared lock of POSIX's on a byte, which is lost as SQLite's are; whether that worked."""
    return AVAILABLE and _set(descriptor, fcntl.F_SETLK, byte)


def is_locked(descriptor: int, byte: int) -> bool:
    """Whether anybody has a lock on a byte but this descriptor: POSIX's locks of its own process count."""
    question = _FLOCK.pack(fcntl.F_WRLCK, 0, byte, 1, 0)
    with suppress(OSError):
        return bool(_FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question))[0] != fcntl.F_UNLCK)
    return False


def _set(descriptor: int, command: int, byte: int) -> bool:
    with suppress(OSError):
        fcntl.fcntl(descriptor, command, _FLOCK.pack(fcntl.F_RDLCK, 0, byte, 1, 0))
        return True
    return False
