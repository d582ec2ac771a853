"""Which processes hold a lock on a file, as the kernel lists them: for messages that say whom to wait for."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOCKS = Path("/proc/locks")
_STATES = {"T": "stopped", "t": "stopped by a debugger", "D": "waiting for a disk", "Z": "dead"}

READERS = range(123, 128)
"""The bytes of a `-shm` file that SQLite locks while a transaction reads the WAL (sqlite.org/walformat.html, 2.3)."""

WRITER = range(120, 121)
"""The byte of a `-shm` file that SQLite locks while a transaction writes."""

ANY = range(1 << 62)


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock. `state` is empty unless it explains why the process does not go on."""

    pid: int
    state: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.state})" if self.state else f"process {self.pid}"


def holders(path: Path, bytes: range = ANY) -> list[Holder]:
    """The processes with a lock on these bytes of a file; none where the system does not list them."""
    found = dict.fromkeys(_listed(path, bytes))
    return [Holder(pid, _state(pid)) for pid in found if _has_open(pid, path)]


def is_locked(path: str | Path, byte: int) -> bool:
    """Whether a byte of a file is locked by anybody, without opening it; True where the system does not list locks."""
    return not _LOCKS.exists() or bool(_listed(path, range(byte, byte + 1)))


def named(found: list[Holder], otherwise: str) -> str:
    """The processes as a message names them, or what it says if nobody knows them."""
    return ", ".join(map(str, found)) or otherwise


def _listed(path: str | Path, bytes: range) -> list[int]:
    found = []
    with suppress(OSError):
        inode = os.stat(path).st_ino
        for line in _LOCKS.read_text().splitlines():
            words = line.split()
            # 1: POSIX ADVISORY READ 14127 fe:00:10054465 123 127; one that waits has an arrow after its number.
            if len(words) == 8 and words[5].rpartition(":")[2] == str(inode) and _overlaps(words[6], words[7], bytes):
                found.append(int(words[4]))
    return found


def _overlaps(first: str, last: str, bytes: range) -> bool:
    return int(first) < bytes.stop and (last == "EOF" or int(last) >= bytes.start)


def _has_open(pid: int, path: Path) -> bool:
    """Whether a process has the file open: a number of an inode alone may be another disk's."""
    with suppress(OSError):
        return any(_leads_to(f"/proc/{pid}/fd/{number}", path) for number in os.listdir(f"/proc/{pid}/fd"))
    return False


def _leads_to(link: str, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(link, path)
    return False


def _state(pid: int) -> str:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        return _STATES.get(text.rpartition(")")[2].split()[0], "")
    return ""
