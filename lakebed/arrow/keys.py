"""Primary keys of rows in files."""

from collections.abc import Sequence

import pyarrow
import pyarrow.compute

from lakebed.arrow.scan import Scan
from lakebed.catalog.sources import Sources
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.plan import PlannedFile
from lakebed.table.schema import Schema


def share_keys(sources: Sources, schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a primary key is in files of both sides. The key columns of all of them are read into memory."""
    one, other = _keys(sources, schema, ours), _keys(sources, schema, theirs)
    return bool(one.join(other, keys=one.column_names, join_type="left semi").num_rows)


def _keys(sources: Sources, schema: Schema, wanted: Sequence[DataFileRef]) -> pyarrow.Table:
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    columns = list(dict.fromkeys(way[0].name for way in ways))
    rows = Scan(sources, schema, [PlannedFile(one) for one in wanted], columns=columns).to_arrow()
    values = [_value(rows[way[0].name], [one.name for one in way[1:]]) for way in ways]
    return pyarrow.table(values, names=[f"key {number}" for number in range(len(values))])


def _value(column: pyarrow.ChunkedArray, path: list[str]) -> pyarrow.ChunkedArray:
    for name in path:
        column = pyarrow.compute.struct_field(column, name)
    return column
