"""Rows as `check` reads them: the parts of their keys, their records, and related rows."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from google.protobuf.message import Message

from lakebed.errors import Corrupt
from lakebed.records import codec, layout
from lakebed.records.cells import Row
from lakebed.records.layout import ID_SIZE, Attribute, Cell
from lakebed.store import Reads, Version
from lakebed.store.tuples import unpack
from lakebed.store.version import ZERO


class Entry(NamedTuple):
    """A row of a space whose keys start with a line: the line, the rest of the key, and the value."""

    line: str
    rest: bytes
    value: bytes


class Past(NamedTuple):
    """A history row: its line, the part of the key that names its cell, the version and the value."""

    line: str
    rest: bytes
    version: Version
    value: bytes


def problem_if(wrong: bool, problem: str) -> Iterator[str]:
    if wrong:
        yield problem


def entry_of(key: bytes, value: bytes) -> Entry:
    start = 2  # the number of every space, except the lake's own, takes two bytes in a key
    return Entry(layout.id_text(key[start : start + ID_SIZE]), key[start + ID_SIZE :], value)


def past_of(key: bytes, value: bytes) -> Past:
    line, rest, value = entry_of(key, value)
    return Past(line, rest[: -layout.VERSION_SIZE], layout.key_version(key), value)


def record_of(value: bytes, kinds: tuple[type[Message], ...], read: Callable[[bytes], Message] = codec.decode) -> Any:
    """The record of a value, which has to be of one of these types."""
    record = read(value)
    if not isinstance(record, kinds):
        expected = " or ".join(kind.DESCRIPTOR.name for kind in kinds)
        raise Corrupt("its record has the wrong type", expected=expected, found=type(record).__name__)
    return record


def attribute_of(rest: bytes) -> tuple[str, Attribute]:
    number = unpack(rest, ID_SIZE)[0]
    if number not in list(Attribute):
        raise Corrupt("there is no such attribute", found=number)
    return layout.id_text(rest[:ID_SIZE]), Attribute(number)


def value_at(reads: Reads, cell: Cell, line: str, version: Version) -> bytes | None:
    """The value of the history row of exactly this version."""
    return reads.get(cell.history_prefix(line) + layout.version_element(version))


def newest_row(reads: Reads, cell: Cell, line: str, version: Version | None = None) -> Row | None:
    """The newest history row, or the last before a version."""
    prefix = cell.history_prefix(line)
    range = layout.versions_after(prefix, ZERO) if version is None else layout.versions_before(prefix, version)
    entries = reads.get_range(range, limit=1, reverse=True).entries
    return Row(line, layout.key_version(entries[0][0]), entries[0][1]) if entries else None


def event_at(reads: Reads, line: str, version: Version) -> bytes | None:
    return reads.get(layout.log_prefix(line) + layout.version_element(version))
