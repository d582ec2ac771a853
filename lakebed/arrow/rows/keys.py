"""Primary keys of rows in files."""

from collections.abc import Sequence

import pyarrow
import pyarrow.compute

from lakebed.arrow.read.scan import Scan
from lakebed.catalog.data.row_sources import Sources
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema


def share_keys(sources: Sources, schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a primary key is in files of both sides. The key columns of all of them are read into memory."""
    one, other = keys_of(sources, schema, ours), keys_of(sources, schema, theirs)
    return bool(one.join(other, keys=one.column_names, join_type="left semi").num_rows)


def keys_of(sources: Sources, schema: Schema, wanted: Sequence[DataFileRef]) -> pyarrow.Table:
    """The keys of the rows of files, a column for each part of the key."""
    rows = Scan(sources, schema, [PlannedFile(one) for one in wanted], columns=key_columns(schema)).to_arrow()
    return keys_in(rows, schema)


def key_columns(schema: Schema) -> list[str]:
    """The columns that the key is, or is inside of."""
    return list(dict.fromkeys(schema.way_by_id(one)[0].name for one in schema.identifier_ids))


def keys_in(rows: pyarrow.Table, schema: Schema) -> pyarrow.Table:
    """The keys of rows that have these columns, as a join takes them."""
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    values = [_value(rows[way[0].name], [one.name for one in way[1:]]) for way in ways]
    return pyarrow.table(values, names=[f"key {number}" for number in range(len(values))])


def _value(column: pyarrow.ChunkedArray, path: list[str]) -> pyarrow.ChunkedArray:
    for name in path:
        column = pyarrow.compute.struct_field(column, name)
    # Arrow's joins know no extension types.
    return column.cast(column.type.storage_type) if isinstance(column.type, pyarrow.BaseExtensionType) else column
