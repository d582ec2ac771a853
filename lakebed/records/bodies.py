"""Immutable bodies of a table (schemas, specs, inline rows), and the ids that a table allocates.

    (12, table, kind)           -> 01 ‖ FE ‖ the next id, 8 bytes ‖ CRC-32
    (13, table, kind, id, part) -> 01 ‖ FF ‖ how many parts follow, 2 bytes ‖ at most 90,000 bytes ‖ CRC-32

Numbers are big-endian; the CRC-32 covers all bytes before it and is little-endian, as in `codec`. Parts count from 0.
Each states how many follow, so that a missing part is noticed.
"""

import zlib
from collections.abc import Sequence

from lakebed.errors import Corrupt, Invalid
from lakebed.records import layout
from lakebed.store import RangeRead, Reads, Transaction
from lakebed.store.transaction import Entry
from lakebed.store.tuples import pack_element

PART_BYTES = 90_000
_LAST_ID = 2**63 - 1  # the largest int64, the type of ids in files and in Iceberg
_NEXT_ID = b"\x01\xfe"
_PART = b"\x01\xff"


def save_body(transaction: Transaction, table: str, kind: str, body_id: int, body: bytes) -> None:
    """Write a body. Writing the same body again is fine; a different one under its id is `Invalid`."""
    [known] = load_bodies(transaction, [(table, kind, body_id)])
    if known is not None and known != body:
        raise Invalid("a body never changes", subject=f"{kind} {body_id} of table {table}", advice="Use a new id.")
    prefix = layout.body_prefix(table, kind, body_id)
    parts = [body[start : start + PART_BYTES] for start in range(0, len(body) or 1, PART_BYTES)]
    for number, part in enumerate(parts):
        following = (len(parts) - number - 1).to_bytes(2)
        transaction.set(prefix + pack_element(number), _seal(_PART + following + part))


def load_bodies(reads: Reads, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
    """The bodies of (table, kind, id), None where there is none."""
    prefixes = [layout.body_prefix(table, kind, body_id) for table, kind, body_id in wanted]
    pages = reads.get_ranges([RangeRead(layout.prefix_range(prefix)) for prefix in prefixes])
    return [_body(prefix, page.entries) for prefix, page in zip(prefixes, pages, strict=True)]


def allocate(transaction: Transaction, table: str, kind: str, count: int) -> int:
    """The first of `count` new ids of the table. They start at 1 and only grow; all lines share them."""
    key = layout.allocator_key(table, kind)
    stored = transaction.get(key)
    first = 1 if stored is None else next_id(stored)
    if not 1 <= count <= _LAST_ID - first:
        raise Invalid(
            "this number of ids can't be allocated",
            subject=f"{kind} ids of table {table}",
            expected=f"1 to {_LAST_ID - first}",
            found=count,
        )
    transaction.set(key, _seal(_NEXT_ID + (first + count).to_bytes(8)))
    return first


def next_id(value: bytes) -> int:
    """The next id that a stored allocator will allocate."""
    payload = _payload(_NEXT_ID, value)
    if len(payload) != 8:
        raise Corrupt("a stored allocator has the wrong length", expected="8 bytes", found=len(payload))
    return int.from_bytes(payload)


def part_of(value: bytes) -> tuple[int, bytes]:
    """How many parts follow a stored part, and the bytes in it."""
    payload = _payload(_PART, value)
    if len(payload) < 2:
        raise Corrupt("a part of a stored body is truncated", expected="at least 2 bytes", found=len(payload))
    return int.from_bytes(payload[:2]), payload[2:]


def _body(prefix: bytes, entries: list[Entry]) -> bytes | None:
    if not entries:
        return None
    parts = [part_of(value) for _, value in entries]
    for number, ((key, _), (following, _)) in enumerate(zip(entries, parts, strict=True)):
        if key != prefix + pack_element(number) or following != len(parts) - number - 1:
            raise Corrupt(
                "a stored body has a part missing, or one too many",
                subject=f"body {prefix.hex()}",
                expected=f"{following} after part {number}",
                found=f"{len(parts)} in all",
                advice="Run lake.check().",
            )
    return b"".join(part for _, part in parts)


def _seal(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def _payload(head: bytes, value: bytes) -> bytes:
    if value[:2] != head or zlib.crc32(value[:-4]) != int.from_bytes(value[-4:], "little"):
        raise Corrupt("a stored value's checksum does not match its bytes", expected=head.hex(), found=value[:2].hex())
    return value[2:-4]
