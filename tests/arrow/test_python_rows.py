"""Rows as plain Python, for a table's columns."""

import datetime
import decimal
from typing import Any

import numpy
import pyarrow
import pytest

from lakebed.arrow.fit import fit
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

DAY, NOON = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12)


def fitted(data: Any, **types: str) -> list[dict[str, Any]]:
    schema = with_ids(Schema([Field(name, type) for name, type in types.items()]), 0, 1)
    return pyarrow.Table.from_batches(fit(data, schema), file_schema(schema)).to_pylist()


def test_rows_are_dicts_of_which_each_may_have_other_columns() -> None:
    given = [{"id": 1}, {"ID": 2, "name": "x"}, {"name": None, "id": 3}]
    with pytest.raises(Invalid, match="once more"):
        fitted(given, id="long", name="string")
    given[1] = {"id": 2, "name": "x"}
    assert fitted(given, id="long", name="string") == [
        {"id": 1, "name": None},
        {"id": 2, "name": "x"},
        {"id": 3, "name": None},
    ]


def test_columns_are_lists_arrays_of_numpy_or_of_arrow() -> None:
    given = {"a": [1, None], "b": numpy.array([1.5, 2.5]), "c": pyarrow.array(["x", "y"]), "d": range(2)}
    found = fitted(given, a="long", b="double", c="string", d="long")
    assert found == [{"a": 1, "b": 1.5, "c": "x", "d": 0}, {"a": None, "b": 2.5, "c": "y", "d": 1}]


@pytest.mark.parametrize(
    ("value", "type", "shown"),
    [
        (1, "int", 1),
        (1, "double", 1.0),
        (1, "decimal(10, 2)", decimal.Decimal("1.00")),
        (1.25, "decimal(10, 2)", decimal.Decimal("1.25")),
        (2.0, "long", 2),
        (1.5, "float", 1.5),
        (DAY, "date", DAY),
        (NOON, "timestamp", NOON),
        ([1, 2], "list<double>", [1.0, 2.0]),
        ({"a": 1}, "map<string, int>", [("a", 1)]),
        ({"a": 1}, "struct<a: long, b: long>", {"a": 1, "b": None}),
        ({"a": 1}, "struct<a: int, b: string>", {"a": 1, "b": None}),
        ({"a": [{"b": 1.5}]}, "struct<a: list<struct<b: float, c: int>>>", {"a": [{"b": 1.5, "c": None}]}),
        ([{"k": 1}], "list<map<string, double>>", [[("k", 1.0)]]),
        ({"k": {"a": 1}}, "map<string, struct<a: int, b: int>>", [("k", {"a": 1, "b": None})]),
        (None, "list<uuid>", None),
    ],
    ids=repr,
)
def test_values_get_the_type_of_their_column(value: Any, type: str, shown: Any) -> None:
    assert fitted([{"a": value}, {"a": None}], a=type) == [{"a": shown}, {"a": None}]


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (1.5, "long"),
        (2**31, "int"),
        (2**53 + 1, "double"),
        (True, "long"),
        (NOON, "date"),
        (-(2**63), "timestamptz"),  # was an OverflowError of Python's
        ("2026-01-31", "date"),
        ("1", "long"),
        (1, "string"),
        (decimal.Decimal("1.234"), "decimal(10, 2)"),
        (1.234, "decimal(10, 2)"),
        ({"a": 1, "b": 2}, "struct<a: long>"),
        ({"a": 1, "b": 2}, "struct<a: int>"),
        ({"A": 1}, "struct<a: int>"),
        ([1.5], "list<int>"),
    ],
    ids=repr,
)
def test_values_that_would_be_others_are_refused(value: Any, type: str) -> None:
    with pytest.raises(Invalid, match=r"column 'a': a value does not fit|the rows do not fit"):
        fitted([{"a": value}], a=type)


def test_no_rows_are_no_rows() -> None:
    assert fitted([], a="long") == fitted({}, a="long") == fitted({"a": []}, a="long") == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([{"a": 1}, {"a": "x"}], "a: a column has values of different types"),
        ([{"a": 1}, 7], r"row 1: a row is not a dict .*found 7"),
        ([(1, 2)], "row 0: a row is not a dict"),
        ([{}], "the rows have no columns"),
        ([{1: 2}], "1: the name of a column is not text"),
        ({"a": 1}, r"a: a column is not a list .*Give one row in a list: \[row\]"),
        ({"a": "xy"}, "a: a column is not a list"),
        ({"a": [1], "b": [1, 2]}, "different lengths .*found a: 1, b: 2"),
    ],
    ids=repr,
)
def test_python_that_is_not_rows_is_refused_with_the_place(data: Any, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        fitted(data, a="long", b="long")


@pytest.mark.parametrize("value", [1e300, -1e39, 16_777_217])
def test_a_float_beyond_its_column_became_infinity(value: Any) -> None:
    with pytest.raises(Invalid, match="the rows do not fit"):
        fitted([{"a": value}], a="float")


def test_floats_inside_lists_and_structs_are_the_nearest_ones_as_outside() -> None:
    nearest = [numpy.float32(0.1).item(), float("inf"), None]
    assert fitted([{"a": [0.1, float("inf"), None]}], a="list<float>") == [{"a": nearest}]
    assert fitted([{"a": {"b": 0.1}}], a="struct<b: float>") == [{"a": {"b": nearest[0]}}]
    [found] = fitted([{"a": {"x": float("nan")}}], a="map<string, float>")
    assert str(found["a"]) == "[('x', nan)]"
