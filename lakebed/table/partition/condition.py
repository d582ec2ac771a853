"""The condition that the rows of partitions pass: what an overwrite of partitions replaced, as a merge sees it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from lakebed.table.filter.column import col
from lakebed.table.filter.condition import Condition, all_conditions, any_condition
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import column_equals, has_exact_values
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import partition_key, partition_values
from lakebed.table.schema.schema import Schema
from lakebed.table.types import types

MOST: Final = 50
"""Of more partitions there is no condition: every reader of a manifest binds it, and a filter has at most 500 terms."""

_UNITS: Final = {"year", "month", "day", "hour"}


def partitions_condition(files: Iterable[DataFileRef], spec: PartitionSpec, schema: Schema) -> str | None:
    """A condition that all rows of these files' partitions pass, and perhaps others; None if that would be any row.

    Buckets and cut texts say nothing of it: where a spec has nothing else, any row may be in the partition.
    """
    by_key = {partition_key(file): file for file in files}
    if not by_key or len(by_key) > MOST:
        return None
    found = []
    for file in by_key.values():
        values = partition_values(file, spec, schema)
        known = [bound for bound in bound_fields(spec, schema) if bound.field.field_id in values]
        parts = [part for bound in known for part in _parts(bound, values[bound.field.field_id])]
        if not parts:
            return None
        found.append(all_conditions(parts))
    return str(any_condition(found))


def _parts(bound: BoundField, value: Value | None) -> Iterator[Condition]:
    transform, source = bound.field.transform, bound.source
    if len(bound.path) > 1:
        return
    if transform == IDENTITY and has_exact_values(source.type):
        yield column_equals(source, value)
    elif transform.name in _UNITS and value is None:
        yield col(source.name).is_null()
    elif transform.name in _UNITS and isinstance(value, int):
        column = col(source.name)
        try:
            first, end = (_start(transform.name, unit) for unit in (value, value + 1))
        except (ValueError, OverflowError):  # Python has no such year
            return
        if source.type == types.DATE:
            yield (column >= first.date()) & (column < end.date())
        elif source.type == types.TIMESTAMPTZ:
            yield (column >= first.replace(tzinfo=UTC)) & (column < end.replace(tzinfo=UTC))
        elif source.type == types.TIMESTAMP:
            yield (column >= first) & (column < end)


def _start(unit: str, number: int) -> datetime:
    """When a unit of time begins, counted from 1970."""
    if unit == "year":
        return datetime(1970 + number, 1, 1)
    if unit == "month":
        return datetime(1970 + number // 12, number % 12 + 1, 1)
    days, hours = (number, 0) if unit == "day" else divmod(number, 24)
    return datetime.combine(date(1970, 1, 1) + timedelta(days), datetime.min.time()) + timedelta(hours=hours)
