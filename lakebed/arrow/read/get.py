"""The row with a key."""

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
from lakebed.table.schema.metadata_columns import LAST_UPDATED, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.values import decode_bound


def find_row(target: Target, key: Sequence[Any]) -> dict[str, Any] | None:
    """The row with a primary key, None if there is none; of several, which appends may have made, the newest.

    Files with newer rows are opened first, until no other can have a newer one. Of the files above level 0 one at most
    has the key among its bounds, in each partition and level.
    """
    schema = target.schema
    _check_key(schema, key)
    values = [_plain(schema, place, value) for place, value in enumerate(key)]
    filter = all_of(comparisons(schema, values))
    encoded, is_keyed = encode_key(key_types(schema), values), target.is_keyed
    found: _Found | None = None
    for one in newest_first(target.plan(filter).files):
        if knows_keys(one.file, is_keyed) and not may_have_key(one.file, encoded):
            continue
        if found is not None and last_change(one.file) < found.age[0]:
            break
        for row in _read(target, one, filter):
            found = row if found is None or row.age > found.age else found
    return None if found is None else found.row


def newest_first(planned: Sequence[PlannedFile]) -> list[PlannedFile]:
    """The files by the last change of a row that they may have, and the last planned of those that are alike."""
    return sorted(planned, key=lambda one: last_change(one.file))[::-1]


def last_change(file: DataFileRef) -> float:
    """The sequence number that no row of the file was changed after. Rows that were compacted have older ones."""
    if not file.HasField("first_row_id"):
        return inf
    known = next((one for one in file.statistics if one.field_id == LAST_UPDATED.id), None)
    return file.seq_max if known is None else cast(int, decode_bound(LAST_UPDATED.type, known.upper))


@dataclass(frozen=True, slots=True)
class _Found:
    """A row, and when it was changed last: by its sequence number, then by its id."""

    age: tuple[float, int]
    row: dict[str, Any]


def _read(target: Target, planned: PlannedFile, filter: Filter) -> Iterator[_Found]:
    """The rows of a file that pass, the last one first."""
    names = target.schema.names
    own = {folded_column(one) for one in names}
    lineage = [one for one in (LAST_UPDATED.name, ROW_ID.name) if one not in own]
    scan = Scan(target.sources, target.schema, Plan((planned,), 1), filter, [*names, *lineage])
    table = scan.to_arrow()
    rows, ages = _python_rows(table.select(range(len(names)))), table.select(range(len(names), table.num_columns))
    for row, age in zip(reversed(rows), reversed(ages.to_pylist()), strict=True):
        yield _Found(_age(planned.file, age), row)


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
        return inf, 0  # of the work itself
    change, row_id = lineage.get(LAST_UPDATED.name), lineage.get(ROW_ID.name)
    return (file.seq_max if change is None else change), (file.first_row_id if row_id is None else row_id)


def _check_key(schema: Schema, key: Sequence[Any]) -> None:
    if not schema.identifier_ids:
        raise Invalid(
            "the table has no primary key",
            advice="Give it one with evolve(): change.primary_key(…), or use scan(where=…).",
        )
    if len(key) != len(schema.identifier_ids):
        raise Invalid("a key has another number of values", expected=", ".join(schema.key), found=f"{len(key)} values")


def _plain(schema: Schema, place: int, value: Any) -> Value:
    field = schema.field_by_id(schema.identifier_ids[place])
    if value is None:
        raise Invalid("a key has a null", subject=field.name, expected=f"a value of type {field.type}")
    try:
        # Not by Arrow, which takes 1.5 for 1, a time for its day and bytes for text (pyarrow 26).
        return cast(Value, constant(lit(value), field).value)
    except Invalid as error:
        raise Invalid(
            "a key's value is of another type", subject=field.name, expected=field.type, found=repr(value)
        ) from error
