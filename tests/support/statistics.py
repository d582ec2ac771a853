"""File entries with all the statistics that rows in memory have."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT, Field
from lakebed.table.types.values import lower_bound, upper_bound


def statistics(field: Field, values: Sequence[Any]) -> ColumnStatistics:
    """All that is to be known of these values."""
    known = ColumnStatistics(field_id=field.id, value_count=len(values), null_count=sum(one is None for one in values))
    present = [value for value in values if value is not None]
    if field.type in (FLOAT, DOUBLE):
        known.nan_count = sum(map(math.isnan, present))
        present = [value for value in present if not math.isnan(value)]
    if present:
        lower, upper = lower_bound(field.type, min(present)), upper_bound(field.type, max(present))
        if lower is not None:
            known.lower = lower
        if upper is not None:
            known.upper = upper
    return known


def file_of(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> DataFileRef:
    """The entry of a file with these rows, which have a plain value for each column of the schema."""
    known = [statistics(field, [row[field.name] for row in rows]) for field in schema.fields]
    return DataFileRef(num_rows=len(rows), statistics=known)
