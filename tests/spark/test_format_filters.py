"""Filters of Spark's as conditions: what each keeps is what Spark keeps, or there is no condition."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow
import pytest
from pyspark.sql import datasource

from lakebed.arrow.read.rows import table_of_rows
from lakebed.spark.format import condition_of
from lakebed.table.filter.bind import bind
from lakebed.table.schema.schema import Schema, with_ids

if not hasattr(datasource, "EqualTo"):
    pytest.skip("this PySpark pushes no filters to Python data sources; install 4.1 or later", allow_module_level=True)

SCHEMA = with_ids(Schema({"id": "long", "name": "string", "a.b": "long", "inside": "struct<x: long>"}), 1, 1)
ROWS = [(1, "anna", 1, {"x": 1}), (2, "bert", 2, {"x": None}), (None, None, None, None), (4, "", 4, {"x": 4})]


def kept(filter: Any) -> list[int | None] | None:
    condition = condition_of(filter)
    if condition is None:
        return None
    found: pyarrow.Table = table_of_rows(SCHEMA, ROWS, bind(condition, SCHEMA), ["id"])
    return found.column("id").to_pylist()


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        (datasource.EqualTo(("id",), 2), [2]),
        (datasource.EqualNullSafe(("id",), 2), [2]),
        (datasource.EqualNullSafe(("id",), None), [None]),
        (datasource.GreaterThan(("id",), 2), [4]),
        (datasource.GreaterThanOrEqual(("id",), 2), [2, 4]),
        (datasource.LessThan(("id",), 2), [1]),
        (datasource.LessThanOrEqual(("id",), 2), [1, 2]),
        (datasource.In(("id",), (1, 4, None)), [1, 4]),
        (datasource.IsNull(("id",)), [None]),
        (datasource.IsNotNull(("id",)), [1, 2, 4]),
        (datasource.StringStartsWith(("name",), "b"), [2]),
        (datasource.Not(datasource.EqualTo(("id",), 2)), [1, 4]),
        (datasource.Not(datasource.StringStartsWith(("name",), "b")), [1, 4]),
        (datasource.EqualTo(("a.b",), 4), [4]),
        (datasource.EqualTo(("inside", "x"), 4), [4]),
    ],
    ids=repr,
)
def test_a_condition_keeps_what_spark_keeps(filter: Any, ids: list[int | None]) -> None:
    assert kept(filter) == ids


@pytest.mark.parametrize(
    "filter",
    [
        datasource.StringEndsWith(("name",), "a"),
        datasource.StringContains(("name",), "a"),
        datasource.Not(datasource.EqualNullSafe(("id",), 2)),
        datasource.Not(datasource.In(("id",), (2, None))),
        datasource.EqualTo(("day",), date(1582, 10, 15)),  # of ten other days, in a session with the old calendar
        datasource.In(("day",), (date(2026, 1, 1), date(1582, 10, 15))),
        datasource.GreaterThan(("at",), datetime(1899, 12, 31, tzinfo=UTC)),
        datasource.EqualTo(("id",), [1, 2]),
    ],
    ids=repr,
)
def test_what_has_no_such_meaning_is_left_to_spark(filter: Any) -> None:
    assert kept(filter) is None


@pytest.mark.parametrize(
    "value", [date(1582, 10, 16), date(1, 1, 1), datetime(1582, 10, 15), datetime(1900, 1, 1, tzinfo=UTC)], ids=repr
)
def test_days_and_times_that_every_session_pushes_as_they_are_prune(value: date) -> None:
    assert condition_of(datasource.GreaterThan(("day",), value)) is not None
