"""Columns that are set to expressions and literals: stored as the table has them, or refused by the column's name."""

import datetime
import decimal
import math
from typing import Any
from uuid import UUID

import pyarrow
import pytest

import lakebed
from lakebed.arrow.rows.assignments import assignments
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

SCHEMA = Schema(
    [
        Field("id", "long", required=True),  # type: ignore[arg-type]
        *Schema(
            {
                "price": "decimal(10, 2)",
                "quantity": "int",
                "weight": "float",
                "note": "string",
                "day": "date",
                "at": "timestamptz",
                "local": "timestamp",
                "fine": "timestamp_ns",
                "clock": "time",
                "key": "uuid",
                "code": "fixed(3)",
                "blob": "binary",
                "flag": "boolean",
                "tags": "list<string>",
                "box": "struct<a: int, u: uuid>",
                "counts": "map<string, long>",
            }
        ).fields,
    ]
)


def rows(*given: dict[str, Any]) -> pyarrow.RecordBatch:
    """Rows of the columns that are given, null in the others."""
    form = arrow_schema(SCHEMA)
    columns = [
        pyarrow.array([row.get(one.name) for row in given], one.type)
        if any(row.get(one.name) is not None for row in given)
        else pyarrow.nulls(len(given), one.type)
        for one in form
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=form)


OLD = rows(
    {"id": 1, "price": decimal.Decimal("2.55"), "quantity": 3, "note": "x", "tags": ["p"], "flag": True},
    {"id": 2, "quantity": 5, "note": None, "key": UUID(int=7).bytes},
)


def changed(values: Any, batch: pyarrow.RecordBatch = OLD) -> pyarrow.RecordBatch:
    columns = assignments(values, SCHEMA)(batch)
    return pyarrow.RecordBatch.from_arrays(columns, schema=arrow_schema(SCHEMA))


def stored(column: str, value: Any) -> list[Any]:
    return list(changed({column: value}).column(column).to_pylist())


def test_columns_without_a_value_stay_as_they_are() -> None:
    new = changed({"Note": "upper(note)"})
    assert new.column("note").to_pylist() == ["X", None]
    for name in set(SCHEMA.names) - {"note"}:
        assert new.column(name).equals(OLD.column(name)), name


def test_all_expressions_see_the_row_as_it_was() -> None:
    new = changed({"quantity": "id", "id": "quantity"})
    assert new.column("quantity").to_pylist() == [1, 2]
    assert new.column("id").to_pylist() == [3, 5]


def test_numbers_are_stored_as_spark_stores_them() -> None:
    assert stored("price", "price * 1.1") == [decimal.Decimal("2.81"), None]  # 2.805, rounded half up
    assert stored("quantity", "quantity * 1.5") == [4, 7]  # what is behind the point is cut off
    assert stored("weight", "quantity / 2") == [1.5, 2.5]
    assert stored("note", "quantity * 1.5") == ["4.5", "7.5"]


def test_moments_are_stored_in_the_columns_own_unit_and_zone() -> None:
    moment = datetime.datetime(2026, 1, 31, 12, 30)
    utc = moment.replace(tzinfo=datetime.UTC)
    text = "TIMESTAMP '2026-01-31 12:30:00'"
    assert stored("at", text) == [utc, utc]
    assert stored("local", text) == [moment, moment]
    assert stored("fine", text) == [moment, moment]
    assert stored("day", text) == [moment.date()] * 2
    assert stored("at", "DATE '2026-01-31'") == [datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)] * 2


