"""Primary keys of rows in files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow
import pyarrow.compute

from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.rows.source import JOINED_ROWS, column_filter
from lakebed.arrow.types import shown_value
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.table.filter.filter import Filter, all_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT


def share_keys(sources: Sources, schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a primary key is in files of both sides. The key columns of all of them are read into memory."""
    one, other = keys_of(sources, schema, ours), keys_of(sources, schema, theirs)
    return bool(one.join(other, keys=one.column_names, join_type="left semi").num_rows)


def keys_of(sources: Sources, schema: Schema, wanted: Sequence[DataFileRef]) -> pyarrow.Table:
    """The keys of the rows of files, a column for each part of the key."""
    plan = pruned_plan([PlannedFile(file) for file in wanted])
    rows = Scan(sources, schema, plan, columns=key_columns(schema)).to_arrow()
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


def check_new_keys(target: Target, written: Written) -> None:
    """Refuse rows of which a key comes twice, or is in the table; what was looked at becomes read.

    The keys of the written rows are in memory.
    """
    if not written.files:
        return
    there, schema = target.sources, target.schema
    own = replace(there, pending={**there.pending, **written.bodies})
    keys = keys_of(own, schema, written.files)
    _check_once(target.name, schema, keys)
    filter = _filter(schema, keys)
    for held in _key_tables(Scan(there, schema, target.plan(filter), filter, key_columns(schema)), schema):
        found = keys.join(held, keys=keys.column_names, join_type="left semi", use_threads=False)
        if found.num_rows:
            raise _known(target.name, schema, found, "is in the table already")


def _filter(schema: Schema, keys: pyarrow.Table) -> Filter | None:
    """What rows with one of the keys pass; a column inside a struct, or of numbers with NaN, tells nothing."""
    ways = [schema.way_by_id(one) for one in schema.identifier_ids]
    parts = [
        column_filter(way[0], keys.column(place))
        for place, way in enumerate(ways)
        if len(way) == 1 and way[0].type not in (FLOAT, DOUBLE)
    ]
    return all_of(parts) if parts else None


def _key_tables(scan: Scan, schema: Schema) -> Iterator[pyarrow.Table]:
    """The keys of the table's rows, some at a time."""
    waiting: list[pyarrow.RecordBatch] = []
    for batch in scan.to_batches():
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= JOINED_ROWS:
            yield _keys(waiting, schema)
            waiting = []
    if waiting:
        yield _keys(waiting, schema)


def _keys(batches: Sequence[pyarrow.RecordBatch], schema: Schema) -> pyarrow.Table:
    return keys_in(pyarrow.Table.from_batches(batches), schema)


def _check_once(table: str, schema: Schema, keys: pyarrow.Table) -> None:
    counted = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    twice = counted.filter(pyarrow.compute.greater(counted["count_all"], 1))
    if twice.num_rows:
        raise _known(table, schema, twice, "comes twice in the rows that are given")


def _known(table: str, schema: Schema, found: pyarrow.Table, problem: str) -> Invalid:
    example = [f"{name} = {shown_value(found.column(place)[0])}" for place, name in enumerate(schema.key)]
    return Invalid(
        f"a primary key {problem}",
        subject=f"{table}: {', '.join(example)}",
        expected="keys that are new, as the property write.check-keys has it",
        found=f"at least {found.num_rows} such keys",
        advice="Use upsert(…) to put rows in the place of those with their keys. Nothing was written.",
    )
