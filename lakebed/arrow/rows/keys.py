"""Primary keys of rows in files: how they are compared, and whether a change repeats one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy
import pyarrow
import pyarrow.compute

from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.rows.source import column_filter, tables_to_join
from lakebed.arrow.types import shown_value
from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.table.filter.filter import Filter, all_of
from lakebed.table.keys.errors import known_key
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT


def check_keys(target: Target, change: RowChange) -> None:
    """Refuse written rows if one of their keys is repeated, or left in the table; the read set gets these keys.

    The keys of the written rows are read into memory.
    """
    written = change.written
    if not written.files:
        return
    sources, schema = target.sources, target.schema
    with_written = replace(sources, pending={**sources.pending, **written.bodies})
    keys = _keys_of(with_written, schema, written.files)
    repeated = _repeated(keys)
    if repeated is not None:
        raise _refused(target.name, schema, repeated, "comes twice in the rows that are written")
    filter = filter_of_keys(schema, keys)
    left = change.left_of(target.plan_keys(filter).files)
    scan = Scan(sources, schema, Plan(left, len(left)), filter, key_columns(schema))
    for rows in tables_to_join(scan.to_batches()):
        known = keys.join(keys_in(rows, schema), keys=keys.column_names, join_type="left semi", use_threads=False)
        if known.num_rows:
            raise _refused(target.name, schema, known, "is in the table already")


def check_table(target: Target) -> None:
    """Refuse a primary key that two rows of the table share; the read set gets all keys.

    The keys of all rows are read into memory.
    """
    files = target.plan_keys(None).files
    scan = Scan(target.sources, target.schema, Plan(files, len(files)), columns=key_columns(target.schema))
    repeated = _repeated(keys_in(scan.to_arrow(), target.schema))
    if repeated is not None:
        raise _refused(
            target.name,
            target.schema,
            repeated,
            "is in two rows of the table",
            "Delete such rows, then declare the key.",
        )


def _keys_of(sources: Sources, schema: Schema, files: Sequence[DataFileRef]) -> pyarrow.Table:
    """The keys of the rows of files, a column for each part of the key."""
    plan = pruned_plan([PlannedFile(file) for file in files])
    return keys_in(Scan(sources, schema, plan, columns=key_columns(schema)).to_arrow(), schema)


def key_columns(schema: Schema) -> list[str]:
    """The columns that are part of the key, or contain a part of it."""
    return list(dict.fromkeys(schema.way_by_id(id)[0].name for id in schema.identifier_ids))


def keys_in(rows: pyarrow.Table, schema: Schema) -> pyarrow.Table:
    """The keys of rows with these columns, in a form that Arrow can join."""
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    values = [joinable(rows[way[0].name], [field.name for field in way[1:]]) for way in ways]
    return pyarrow.table(values, names=[f"key {number}" for number in range(len(values))])


def joinable(column: pyarrow.ChunkedArray, path: list[str]) -> pyarrow.ChunkedArray:
    """A part of a key, at a path inside a column, in a form that Arrow can join."""
    for name in path:
        column = pyarrow.compute.struct_field(column, name)
    # Arrow can't join extension types.
    return column.cast(column.type.storage_type) if isinstance(column.type, pyarrow.BaseExtensionType) else column


def filter_of_keys(schema: Schema, keys: pyarrow.Table) -> Filter | None:
    """A filter that rows with one of the keys pass; columns inside structs, or with NaN, don't take part."""
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    parts = [
        column_filter(way[0], keys.column(place))
        for place, way in enumerate(ways)
        if len(way) == 1 and way[0].type not in (FLOAT, DOUBLE)
    ]
    return all_of(parts) if parts else None


def _repeated(keys: pyarrow.Table) -> pyarrow.Table | None:
    """The keys that come more than once; None if there are none."""
    if keys.num_columns == 1 and _are_distinct(keys.column(0)):
        return None  # many times as fast as to group them
    counted = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    repeated = counted.filter(pyarrow.compute.greater(counted["count_all"], 1))
    return repeated if repeated.num_rows else None


def _are_distinct(values: pyarrow.ChunkedArray) -> bool:
    if not pyarrow.types.is_integer(values.type):
        return len(pyarrow.compute.unique(values)) == len(values)
    numbers = values.to_numpy()  # keys have no nulls
    if (numbers[1:] > numbers[:-1]).all():
        return True
    in_order = numpy.sort(numbers)
    return bool((in_order[1:] > in_order[:-1]).all())


def _refused(table: str, schema: Schema, keys: pyarrow.Table, problem: str, advice: str = "") -> Invalid:
    example = [f"{name} = {shown_value(keys.column(place)[0])}" for place, name in enumerate(schema.key)]
    return known_key(table, ", ".join(example), problem, f"at least {keys.num_rows}", advice)
