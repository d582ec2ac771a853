"""A caller's columns, cast where no value is lost."""

import datetime
import decimal
import math
from typing import Any

import pandas
import pyarrow
import pytest

from lakebed.arrow.casting import cast_rows
from lakebed.arrow.fit import fit, reader_of
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

MIDNIGHT = datetime.datetime(2026, 1, 31)


def schema_of(type: str) -> Schema:
    return with_ids(Schema([Field("a", type)]), 0, 1)


def fitted(data: Any, type: str) -> list[Any]:
    schema = schema_of(type)
    return pyarrow.Table.from_batches(fit(data, schema), file_schema(schema))["a"].to_pylist()


def cast(values: Any, type: str) -> list[Any]:
    array = values if isinstance(values, pyarrow.Array) else pyarrow.array(values)
    return fitted(cast_rows(reader_of(pyarrow.table({"A": array})), schema_of(type)), type)


@pytest.mark.parametrize("type", ["int", "long"])
def test_a_whole_column_that_pandas_has_as_floats_fits(type: str) -> None:
    frame = pandas.DataFrame({"a": [1, None, -3]})
    assert str(frame["a"].dtype) == "float64"
    assert fitted(frame, type) == [1, None, -3]
    assert fitted(pyarrow.table({"a": pyarrow.array([2.0], pyarrow.float32())}), type) == [2]
    assert fitted(pyarrow.table({"a": [-0.0, float(2**31 - 1)]}), type) == [0, 2**31 - 1]


@pytest.mark.parametrize("value", [1.5, math.nan, math.inf, float(2**53 + 2), 1e300])
def test_another_float_is_refused_with_its_row(value: float) -> None:
    rows = pyarrow.table({"a": pyarrow.chunked_array([[1.0, 2.0], [3.0, None, value]])})
    with pytest.raises(Invalid, match=r"column 'a': a value does not fit .*expected long, found \S+ in row 4, counted"):
        fitted(rows, "long")


def test_a_float_that_no_int_holds_is_refused() -> None:
    with pytest.raises(Invalid, match=r"expected int, found 2147483648.0 in row 0"):
        fitted(pyarrow.table({"a": [2.0**31]}), "int")


@pytest.mark.parametrize(
    ("given", "type", "values"),
    [
        (["1", " -7 ", None], "long", [1, -7, None]),
        (["1.5", "nan", "1e3"], "double", [1.5, math.nan, 1000.0]),
        (["0.1"], "float", [pyarrow.scalar(0.1, pyarrow.float32()).as_py()]),
        (["12.50", "1e1"], "decimal(10, 2)", [decimal.Decimal("12.50"), decimal.Decimal("10.00")]),
        (
            ["1.500", "0.0000", "00", "1500e-3"],
            "decimal(2, 1)",
            [decimal.Decimal(n) for n in ("1.5", "0.0", "0.0", "1.5")],
        ),
        (["-inf", "-Infinity"], "float", [-math.inf, -math.inf]),
        (["true", "F"], "boolean", [True, False]),
        (["2026-01-31"], "date", [MIDNIGHT.date()]),
        ([" 2026-01-31 ", "2026-01-31T00:00:00.000Z", "2026-01-31 00:00+02:00"], "date", [MIDNIGHT.date()] * 3),
        (["2026-01-31 00:00:00"], "timestamp", [MIDNIGHT]),
        (["2026-01-31T01:00:00+01:00"], "timestamptz", [MIDNIGHT.replace(tzinfo=datetime.UTC)]),
        ([1, 2**31 - 1], "int", [1, 2**31 - 1]),
        ([1, 2], "double", [1.0, 2.0]),
        ([7], "string", ["7"]),
        ([1.25], "decimal(10, 2)", [decimal.Decimal("1.25")]),
        ([decimal.Decimal("3.00")], "long", [3]),
        ([0.1], "float", [pyarrow.scalar(0.1, pyarrow.float32()).as_py()]),
        ([MIDNIGHT], "date", [MIDNIGHT.date()]),
        ([MIDNIGHT.date()], "timestamp", [MIDNIGHT]),
        (pyarrow.array(["5", "6"]).dictionary_encode(), "long", [5, 6]),
        (pyarrow.array(["5"], pyarrow.string_view()), "long", [5]),
        (pyarrow.DictionaryArray.from_arrays([0], pyarrow.array(["5"], pyarrow.string_view())), "long", [5]),
        (pyarrow.nulls(1), "long", [None]),
        ([True, False], "int", [1, 0]),
    ],
    ids=str,
)
def test_values_are_cast_by_choice(given: Any, type: str, values: list[Any]) -> None:
    found = [value.astimezone(datetime.UTC) if type == "timestamptz" else value for value in cast(given, type)]
    assert repr(found) == repr(values)


@pytest.mark.parametrize(
    ("given", "type", "found"),
    [
        (["1", "x"], "long", "'x' in row 1"),
        (["1.5"], "int", "'1.5' in row 0"),
        (["3000000000"], "int", "'3000000000' in row 0"),
        ([""], "long", "'' in row 0"),
        (["2026-02-30"], "date", "'2026-02-30' in row 0"),
        (["maybe"], "boolean", "'maybe' in row 0"),
        (["1.50", "1.005"], "decimal(10, 2)", "'1.005' in row 1"),
        (["1e1", "15e-1", "15.5e-2"], "decimal(10, 2)", "'15.5e-2' in row 2"),
        (["0." + "0" * 40 + "1"], "decimal(38, 2)", r"'0\.0+1' in row 0"),
        (["2026-01-31 00:00:00", "2026-01-31T05:00"], "date", "'2026-01-31T05:00' in row 1"),
        (["2026-01-31 tomorrow"], "date", "'2026-01-31 tomorrow' in row 0"),
        (["2026-01-31 00:00:00.1234560", "2026-01-31 00:00:00.1234567"], "timestamp", "'.*67' in row 1"),
        (["inf", "1e400"], "double", "'1e400' in row 1"),
        (["1e40"], "float", "'1e40' in row 0"),
        ([2**31], "int", "2147483648 in row 0"),
        ([2**53 + 1], "double", "9007199254740993 in row 0"),
        ([1.234], "decimal(10, 2)", "1.234 in row 0"),
        ([decimal.Decimal("1.5")], "long", r"Decimal\('1.5'\) in row 0"),
        ([1e300], "float", r"1e\+300 in row 0"),
        ([MIDNIGHT, datetime.datetime(2026, 1, 31, 5)], "date", "datetime.datetime.* in row 1"),
        ([2], "boolean", "2 in row 0"),
        (pyarrow.array([2**63 - 1], pyarrow.timestamp("us")), "date", ".*9223372036854775807.* in row 0"),
    ],
    ids=str,
)
def test_a_value_that_a_cast_would_lose_is_refused_with_its_column(given: Any, type: str, found: str) -> None:
    with pytest.raises(Invalid, match=rf"column 'a': a value does not fit the column .*found {found}"):
        cast(given, type)


@pytest.mark.parametrize(("given", "type"), [([[1]], "list<int>"), ([True], "date"), ([b"x"], "long")], ids=str)
def test_what_no_cast_leads_to_is_refused_as_ever(given: list[Any], type: str) -> None:
    with pytest.raises(Invalid, match="the rows do not fit the table's columns"):
        cast(given, type)
