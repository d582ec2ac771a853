"""Immutable bodies of a table (schemas, specs, inline rows), and the ids that a table gives out.

    (12, table, kind)           -> 01 ‖ FE ‖ the next id, 8 bytes ‖ CRC-32
    (13, table, kind, id, part) -> 01 ‖ FF ‖ how many parts follow, 2 bytes ‖ at most 90,000 bytes ‖ CRC-32

Numbers are big-endian; the CRC-32 covers all that stands before it and is little-endian, as in `codec`. Parts count
from 0, and each says how many follow, so that a body that lacks one is found out.
"""

import zlib
from collections.abc import Sequence

from lakebed.errors import Corrupt, Invalid
from lakebed.records import layout
from lakebed.store import RangeRead, Reads, Transaction
from lakebed.store.transaction import Entry
from lakebed.store.tuples import pack_element

PART_BYTES = 90_000
_LAST_ID = 2**63 - 1  # of an int64, which is what files and Iceberg keep ids in
_NEXT_ID = b"\x01\xfe"
_PART = b"\x01\xff"


def save_body(transaction: Transaction, table: str, kind: str, body_id: int, body: bytes) -> None:
    """Write a body. The same one again is fine; another one under its id is `Invalid`."""
    [known] = load_bodies(transaction, [(table, kind, body_id)])
    if known is not None and known != body:
        raise Invalid("a body never changes", subject=f"{kind} {body_id} of table {table}", advice="Take a new id.")
    prefix = layout.body_prefix(table, kind, body_id)
    parts = [body[start : start + PART_BYTES] for start in range(0, len(body) or 1, PART_BYTES)]
    for number, part in enumerate(parts):
        following = (len(parts) - number - 1).to_bytes(2)
        transaction.set(prefix + pack_element(number), _sealed(_PART + following + part))


def load_bodies(reads: Reads, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
    """The bodies of (table, kind, id), None where there is none."""
    prefixes = [layout.body_prefix(*one) for one in wanted]
    pages = reads.get_ranges([RangeRead(layout.prefix_range(prefix)) for prefix in prefixes])
    return [_joined(prefix, page.entries) for prefix, page in zip(prefixes, pages, strict=True)]


def allocate(transaction: Transaction, table: str, kind: str, count: int) -> int:
    """The first of `count` new ids of the table; they only grow, from 1, on all lines together."""
    key = layout.allocator_key(table, kind)
    stored = transaction.get(key)
    first = 1 if stored is None else next_id(stored)
    if not 1 <= count <= _LAST_ID - first:
        raise Invalid(
            "that many ids can't be given out",
            subject=f"{kind} ids of table {table}",
            expected=f"1 to {_LAST_ID - first}",
            found=count,
        )
    transaction.set(key, _sealed(_NEXT_ID + (first + count).to_bytes(8)))
    return first


def next_id(value: bytes) -> int:
    """The next id that a stored allocator will give out."""
    opened = _opened(_NEXT_ID, value)
    if len(opened) != 8:
        raise Corrupt("a stored allocator has another length", expected="8 bytes", found=len(opened))
    return int.from_bytes(opened)


def part_of(value: bytes) -> tuple[int, bytes]:
    """How many parts follow a stored one, and what it holds."""
    opened = _opened(_PART, value)
    if len(opened) < 2:
        raise Corrupt("a part of a stored body is cut off", expected="at least 2 bytes", found=len(opened))
    return int.from_bytes(opened[:2]), opened[2:]


def _joined(prefix: bytes, entries: list[Entry]) -> bytes | None:
    if not entries:
        return None
    parts = [part_of(value) for _, value in entries]
    for number, ((key, _), (following, _)) in enumerate(zip(entries, parts, strict=True)):
        if key != prefix + pack_element(number) or following != len(parts) - number - 1:
            raise Corrupt(
                "a stored body lacks a part, or has one too many",
                subject=f"body {prefix.hex()}",
                expected=f"{following} after part {number}",
                found=f"{len(parts)} in all",
                advice="Run the records' check.",
            )
    return b"".join(part for _, part in parts)


def _sealed(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "little")


def _opened(head: bytes, value: bytes) -> bytes:
    if value[:2] != head or zlib.crc32(value[:-4]) != int.from_bytes(value[-4:], "little"):
        raise Corrupt("a stored value's checksum does not fit its bytes", expected=head.hex(), found=value[:2].hex())
    return value[2:-4]
