"""Entries of files, reassembled from their columns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from google.protobuf.message import DecodeError

from lakebed.deferred import numpy, pyarrow
from lakebed.errors import Corrupt
from lakebed.table.entries.layout import (
    ENTRY_COLUMNS,
    LIVE_COLUMNS,
    OPEN_COLUMNS,
    PARTITION,
    STATISTIC_FIELDS,
    Ids,
    layouts_from,
)
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import LiveFile

_LISTS: Final[dict[str, dict[str, str]]] = {"statistics": STATISTIC_FIELDS, "partition": {PARTITION: "value"}}

Groups = Sequence[tuple[Ids, list[int]]]


class Columns(Protocol):
    """Where columns come from."""

    @property
    def names(self) -> Container[str]: ...

    def load(self, name: str) -> pyarrow.Array:
        """Load a column that is among the names."""


def assemble(columns: Columns, rows: Iterable[int]) -> list[LiveFile]:
    """The files in these rows, byte for byte as they were shredded."""
    wanted = numpy.fromiter(rows, numpy.int64)
    if not len(wanted):
        return []
    groups = {field: layouts_from(columns.load(field)).groups(wanted) for field in _LISTS}
    values = _values(columns, wanted, groups)
    entries = [DataFileRef() for _ in wanted]
    for name in OPEN_COLUMNS:
        _merge(entries, name, values.get(name, ()))
    for name in ENTRY_COLUMNS:
        _fill(entries, name, values.get(name, ()))
    for field, kinds in _LISTS.items():
        for ids, places in groups[field]:
            _fill_lists(entries, field, kinds, ids, places, values)
    origins = zip(*(values[name] for name in LIVE_COLUMNS), strict=True)
    return [LiveFile(entry, *origin) for entry, origin in zip(entries, origins, strict=True)]


def _values(columns: Columns, rows: Any, groups: Mapping[str, Groups]) -> dict[str, list[Any]]:
    """(column) -> its values in these rows, for columns that can have any"""
    plain = (*ENTRY_COLUMNS, *LIVE_COLUMNS, *OPEN_COLUMNS)
    names = [name for name in (*plain, *_numbered_names(groups)) if name in columns.names]
    batch = pyarrow.record_batch([columns.load(name) for name in names], names).take(pyarrow.array(rows))
    return {name: column.to_pylist() for name, column in zip(names, batch.columns, strict=True)}


def _numbered_names(groups: Mapping[str, Groups]) -> Iterator[str]:
    for field, kinds in _LISTS.items():
        for field_id in sorted({id for ids, _ in groups[field] for id in ids}):
            yield from (f"{kind}.{field_id}" for kind in kinds)


def _merge(entries: Sequence[DataFileRef], name: str, parts: Sequence[bytes | None]) -> None:
    """Merge serialized parts into the entries."""
    for entry, part in zip(entries, parts, strict=False):
        if part is not None:
            try:
                entry.MergeFromString(part)
            except DecodeError as error:
                raise Corrupt("a part of a file's entry is not protobuf", subject=name, found=str(error)) from error


def _fill_lists(
    entries: Sequence[DataFileRef],
    field: str,
    kinds: Mapping[str, str],
    ids: Ids,
    places: Sequence[int],
    values: Mapping[str, Sequence[Any]],
) -> None:
    """Fill the list of these entries by its layout, except where it came whole from the column `rest`."""
    lists = {place: getattr(entries[place], field) for place in places if not getattr(entries[place], field)}
    for field_id in ids:
        messages = [entry_list.add(field_id=field_id) for entry_list in lists.values()]
        for kind, name in kinds.items():
            column = values.get(f"{kind}.{field_id}")
            if column is not None:
                _fill(messages, name, column if len(lists) == len(column) else [column[place] for place in lists])


def _fill(messages: Sequence[Any], field: str, values: Sequence[Any]) -> None:
    for message, value in zip(messages, values, strict=False):
        if value is not None:
            setattr(message, field, value)
