"""The columns of files' entries: their Arrow types, and how nested ones are laid out."""

from dataclasses import dataclass
from typing import Final

import numpy
import pyarrow
from numpy.typing import NDArray

from lakebed.errors import Corrupt, Invalid

LAYOUT_TYPE: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layouts:
    """The distinct lists of ids, and for each row which one it has."""

    lists: tuple[Ids, ...]
    of_row: NDArray[numpy.int32]

    def has(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each row whether its list has the id."""
        return numpy.array([field_id in one for one in self.lists], numpy.bool_)[self.of_row]

    def ids(self) -> list[int]:
        """Every id of any list, in order."""
        return sorted({one for ids in self.lists for one in ids})

    def groups(self, rows: NDArray[numpy.int64]) -> list[tuple[Ids, list[int]]]:
        """The lists that these rows have, each with the places in `rows` that have it."""
        of_row = self.of_row[rows]
        return [(self.lists[one], numpy.flatnonzero(of_row == one).tolist()) for one in numpy.unique(of_row).tolist()]

    def array(self) -> pyarrow.DictionaryArray:
        """As a column: the ids as text, `1 2 3`."""
        texts = [" ".join(map(str, ids)) for ids in self.lists]
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(self.of_row), pyarrow.array(texts, pyarrow.string()))


def layouts_of(owners: NDArray[numpy.int64], ids: NDArray[numpy.int64], rows: int) -> Layouts:
    """The layouts of this many rows; `owners` says of which row each id is, in order."""
    counts = numpy.bincount(owners, minlength=rows)
    starts = numpy.cumsum(counts) - counts
    lists: list[Ids] = []
    of_row = numpy.zeros(rows, numpy.int32)
    for count in numpy.unique(counts).tolist():
        alike = numpy.flatnonzero(counts == count)
        found, which = _distinct(ids[starts[alike][:, None] + numpy.arange(count)])
        of_row[alike] = which + len(lists)
        lists += found
    return Layouts(tuple(lists), of_row)


def layouts_from(column: pyarrow.DictionaryArray) -> Layouts:
    """The layouts that a column holds."""
    try:
        lists = tuple(tuple(map(int, text.split())) for text in column.dictionary.to_pylist())
        return Layouts(lists, column.indices.to_numpy(zero_copy_only=True))
    except (AttributeError, ValueError, pyarrow.ArrowInvalid) as error:
        raise Corrupt("a column of layouts has other text than numbers", found=str(error)) from error


def _distinct(lists: NDArray[numpy.int64]) -> tuple[list[Ids], NDArray[numpy.int64]]:
    """The distinct ones of lists of one length, and which one each is."""
    if (lists == lists[0]).all():
        return [tuple(lists[0].tolist())], numpy.zeros(len(lists), numpy.int64)
    found, which = numpy.unique(lists, axis=0, return_inverse=True)
    return [tuple(one) for one in found.tolist()], which.reshape(-1)


_INT, _LONG, _TEXT, _BYTES = pyarrow.int32(), pyarrow.int64(), pyarrow.string(), pyarrow.binary()

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
}
"""Columns that are fields of `DataFileRef`, by name."""

LIVE_COLUMNS: Final = {"snapshot_id": _LONG, "schema_id": _LONG}
"""Columns that say in which commit a file was added."""

LAYOUT_COLUMNS: Final = {"statistics": LAYOUT_TYPE, "partition": LAYOUT_TYPE}
"""Columns that say of which ids a file has statistics and partition values, in their order."""

OPEN_COLUMNS: Final = {"blocks": _BYTES, "rest": _BYTES}
"""Columns of serialized `DataFileRef`: the row groups, and whatever no other column has."""

SURE_COLUMNS: Final = ("path", "file_size", "num_rows", *LIVE_COLUMNS, *LAYOUT_COLUMNS)
"""Columns that hold something of every file: without one of them, files are not what they were."""

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
"""What stands before the dot and the id, for each field of `ColumnStatistics`."""

PARTITION: Final = "partition"

_PLAIN = ENTRY_COLUMNS | LIVE_COLUMNS | LAYOUT_COLUMNS | OPEN_COLUMNS
_NUMBERED = dict.fromkeys(STATISTIC_FIELDS, _LONG) | dict.fromkeys(("lower", "upper", PARTITION), _BYTES)


def column_type(name: str) -> pyarrow.DataType:
    """The type of a column; `Invalid` for a name that no column has."""
    kind, dot, number = name.partition(".")
    found = _NUMBERED.get(kind) if dot and number.lstrip("-").isdecimal() else _PLAIN.get(name)
    if found is None:
        raise Invalid("files have no such column", subject=name, expected=f"{', '.join(_PLAIN)}, lower.<id>, …")
    return found
