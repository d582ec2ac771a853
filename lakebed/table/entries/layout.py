"""The columns of files' entries, with their Arrow types, and layouts: which ids an entry has values for, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakebed.deferred import numpy, pyarrow
from lakebed.errors import Corrupt, Invalid

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ids = tuple[int, ...]

_INT, _LONG, _TEXT, _BYTES, _LAYOUT = "int32", "int64", "string", "binary", "layout"

ENTRY_COLUMNS: Final = {
    "path": _TEXT,
    "file_size": _LONG,
    "num_rows": _LONG,
    "level": _INT,
    "seq_min": _LONG,
    "seq_max": _LONG,
    "key_min": _BYTES,
    "key_max": _BYTES,
    "dv_path": _TEXT,
    "dv_offset": _LONG,
    "dv_length": _LONG,
    "format": _INT,
    "first_row_id": _LONG,
    "spec_id": _INT,
    "status": _INT,
    "deleted_rows": _LONG,
    "key_schema_id": _INT,
    "field_ids": _TEXT,
    "footer_checksum": _LONG,
}
"""Columns that are fields of `DataFileRef`, by name."""

LIVE_COLUMNS: Final = {"snapshot_id": _LONG, "schema_id": _LONG}
"""Columns with the commit that added a file, and its schema."""

LAYOUT_COLUMNS: Final = {"statistics": _LAYOUT, "partition": _LAYOUT}
"""Columns with the ids that a file has statistics and partition values for, in order."""

OPEN_COLUMNS: Final = {"blocks": _BYTES, "rest": _BYTES}
"""Columns of serialized `DataFileRef`: the row groups, and whatever is in no other column."""

SURE_COLUMNS: Final = ("path", "file_size", "num_rows", *LIVE_COLUMNS, *LAYOUT_COLUMNS)
"""Columns that have a value for every file: without one of them, entries can't be reassembled."""

STATISTIC_FIELDS: Final = {
    "lower": "lower",
    "upper": "upper",
    "values": "value_count",
    "nulls": "null_count",
    "nans": "nan_count",
    "size": "size",
    "raw_size": "raw_size",
    "offset": "offset",
    "bloom_offset": "bloom_offset",
    "bloom_length": "bloom_length",
    "bloom_checksum": "bloom_checksum",
}
"""(prefix of a column's name, before the dot and the id) -> field of `ColumnStatistics`"""

PARTITION: Final = "partition"

_PLAIN = ENTRY_COLUMNS | LIVE_COLUMNS | LAYOUT_COLUMNS | OPEN_COLUMNS
_NUMBERED = dict.fromkeys(STATISTIC_FIELDS, _LONG) | dict.fromkeys(("lower", "upper", PARTITION), _BYTES)


@dataclass(frozen=True, slots=True)
class Layouts:
    """The distinct lists of ids, and for each row which of them it has."""

    lists: tuple[Ids, ...]
    of_row: NDArray[numpy.int32]

    def has(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each row whether its list has the id."""
        return numpy.array([field_id in ids for ids in self.lists], numpy.bool_)[self.of_row]

    def ids(self) -> list[int]:
        """Every id of any list, in order."""
        return sorted({id for ids in self.lists for id in ids})

    def groups(self, rows: NDArray[numpy.int64]) -> list[tuple[Ids, list[int]]]:
        """The lists of these rows, each with the places in `rows` that have it."""
        of_row = self.of_row[rows]
        numbers = numpy.unique(of_row).tolist()
        return [(self.lists[number], numpy.flatnonzero(of_row == number).tolist()) for number in numbers]

    def array(self) -> pyarrow.DictionaryArray:
        """The layouts as a column of text: `1 2 3`."""
        texts = [" ".join(map(str, ids)) for ids in self.lists]
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(self.of_row), pyarrow.array(texts, pyarrow.string()))


def column_type(name: str) -> pyarrow.DataType:
    """The type of a column; `Invalid` for an unknown name."""
    kind, dot, number = name.partition(".")
    type = _NUMBERED.get(kind) if dot and number.lstrip("-").isdecimal() else _PLAIN.get(name)
    if type is None:
        raise Invalid("files have no such column", subject=name, expected=f"{', '.join(_PLAIN)}, lower.<id>, …")
    return pyarrow.dictionary(pyarrow.int32(), pyarrow.string()) if type == _LAYOUT else pyarrow.type_for_alias(type)


def layouts_of(owners: NDArray[numpy.int64], ids: NDArray[numpy.int64], rows: int) -> Layouts:
    """The layouts of this many rows; `owners` has the row of each id, in order."""
    counts = numpy.bincount(owners, minlength=rows)
    starts = numpy.cumsum(counts) - counts
    lists: list[Ids] = []
    of_row = numpy.zeros(rows, numpy.int32)
    for count in numpy.unique(counts).tolist():
        alike = numpy.flatnonzero(counts == count)
        distinct, which = _distinct(ids[starts[alike][:, None] + numpy.arange(count)])
        of_row[alike] = which + len(lists)
        lists += distinct
    return Layouts(tuple(lists), of_row)


def layouts_from(column: pyarrow.DictionaryArray) -> Layouts:
    """The layouts in a column."""
    try:
        lists = tuple(tuple(map(int, text.split())) for text in column.dictionary.to_pylist())
        return Layouts(lists, column.indices.to_numpy(zero_copy_only=True))
    except (AttributeError, ValueError, pyarrow.ArrowInvalid) as error:
        raise Corrupt("a column of layouts has text that is not numbers", found=str(error)) from error


def _distinct(lists: NDArray[numpy.int64]) -> tuple[list[Ids], NDArray[numpy.int64]]:
    """The distinct lists among lists of one length, and which of them each is."""
    if (lists == lists[0]).all():
        return [tuple(lists[0].tolist())], numpy.zeros(len(lists), numpy.int64)
    distinct, which = numpy.unique(lists, axis=0, return_inverse=True)
    return [tuple(ids) for ids in distinct.tolist()], which.reshape(-1)
