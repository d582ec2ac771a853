"""The columns of files' entries, made from the serialized entries: plain fields, lists by field id, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from google.protobuf.message import Message

from lakebed.caches import remembered
from lakebed.deferred import numpy, pyarrow
from lakebed.table.entries.layout import (
    ENTRY_COLUMNS,
    LAYOUT_COLUMNS,
    LIVE_COLUMNS,
    OPEN_COLUMNS,
    PARTITION,
    STATISTIC_FIELDS,
    Layouts,
    column_type,
    layouts_of,
)
from lakebed.table.entries.protobuf import Fields, Mask, Numbers, Places, Slices, messages_of, tags_of
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, PartitionValue
from lakebed.table.manifest.snapshot import LiveFile

_LISTS: Final = {"statistics": ColumnStatistics, "partition": PartitionValue}
_LIST_COLUMNS: Final = {"statistics": STATISTIC_FIELDS.values(), "partition": ("value",)}
_NULL_IF_EMPTY: Final = ("key_min", "key_max")

_TAGS = tags_of(DataFileRef)
_COLUMN_TAGS = {_TAGS[name] for name in (*ENTRY_COLUMNS, *_LISTS, "blocks")}
_OPTIONAL = {field.name for field in DataFileRef.DESCRIPTOR.fields if field.has_presence}


class Shredded:
    """Entries as a source of columns; each column is made when first asked for, and kept."""

    def __init__(self, files: Sequence[LiveFile]) -> None:
        self._files = tuple(files)
        self._columns: dict[str, pyarrow.Array] = {}
        self._entries = messages_of([live.file.SerializeToString() for live in self._files])
        self._fields = Fields(self._entries)

    @property
    def num_rows(self) -> int:
        return len(self._files)

    @remembered
    def names(self) -> Sequence[str]:
        statistics = [f"{kind}.{id}" for id in self._lists["statistics"].layouts.ids() for kind in STATISTIC_FIELDS]
        partition = [f"{PARTITION}.{id}" for id in self._lists["partition"].layouts.ids()]
        return (*ENTRY_COLUMNS, *LIVE_COLUMNS, *LAYOUT_COLUMNS, *OPEN_COLUMNS, *statistics, *partition)

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        return [self._files[row] for row in rows]

    def load(self, name: str) -> pyarrow.Array:
        if name not in self._columns:
            self._columns[name] = self._make(name)
        return self._columns[name]

    @remembered
    def _lists(self) -> dict[str, _EntryList]:
        return {
            name: _EntryList(self._fields, _TAGS[name], kind, _LIST_COLUMNS[name], self.num_rows)
            for name, kind in _LISTS.items()
        }

    def _make(self, name: str) -> pyarrow.Array:
        kind, dot, number = name.partition(".")
        if dot:
            return self._numbered(name, kind, int(number))
        if name in LAYOUT_COLUMNS:
            return self._lists[name].layouts.array()
        if name in LIVE_COLUMNS:
            return pyarrow.array([getattr(live, name) for live in self._files], column_type(name))
        if name == "rest":
            return self._rest()
        if name == "blocks":
            return self._gathered(name, self._fields.spans(_TAGS[name]))
        return self._plain(name)

    def _plain(self, name: str) -> pyarrow.Array:
        tag, type = _TAGS[name], column_type(name)
        is_optional = name in _OPTIONAL
        if pyarrow.types.is_integer(type):
            numbers = self._fields.numbers(tag)
            return numbers.array(type) if is_optional else numbers.array_of_all(type)
        slices = self._fields.slices(tag)
        return self._gathered(name, slices if is_optional or name in _NULL_IF_EMPTY else slices.of_all())

    def _numbered(self, name: str, kind: str, field_id: int) -> pyarrow.Array:
        entries = self._lists["partition" if kind == PARTITION else "statistics"]
        field, type = STATISTIC_FIELDS.get(kind, "value"), column_type(name)
        if pyarrow.types.is_integer(type):
            return entries.numbers(field, field_id).array(type)
        return self._gathered(name, entries.slices(field, field_id))

    def _gathered(self, name: str, slices: Slices) -> pyarrow.Array:
        return slices.array(self._entries.data, column_type(name))

    def _rest(self) -> pyarrow.Array:
        """Whatever is in no other column: other or unknown fields, and lists that have such fields or repeat an id."""
        irregular = {name: entries.is_irregular() for name, entries in self._lists.items()}
        some = self._fields.others(_COLUMN_TAGS) | irregular["statistics"] | irregular["partition"]
        values: list[bytes | None] = [None] * self.num_rows
        for row in numpy.flatnonzero(some).tolist():
            values[row] = _rest_of(self._files[row].file, [name for name in _LISTS if irregular[name][row]])
        return pyarrow.array(values, column_type("rest"))


class _EntryList:
    """One repeated field of all entries, whose messages have a `field_id`."""

    def __init__(self, entries: Fields, tag: int, kind: type[Message], columns: Collection[str], rows: int) -> None:
        self._rows = rows
        tags = tags_of(kind)
        self._tags = {name: tags[name] for name in ("field_id", *columns)}
        self._known_places: dict[int, Places] = {}
        self._owners, self._messages = entries.repeated(tag)
        self._fields = Fields(self._messages)
        self._ids = self._fields.numbers(self._tags["field_id"]).values

    @remembered
    def layouts(self) -> Layouts:
        """The ids that each entry lists, in order."""
        return layouts_of(self._owners, self._ids, self._rows)

    def numbers(self, field: str, field_id: int) -> Numbers:
        """A field of the first message with the id in each entry."""
        return self._fields.numbers(self._tags[field]).at(self._places(field_id))

    def slices(self, field: str, field_id: int) -> Slices:
        """The same, for a field of bytes."""
        return self._fields.slices(self._tags[field]).at(self._places(field_id))

    def is_irregular(self) -> Mask:
        """Which entries list fields that have no column, or an id twice."""
        layouts = self.layouts
        irregular = numpy.array([len(set(ids)) < len(ids) for ids in layouts.lists], numpy.bool_)[layouts.of_row]
        irregular[self._owners[self._fields.others(set(self._tags.values()))]] = True
        return irregular

    def _places(self, field_id: int) -> Places:
        """The place of the first message with the id in each entry; below zero if there is none."""
        if field_id not in self._known_places:
            backwards = numpy.flatnonzero(self._ids == field_id)[::-1]
            places = numpy.full(self._rows, -1, numpy.int64)
            places[self._owners[backwards]] = backwards  # if a row is assigned several times, the last one stays
            self._known_places[field_id] = places
        return self._known_places[field_id]


def _rest_of(entry: DataFileRef, irregular: Sequence[str]) -> bytes:
    rest = DataFileRef()
    rest.CopyFrom(entry)
    for field in (*ENTRY_COLUMNS, "blocks", *(_LISTS.keys() - set(irregular))):
        rest.ClearField(field)
    return rest.SerializeToString(deterministic=True)
