"""Pruning and coverage of real files of every type, against each row of them and against PyIceberg's evaluators.

The files are Parquet that Lakebed wrote, their statistics are those of the footers.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyiceberg import expressions as iceberg
from pyiceberg.expressions.literals import DateLiteral, TimeLiteral, TimestampLiteral, UUIDLiteral
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator, _StrictMetricsEvaluator
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema as IcebergSchema

from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write
from lakebed.files import LocalFiles
from lakebed.table.filter.filter import (
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
)
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.covers import covers
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema
from tests.support.brute_force import NASTY, PLACES, every_filter, passes, row_of, schema_of
from tests.support.examples import examples


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LocalFiles:
    return LocalFiles(tmp_path_factory.mktemp("lake"))


def written(files: LocalFiles, schema: Schema, rows: Sequence[dict[str, Any]]) -> DataFileRef:
    form = arrow_schema(schema)
    columns = [array_of([row[one.name] for row in rows], one.type) for one in form]
    [file] = write(files, "data", schema, pyarrow.Table.from_arrays(columns, schema=form))
    return file


def array_of(values: list[Any], type: pyarrow.DataType) -> pyarrow.Array:
    if not pyarrow.types.is_struct(type):
        return pyarrow.array(values, type)
    inner = [array_of([None if one is None else one[part.name] for one in values], part.type) for part in type]
    return pyarrow.StructArray.from_arrays(
        inner, fields=list(type), mask=pyarrow.array([one is None for one in values])
    )


@st.composite
def columns(draw: st.DrawFn, types: Sequence[str], places: Sequence[str]) -> tuple[str, str, list[tuple[Any, int]]]:
    type, place = draw(st.sampled_from(types)), draw(st.sampled_from(places))
    value = st.sampled_from([*NASTY[type], *NASTY[type], None])
    return type, place, draw(st.lists(st.tuples(value, st.integers(0, 2)), min_size=1, max_size=5))


@settings(deadline=None, max_examples=examples(40, 120))
@given(columns(sorted(NASTY), sorted(PLACES)))
def test_no_row_that_matches_is_pruned_and_what_is_covered_matches(
    files: LocalFiles, drawn: tuple[str, str, list[tuple[Any, int]]]
) -> None:
    type, place, values = drawn
    schema, way = schema_of(type, place)
    rows = [{"id": at} | row_of(way, value, nulls) for at, (value, nulls) in enumerate(values)]
    file = written(files, schema, rows)
    for filter in every_filter(way, NASTY[type]):
        matching = [passes(filter, row) for row in rows]
        kept, covered = may_match(filter, file), covers(filter, file)
        assert kept or not any(matching), filter
        assert all(matching) or not covered, filter


LITERALS = {"date": DateLiteral, "time": TimeLiteral, "uuid": UUIDLiteral}
LITERALS |= dict.fromkeys(("timestamp", "timestamptz"), TimestampLiteral)
ICEBERG = sorted(set(NASTY) - {"timestamp_ns", "timestamptz_ns"})
"""The types that PyIceberg can evaluate."""


@settings(deadline=None, max_examples=examples(30, 80))
@given(columns(ICEBERG, ["c"]))
def test_pyiceberg_keeps_and_covers_the_same_but_where_the_rows_say_otherwise(
    files: LocalFiles, drawn: tuple[str, str, list[tuple[Any, int]]]
) -> None:
    type, place, values = drawn
    schema, way = schema_of(type, place)
    rows = [{"id": at, "c": value} for at, (value, _) in enumerate(values)]
    file = written(files, schema, rows)
    shape, theirs = IcebergSchema.model_validate_json(schema_to_json(schema)), iceberg_file(file)
    for filter in every_filter(way, NASTY[type]):
        matching = [passes(filter, row) for row in rows]
        expression = iceberg_filter(filter)
        if expression is None:
            continue
        kept, covered = may_match(filter, file), covers(filter, file)
        keeps = _InclusiveMetricsEvaluator(shape, expression).eval(theirs)
        covers_all = _StrictMetricsEvaluator(shape, expression).eval(theirs)
        if keeps != kept:
            event("kept by us alone" if kept else "pruned by us alone")
            assert any(matching) == kept or (kept and only_nan(values)), filter
        if covers_all != covered:
            event(f"covered by {'us' if covered else 'PyIceberg'} alone")
            assert all(matching) == covered, filter


def only_nan(values: list[tuple[Any, int]]) -> bool:
    """Whether there is nothing but NaN and null: then PyIceberg prunes comparisons, and we don't."""
    return all(value is None or value != value for value, _ in values)


def iceberg_file(file: DataFileRef) -> DataFile:
    known = file.statistics
    return DataFile.from_args(
        record_count=file.num_rows,
        value_counts={one.field_id: one.value_count for one in known},
        null_value_counts={one.field_id: one.null_count for one in known if one.HasField("null_count")},
        nan_value_counts={one.field_id: one.nan_count for one in known if one.HasField("nan_count")},
        lower_bounds={one.field_id: one.lower for one in known if one.HasField("lower")},
        upper_bounds={one.field_id: one.upper for one in known if one.HasField("upper")},
    )


SIGNS = {
    Operator.EQUAL: iceberg.EqualTo,
    Operator.NOT_EQUAL: iceberg.NotEqualTo,
    Operator.LESS: iceberg.LessThan,
    Operator.LESS_OR_EQUAL: iceberg.LessThanOrEqual,
    Operator.GREATER: iceberg.GreaterThan,
    Operator.GREATER_OR_EQUAL: iceberg.GreaterThanOrEqual,
}


def iceberg_filter(filter: Filter) -> iceberg.BooleanExpression | None:
    if isinstance(filter, And | Or):
        join = iceberg.And if isinstance(filter, And) else iceberg.Or
        return join(*map(iceberg_filter, filter.parts))
    name = ".".join(one.name for one in filter.way)
    make = LITERALS.get(str(filter.field.type), lambda value: value)
    match filter:
        case IsNull():
            return iceberg.IsNull(name)
        case NotNull():
            return iceberg.NotNull(name)
        case IsNan():
            return iceberg.IsNaN(name)
        case NotNan():
            return iceberg.NotNaN(name)
        case Comparison(_, sign, value):
            return SIGNS[sign](name, make(value))
        case OneOf(_, values):
            return iceberg.In(name, {make(one) for one in values})
        case NoneOf(_, values):
            return iceberg.NotIn(name, {make(one) for one in values})
        case Like(_, pattern) if pattern.is_prefix:
            return iceberg.StartsWith(name, pattern.prefix)
        case NotLike(_, pattern) if pattern.is_prefix:
            return iceberg.NotStartsWith(name, pattern.prefix)
    return None
