"""The note beside a database: the newest version that was acknowledged, where a damaged WAL can't reach.

note = slot, at 0 and at 512; version v is in slot v mod 2
slot = "LKBDNEW1" id:16 version:8 filesystem:8 inode:8 crc:4     big-endian; CRC32C of what is before it
"""

import os
import stat
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import google_crc32c

from lakebed.errors import Corrupt

_SLOT = struct.Struct(">8s16sQQQ")
_CRC = struct.Struct(">I")
_MAGIC = b"LKBDNEW1"
_SLOT_OFFSETS = (0, 512)
_SLOT_BYTES = _SLOT.size + _CRC.size
_BYTES = _SLOT_OFFSETS[1] + _SLOT_BYTES
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Newest:
    """What a note says: the newest version of a store, and the file that had it."""

    id: bytes
    version: int
    filesystem: int
    inode: int

    def encode(self) -> bytes:
        body = _SLOT.pack(_MAGIC, self.id, self.version, self.filesystem, self.inode)
        return body + _CRC.pack(google_crc32c.value(body))

    @classmethod
    def decode(cls, slot: bytes) -> "Newest | None":
        """What a slot says; None if it is empty or damaged."""
        body = slot[: _SLOT.size]
        if len(slot) != _SLOT_BYTES or _CRC.unpack_from(slot, _SLOT.size)[0] != google_crc32c.value(body):
            return None
        magic, id, version, filesystem, inode = _SLOT.unpack(body)
        return cls(id, version, filesystem, inode) if magic == _MAGIC else None


def home_of(path: Path) -> tuple[int, int]:
    """What tells a file from its copies: its file system and its inode. Device numbers change with a restart."""
    return os.statvfs(path).f_fsid & _MASK, os.stat(path).st_ino & _MASK


def read_note(path: Path) -> Newest | None:
    """The newer of what both slots say; None if there is no note that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer would block
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            advice = "Delete it: it protects nothing."
            raise Corrupt("the note of the newest version is not a file", subject=str(path), advice=advice)
        return _newer(os.read(descriptor, _BYTES))
    finally:
        os.close(descriptor)


class Note:
    """A note that is kept open for writing. Its calls are made under the write lock."""

    def __init__(self, path: Path, database: Path) -> None:
        self._path = path
        self._database = database
        self._descriptor: int | None = None
        self._synced = True
        self._data = b""  # what was last read or written, so that it is decoded once
        self._newest: Newest | None = None

    def open(self) -> None:
        self._open()

    def is_in_place(self) -> bool:
        """Whether nobody has put another note in its place."""
        try:
            return self._descriptor is None or os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return True

    def read(self) -> Newest | None:
        data = os.pread(self._open(), _BYTES, 0)
        if data != self._data:
            self._data, self._newest = data, _newer(data)
        return self._newest

    def write(self, newest: Newest) -> None:
        """Put a version into its slot; the other one keeps the version before."""
        slot, offset = newest.encode(), _SLOT_OFFSETS[newest.version % 2]
        os.pwrite(self._open() if self._descriptor is None else self._descriptor, slot, offset)
        self._data, self._newest = self._data[:offset] + slot + self._data[offset + _SLOT_BYTES :], newest
        self._synced = False

    def replace(self, newest: Newest) -> None:
        """Put a version into both slots, durably: what they said was about another file."""
        descriptor, slot = self._open(), newest.encode()
        os.pwrite(descriptor, slot.ljust(_SLOT_OFFSETS[1], b"\0") + slot, 0)
        os.fsync(descriptor)

    def sync(self) -> None:
        if not self._synced and self._descriptor is not None:
            os.fsync(self._descriptor)
            self._synced = True

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _open(self) -> int:
        """The note's descriptor; if its file was deleted, a new one is created."""
        if self._descriptor is not None and os.fstat(self._descriptor).st_nlink == 0:
            self.close()
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(PermissionError):  # it belongs to somebody else, who has done it
                os.fchmod(self._descriptor, os.stat(self._database).st_mode & 0o777)
        return self._descriptor

    def __del__(self) -> None:
        self.close()


def _newer(data: bytes) -> Newest | None:
    slots = [Newest.decode(data[offset : offset + _SLOT_BYTES]) for offset in _SLOT_OFFSETS]
    found = [slot for slot in slots if slot is not None]
    return max(found, key=lambda slot: slot.version, default=None)
