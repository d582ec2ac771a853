"""The columns that files have when they are kept column by column: names and types.

They are called as the fields of the entry are. Those of a table's own columns have the field's id behind a dot:
`lower.3` is the lower bound of the column with the id 3, `partition.1000` the value of that partition field.
"""

from typing import Final

import pyarrow

from lakebed.errors import Invalid
from lakebed.table.entries.layout import LAYOUT_TYPE

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
