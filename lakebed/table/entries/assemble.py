"""Entries of files made again from their columns."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy
import pyarrow
from google.protobuf.message import DecodeError

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
        """A column that is there."""


def assemble(columns: Columns, rows: Iterable[int]) -> list[LiveFile]:
    """The files in these rows, byte for byte as they were."""
    wanted = numpy.fromiter(rows, numpy.int64)
    if not len(wanted):
        return []
    groups = {field: layouts_from(columns.load(field)).groups(wanted) for field in _LISTS}
    values = _taken(columns, wanted, groups)
    entries = [DataFileRef() for _ in wanted]
    for name in OPEN_COLUMNS:
        _open(entries, name, values.get(name, ()))
    for name in ENTRY_COLUMNS:
        _fill(entries, name, values.get(name, ()))
    for field, kinds in _LISTS.items():
        for ids, places in groups[field]:
            _fill_lists(entries, field, kinds, ids, places, values)
    origins = zip(*(values[name] for name in LIVE_COLUMNS), strict=True)
    return [LiveFile(entry, *origin) for entry, origin in zip(entries, origins, strict=True)]


def _taken(columns: Columns, rows: Any, groups: Mapping[str, Groups]) -> dict[str, list[Any]]:
    """The values of these rows, of the columns that they can have values in."""
    plain = (*ENTRY_COLUMNS, *LIVE_COLUMNS, *OPEN_COLUMNS)
    names = [name for name in (*plain, *_numbered(groups)) if name in columns.names]
    batch = pyarrow.record_batch([columns.load(name) for name in names], names).take(pyarrow.array(rows))
    return {name: column.to_pylist() for name, column in zip(names, batch.columns, strict=True)}


def _numbered(groups: Mapping[str, Groups]) -> Iterator[str]:
    for field, kinds in _LISTS.items():
        for field_id in sorted({one for ids, _ in groups[field] for one in ids}):
            yield from (f"{kind}.{field_id}" for kind in kinds)


def _open(entries: Sequence[DataFileRef], name: str, parts: Sequence[bytes | None]) -> None:
    """Read serialized parts of the entries into them."""
    for entry, part in zip(entries, parts, strict=False):
        if part is not None:
            try:
                entry.MergeFromString(part)
            except DecodeError as error:
                raise Corrupt("a part of a file's entry is no protobuf", subject=name, found=str(error)) from error


def _fill_lists(
    entries: Sequence[DataFileRef],
    field: str,
    kinds: Mapping[str, str],
    ids: Ids,
    places: Sequence[int],
    values: Mapping[str, Sequence[Any]],
) -> None:
    """Give these entries the list that their layout says, but for those that have it already, from the rest."""
    lists = {place: getattr(entries[place], field) for place in places if not getattr(entries[place], field)}
    for field_id in ids:
        messages = [one.add(field_id=field_id) for one in lists.values()]
        for kind, name in kinds.items():
            column = values.get(f"{kind}.{field_id}")
            if column is not None:
                _fill(messages, name, column if len(lists) == len(column) else [column[place] for place in lists])


def _fill(messages: Sequence[Any], field: str, values: Sequence[Any]) -> None:
    for message, value in zip(messages, values, strict=False):
        if value is not None:
            setattr(message, field, value)
