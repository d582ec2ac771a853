"""Objects that hold files column by column: an IO entry for each column, and a directory of them.

    object    = entry of a column ‖ … ‖ entry of the directory
    directory = version u8 ‖ number of files u64 ‖ number of columns u32 ‖ for each column:
                offset u32 ‖ length u32 ‖ raw length u32 ‖ length of the name u16 ‖ name, UTF-8

Each entry begins at a multiple of eight, padded with zeros. The payload of a column is an Arrow IPC stream of one batch
with one column. The directory comes last, so its location also gives the length of the object.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from lakebed.deferred import pyarrow
from lakebed.errors import Corrupt, Invalid, TooLarge
from lakebed.table.entries.assemble import assemble
from lakebed.table.entries.columns import FileColumns
from lakebed.table.entries.layout import SURE_COLUMNS, column_type
from lakebed.table.manifest.io_entry import encode_entry
from lakebed.table.manifest.locations import END, Location, read_location
from lakebed.table.manifest.snapshot import LiveFile

VERSION: Final = 1
ALIGNMENT: Final = 8

_HEAD = struct.Struct("<BQI")
_COLUMN = struct.Struct("<IIIH")

Load: TypeAlias = "Callable[[Location], pyarrow.Array]"


@dataclass(frozen=True, slots=True)
class Packed:
    """An object to store, and the location of its directory."""

    data: bytes
    directory: Location


def pack(columns: Mapping[str, pyarrow.Array], key: str) -> Packed:
    """The object with these columns, which need to have one length; `TooLarge` if an offset does not fit four bytes."""
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise Invalid("columns of files differ in length", subject=key, found=sorted(lengths))
    pieces: list[bytes] = []
    entries, end = [], 0
    for name, column in columns.items():
        payload = column_payload(name, column)
        entry = encode_entry(payload)
        entries.append((name, end, len(entry), payload.size))
        pieces += (entry, bytes(-len(entry) % ALIGNMENT))
        end += len(entry) + -len(entry) % ALIGNMENT
    count = max(lengths, default=0)
    directory = _directory(entries, count)
    last = encode_entry(directory)
    if end + len(last) > END:
        raise TooLarge("an object of columns is too large", subject=key, expected=f"at most {END} bytes", found=end)
    return Packed(b"".join((*pieces, last)), Location(key, end, len(last), len(directory), shared=count > 1))


def open_columns(directory: bytes, location: Location, load: Load) -> FileColumns:
    """The columns of the object with this directory, each loaded when asked for."""
    return FileColumns(_stored(directory, location, load))


def column_payload(name: str, column: pyarrow.Array) -> pyarrow.Buffer:
    """The payload of a column's entry: an Arrow IPC stream."""
    sink = pyarrow.BufferOutputStream()
    batch = pyarrow.record_batch([column], [name])
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def column_from(payload: pyarrow.Buffer, location: Location) -> pyarrow.Array:
    """The column in a payload, whose memory it shares; `Corrupt` if it is missing or not valid in Arrow."""
    try:
        [batch] = pyarrow.ipc.open_stream(payload)
        batch.validate(full=True)
        [column] = batch.columns
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        found = str(error) or type(error).__name__
        raise Corrupt("an entry does not hold a column", subject=str(location), found=found) from error
    return column


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored object as a source of columns."""

    num_rows: int
    places: Mapping[str, Location]
    read: Load
    # The columns that the cache behind `read` still holds: asking it costs ten times as much.
    loaded: WeakValueDictionary[str, pyarrow.Array] = field(default_factory=WeakValueDictionary)

    @property
    def names(self) -> Mapping[str, Location]:
        return self.places

    def load(self, name: str) -> pyarrow.Array:
        known = self.loaded.get(name)
        if known is not None:
            return known
        location = self.places[name]
        column = self.read(location)
        expected = column_type(name)
        if column.type != expected or len(column) != self.num_rows:
            found = f"{len(column)} of {column.type}"
            raise Corrupt(
                f"column {name} has the wrong type or length", subject=str(location), expected=expected, found=found
            )
        self.loaded[name] = column
        return column

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        return assemble(self, rows)


def _directory(entries: Sequence[tuple[str, int, int, int]], num_rows: int) -> bytes:
    pieces = [_HEAD.pack(VERSION, num_rows, len(entries))]
    for name, offset, length, raw_length in entries:
        text = name.encode()
        pieces.append(_COLUMN.pack(offset, length, raw_length, len(text)) + text)
    return b"".join(pieces)


def _stored(directory: bytes, location: Location, load: Load) -> _Stored:
    data = _Bytes(directory, str(location))
    version, num_rows, count = data.numbers(_HEAD)
    if version != VERSION:
        raise data.corrupt("a directory has an unknown version", VERSION, version)
    places = {}
    for _ in range(count):
        offset, length, raw_length, name_bytes = data.numbers(_COLUMN)
        name = data.text(name_bytes)
        _check_known(name, location)
        places[name] = read_location(location.key, offset, length, raw_length, location.shared)
    if data.left or len(places) != count:
        raise data.corrupt("a directory has surplus bytes or repeated names", count, len(places))
    missing = [name for name in SURE_COLUMNS if num_rows and name not in places]
    if missing:
        raise data.corrupt("columns that every file has are missing", ", ".join(missing), f"{count} others")
    return _Stored(num_rows, places, load)


def _check_known(name: str, location: Location) -> None:
    try:
        column_type(name)
    except Invalid as error:
        raise Invalid(
            "an object has a column that this Lakebed does not know",
            subject=f"{name} in {location}",
            advice="Upgrade Lakebed: without this column, files would lose data.",
        ) from error


class _Bytes:
    """Bytes that are read from front to back; `Corrupt` if they end too early."""

    __slots__ = ("_data", "_place", "subject")

    def __init__(self, data: bytes, subject: str) -> None:
        self._data = data
        self._place = 0
        self.subject = subject

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def take(self, length: int) -> bytes:
        if length > self.left:
            raise self.corrupt("a directory is truncated", f"{length} bytes", self.left)
        self._place += length
        return self._data[self._place - length : self._place]

    def numbers(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size))

    def text(self, length: int) -> str:
        data = self.take(length)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.corrupt("a name is not UTF-8", "UTF-8", data.hex()) from error

    def corrupt(self, problem: str, expected: object, found: object) -> Corrupt:
        return Corrupt(problem, subject=self.subject, expected=expected, found=found)
