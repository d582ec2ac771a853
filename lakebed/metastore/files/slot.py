"""The bytes of a slot: one commit's writes, its time and its writer, and other times that it gives to commits before.

`"LBSLOT" version(2) writer(16) time(8) ranges(4) cleared(4) entries(4) times(4) texts... crc32c(4)`, all numbers
big-endian. A text is its length (4) and its bytes: begin and end of each cleared range, each cleared key, key and value
of each entry, stamp and time (8) of each commit.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import google_crc32c

from lakebed.errors import Corrupt, Invalid
from lakebed.store.conflicts import Batch
from lakebed.store.transaction import KeyRange

MAGIC = b"LBSLOT"
VERSION = 1

_HEAD = struct.Struct(">6sH16sQIIII")
_TIME = struct.Struct(">Q")
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Slot:
    """A commit as it is in its file; `time` is microseconds since 1970."""

    writer: bytes
    time: int
    batch: Batch
    times: Mapping[bytes, int] = field(default_factory=dict)

    def encode(self) -> bytes:
        batch = self.batch
        texts = [text for range in batch.cleared_ranges for text in (range.begin, range.end)]
        texts += batch.cleared
        texts += [text for entry in batch.entries.items() for text in entry]
        texts += [text for stamp, time in self.times.items() for text in (stamp, _TIME.pack(time))]
        head = _HEAD.pack(
            MAGIC,
            VERSION,
            self.writer,
            self.time,
            len(batch.cleared_ranges),
            len(batch.cleared),
            len(batch.entries),
            len(self.times),
        )
        body = head + b"".join(part for text in texts for part in (_LENGTH.pack(len(text)), text))
        return body + _LENGTH.pack(google_crc32c.value(body))


def decode_slot(path: str, data: bytes) -> Slot:
    """The slot in a file; `Corrupt` if it is not whole, `Invalid` if a newer Lakebed wrote it."""
    if len(data) < _HEAD.size + _LENGTH.size or not data.startswith(MAGIC):
        raise _damaged(path, f"{len(data)} bytes that don't begin as a slot does")
    body, [sum_] = data[: -_LENGTH.size], _LENGTH.unpack(data[-_LENGTH.size :])
    if google_crc32c.value(body) != sum_:
        raise _damaged(path, "another checksum")
    _, version, writer, time, ranges, cleared, entries, times = _HEAD.unpack_from(body)
    if version != VERSION:
        raise Invalid(
            "a newer Lakebed wrote this lake",
            subject=path,
            expected=f"slots of version {VERSION}",
            found=version,
            advice="Use that version of Lakebed.",
        )
    texts = list(_texts(body))
    if len(texts) != 2 * (ranges + entries + times) + cleared:
        raise _damaged(path, f"{len(texts)} texts")
    keyed = texts[2 * ranges + cleared :]
    pairs = [*zip(keyed[::2], keyed[1::2], strict=True)]
    return Slot(
        writer,
        time,
        Batch(
            tuple(KeyRange(texts[place], texts[place + 1]) for place in range(0, 2 * ranges, 2)),
            tuple(texts[2 * ranges : 2 * ranges + cleared]),
            dict(pairs[:entries]),
        ),
        {stamp: _TIME.unpack(time)[0] for stamp, time in pairs[entries:]},
    )


def _texts(body: bytes) -> Iterator[bytes]:
    at = _HEAD.size
    while at < len(body):
        [length] = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        yield body[at : at + length]
        at += length


def _damaged(path: str, found: str) -> Corrupt:
    return Corrupt(
        "a commit is damaged",
        subject=path,
        expected="a slot with its checksum",
        found=found,
        advice="Restore it from a copy: no commit after it can be read.",
    )
