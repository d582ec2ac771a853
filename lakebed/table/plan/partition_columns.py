"""Pruning of all files at once by their partitions: each distinct value is looked at once, whatever files have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
import pyarrow

from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import And, Filter, Leaf, Or, Value
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.plan.partitions import leaf_may_match_partition
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bound_arrays import Mask, Numeric, whole_numbers
from lakebed.table.types.values import decode_bound


def prune_partitions(filter: Filter, columns: FileColumns, schema: Schema, specs: Mapping[int, PartitionSpec]) -> Mask:
    """For each file, what `may_match_partition` answers with its own spec; True if that is not among the specs."""
    kept = numpy.ones(columns.num_rows, bool)
    if not any(spec.fields for spec in specs.values()):
        return kept
    spec_ids = columns.column("spec_id").fill_null(0).to_numpy()  # unset is 0, as it is in an entry
    values = _Values(columns)
    for spec in specs.values():
        if spec.fields:
            of_spec = spec_ids == spec.id
            if of_spec.any():
                kept &= ~of_spec | _may(filter, bound_fields(spec, schema), values)
    return kept


@dataclass(frozen=True, slots=True)
class _Values:
    """The files' partition values: the distinct ones, and for each file which it has. Null is one of them."""

    columns: FileColumns
    made: dict[int, tuple[list[Value | None], Numeric]] = field(default_factory=dict)

    def of(self, bound: BoundField) -> tuple[list[Value | None], Numeric]:
        field_id = bound.field.field_id  # which has one transform of one column, in whatever spec it is
        if field_id not in self.made:
            distinct, places = _encoded(self.columns.column(f"partition.{field_id}"))
            self.made[field_id] = [None if one is None else decode_bound(bound.type, one) for one in distinct], places
        return self.made[field_id]


def _may(filter: Filter, bound: tuple[BoundField, ...], values: _Values) -> Mask:
    """Where the filter may match, told as if all files were of one spec."""
    kept: Mask
    match filter:
        case And(parts):
            kept = numpy.ones(values.columns.num_rows, bool)
            for part in parts:
                kept &= _may(part, bound, values)
        case Or(parts):
            kept = numpy.zeros(values.columns.num_rows, bool)
            for part in parts:
                kept |= _may(part, bound, values)
        case leaf:
            kept = numpy.ones(values.columns.num_rows, bool)
            for one in bound:
                if one.source.id == leaf.field.id and one.field.transform.name != "void":
                    kept &= _leaf_may(leaf, one, values)
    return kept


def _leaf_may(leaf: Leaf, bound: BoundField, values: _Values) -> Mask:
    distinct, places = values.of(bound)
    answers = numpy.array([leaf_may_match_partition(leaf, bound, one) for one in distinct], bool)
    kept: Mask = answers[places] | ~values.columns.has_partition(bound.field.field_id)
    return kept


def _encoded(column: pyarrow.Array) -> tuple[list[bytes | None], Numeric]:
    """The distinct values of a column of bytes, and for each row which it has."""
    whole = whole_numbers(column)  # twice as fast as bytes
    encoded = (column if whole is None else whole).dictionary_encode(null_encoding="encode")
    distinct: list[Any] = encoded.dictionary.to_pylist()
    if whole is not None:
        distinct = [
            None if one is None else one.to_bytes(whole.type.byte_width, "little", signed=True) for one in distinct
        ]
    return distinct, encoded.indices.to_numpy()