def test_null_may_be_stored_in_every_column_that_allows_it() -> None:
    for name in set(SCHEMA.names) - {"id"}:
        assert stored(name, "NULL") == [None, None]
        assert stored(name, lakebed.lit(None)) == [None, None]
        assert changed({name: name}).column(name).equals(OLD.column(name))


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("id", 5, 5),
        ("price", decimal.Decimal("1.5"), decimal.Decimal("1.50")),
        ("price", 2, decimal.Decimal("2.00")),
        ("weight", 1, 1.0),
        ("weight", -math.inf, -math.inf),
        ("note", "price * 2", "price * 2"),
        ("note", "it's", "it's"),
        ("day", datetime.date(2020, 2, 29), datetime.date(2020, 2, 29)),
        ("at", datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
        ("local", datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1)),
        ("fine", 1_000, datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
        ("clock", datetime.time(1, 2), datetime.time(1, 2)),
        ("key", UUID(int=9), UUID(int=9)),
        ("code", b"abc", b"abc"),
        ("blob", b"", b""),
        ("flag", False, False),
        ("tags", ["a", None], ["a", None]),
        ("tags", [], []),
        ("box", {"A": 1, "u": UUID(int=3)}, {"a": 1, "u": UUID(int=3)}),
        ("box", {}, {"a": None, "u": None}),
        ("counts", {"k": 7}, [("k", 7)]),
        ("counts", [("k", None)], [("k", None)]),
    ],
)
def test_a_literal_is_stored_as_it_is(column: str, value: Any, expected: Any) -> None:
    assert stored(column, lakebed.lit(value)) == [expected, expected]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", None),
        ("id", "5"),
        ("id", 5.0),
        ("id", True),
        ("quantity", 2**31),
        ("price", decimal.Decimal("1.234")),
        ("price", 10**9),
        ("price", 1.5),
        ("note", 5),
        ("note", b"x"),
        ("day", "2020-01-01"),
        ("day", datetime.datetime(2020, 1, 1)),
        ("local", datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
        ("clock", "12:00"),
        ("key", "x"),
        ("code", b"ab"),
        ("flag", 1),
        ("tags", "abc"),
        ("tags", [1]),
        ("tags", {"a": 1}),
        ("box", {"b": 1}),
        ("box", {"a": 1, "A": 2}),
        ("box", [1]),
        ("box", {"a": "x"}),
        ("counts", {1: 1}),
        ("counts", {None: 1}),
        ("counts", ["ab"]),
        ("counts", 5),
    ],
)
def test_a_literal_that_does_not_fit_is_refused_by_the_columns_name(column: str, value: Any) -> None:
    with pytest.raises(Invalid) as caught:
        assignments({column: lakebed.lit(value)}, SCHEMA)
    assert f"'{column}" in caught.value.subject


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("id", "NULL"),
        ("quantity", "note"),
        ("quantity", "flag"),
        ("quantity", "day"),
        ("flag", "quantity"),
        ("flag", "'true'"),
        ("day", "'2020-01-01'"),
        ("day", "quantity"),
        ("at", "quantity"),
        ("key", "note"),
        ("note", "blob"),
        ("note", "tags"),
        ("tags", "note"),
        ("box", "counts"),
        ("clock", "at"),
    ],
)
def test_an_expression_of_another_type_is_refused_before_any_row(column: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        assignments({column: text}, SCHEMA)
    assert f"'{column}'" in caught.value.subject


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "by column"),
        ([("note", "'x'")], "by column"),
        ({"nope": "1"}, "'nope'"),
        ({"box.a": "1"}, "'box.a'"),
        ({"note": "'x'", "NOTE": "'y'"}, "twice"),
        ({"quantity": 5}, r"lit\(5\)"),
        ({"quantity": None}, r"lit\(None\)"),
        ({"quantity": "median(quantity)"}, "median"),
        ({"quantity": "quantity +"}, "can't be read"),
    ],
)
def test_what_can_not_be_set_is_refused_before_any_row(values: Any, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        assignments(values, SCHEMA)


@pytest.mark.parametrize(
    ("column", "text", "named"),
    [
        ("quantity", "id + 2147483647", "'quantity'"),
        ("price", "quantity * 100000000", "'price'"),
        ("id", "IF(id = 1, NULL, id)", "id"),
        ("code", "coalesce(blob, X'00')", "'code'"),
        ("fine", "TIMESTAMP '2500-01-01 00:00:00'", "'fine'"),
        ("quantity", "CAST(note AS int)", "CAST(note AS int)"),
        ("quantity", "quantity / (id - 1)", "quantity / (id - 1)"),
    ],
)
def test_a_row_whose_value_does_not_fit_is_refused(column: str, text: str, named: str) -> None:
    change = assignments({column: text}, SCHEMA)
    with pytest.raises(Invalid) as caught:
        change(OLD)
    assert named in caught.value.subject


def test_a_value_may_be_a_condition_that_is_built_in_python() -> None:
    assert stored("flag", lakebed.col("quantity") > 3) == [False, True]
    assert stored("note", lakebed.col("quantity")) == ["3", "5"]


def test_the_time_is_that_of_the_call_for_all_batches() -> None:
    change = assignments({"at": "current_timestamp()"}, SCHEMA)
    place = SCHEMA.names.index("at")
    before = datetime.datetime.now(datetime.UTC)
    times = {one for _ in range(3) for one in change(OLD)[place].to_pylist()}
    assert len(times) == 1
    assert before - datetime.timedelta(hours=1) < times.pop() < datetime.datetime.now(datetime.UTC)
