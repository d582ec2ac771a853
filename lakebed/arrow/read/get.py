"""Finding the row with a primary key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import pyarrow

from lakebed.arrow.read.scan import Scan
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.table.expression.lit import constant, lit
from lakebed.table.filter.filter import Filter, Value, all_of
from lakebed.table.keys.encoding import encode_key, key_types, may_have_key
from lakebed.table.keys.levels import knows_keys
from lakebed.table.keys.ranges import comparisons
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import Plan, PlannedFile
from lakebed.table.schema.metadata_columns import LAST_UPDATED, METADATA_COLUMNS, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.values import decode_bound


def find_row(target: Target, key: Sequence[Any]) -> dict[str, Any] | None:
    """The row with a primary key, None if there is none; if appends added several, the newest."""
    found = find_placed_row(target, key)
    return None if found is None else {name: found[name] for name in target.schema.names}


def find_placed_row(target: Target, key: Sequence[Any]) -> dict[str, Any] | None:
    """The same with its metadata columns: where it is, and its id.

    Files with newer rows are opened first, until no other file can have a newer row. In each partition and level above
    level 0, at most one file has the key within its bounds.
    """
    schema = target.schema
    _check_key(schema, key)
    values = [_plain(schema, place, value) for place, value in enumerate(key)]
    filter = all_of(comparisons(schema, values))
    encoded, is_keyed = encode_key(key_types(schema), values), target.is_keyed
    newest: _Row | None = None
    for planned in _newest_first(target.plan(filter).files):
        if knows_keys(planned.file, is_keyed) and not may_have_key(planned.file, encoded):
            continue
        if newest is not None and _last_change(planned.file) < newest.age[0]:
            break
        for row in _read(target, planned, filter):
            newest = row if newest is None or row.age > newest.age else newest
    return None if newest is None else newest.values


def _newest_first(files: Sequence[PlannedFile]) -> list[PlannedFile]:
    """The files by the last change of their rows, newest first; of equal files the last planned comes first."""
    return sorted(files, key=lambda planned: _last_change(planned.file))[::-1]


def _last_change(file: DataFileRef) -> float:
    """The greatest sequence number that a row of the file may have. Compacted rows have older numbers."""
    if not file.HasField("first_row_id"):
        return inf
    known = next((column for column in file.statistics if column.field_id == LAST_UPDATED.id), None)
    return file.seq_max if known is None else cast(int, decode_bound(LAST_UPDATED.type, known.upper))


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, and its last change: a sequence number, then its id."""

    age: tuple[float, int]
    values: dict[str, Any]


def _read(target: Target, planned: PlannedFile, filter: Filter) -> Iterator[_Row]:
    """The rows of a file that pass, the last row first."""
    names = target.schema.names
    own = {folded_column(name) for name in names}
    places = [field.name for field in METADATA_COLUMNS if field.name not in own]
    scan = Scan(target.sources, target.schema, Plan((planned,), 1), filter, [*names, *places])
    for row in reversed(_python_rows(scan.to_arrow())):
        lineage = {name: row[name] for name in places}
        yield _Row(_age(planned.file, lineage), row)


def _python_rows(table: pyarrow.Table) -> list[dict[str, Any]]:
    try:
        return cast("list[dict[str, Any]]", table.to_pylist())
    except ValueError as error:  # nanoseconds, without pandas
        raise Invalid(
            "a row has a value that Python can't hold",
            found=str(error),
            advice="Install pandas, or read the row with scan(where=…).to_arrow().",
        ) from error


def _age(file: DataFileRef, lineage: Mapping[str, int | None]) -> tuple[float, int]:
    if not file.HasField("first_row_id"):
        return inf, 0  # written by the work itself
    change, row_id = lineage.get(LAST_UPDATED.name), lineage.get(ROW_ID.name)
    return (file.seq_max if change is None else change), (file.first_row_id if row_id is None else row_id)


def _check_key(schema: Schema, key: Sequence[Any]) -> None:
    if not schema.identifier_ids:
        raise Invalid(
            "the table has no primary key",
            advice="Give it one with evolve(): change.primary_key(…), or use scan(where=…).",
        )
    if len(key) != len(schema.identifier_ids):
        problem = "a key has the wrong number of values"
        raise Invalid(problem, expected=", ".join(schema.key), found=f"{len(key)} values")


def _plain(schema: Schema, place: int, value: Any) -> Value:
    field = schema.field_by_id(schema.identifier_ids[place])
    if value is None:
        raise Invalid("a key has a null", subject=field.name, expected=f"a value of type {field.type}")
    try:
        # Not by Arrow, which takes 1.5 as 1, a time as its day and bytes as text (pyarrow 26).
        return cast(Value, constant(lit(value), field).value)
    except Invalid as error:
        raise Invalid(
            "a key's value has the wrong type", subject=field.name, expected=field.type, found=repr(value)
        ) from error
