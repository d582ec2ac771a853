"""Expressions over rows in memory: SQL's three truth values, what is not looked at, and every kind of value."""

import datetime
import decimal
import math
from fractions import Fraction
from typing import Any
from uuid import UUID

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.scope import ROWS, Scope, rows_scope
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Decimal


def values(text: str, columns: dict[str, str], *rows: tuple[Any, ...]) -> list[Any]:
    """What an expression gives for rows of some columns."""
    schema = Schema(columns)
    made = [dict(zip(columns, row, strict=True)) for row in rows]
    batch = pyarrow.RecordBatch.from_pylist(made, schema=arrow_schema(schema))
    return calculated(text, schema, batch)


def calculated(text: str, schema: Schema, batch: pyarrow.RecordBatch) -> list[Any]:
    found = evaluate(parse_expression(text, rows_scope(schema)), Rows({ROWS: batch}, batch.num_rows))
    return list(found.to_pylist())


def test_a_sum_is_calculated_row_by_row_and_null_where_a_part_is() -> None:
    assert values("a + b", {"a": "int", "b": "long"}, (1, 2), (None, 1), (1, None)) == [3, None, None]


def test_no_rows_have_no_values_and_no_error() -> None:
    assert values("1 / 0 + CASE WHEN a THEN 1 ELSE 2 END", {"a": "boolean"}) == []


TRUTHS = [None, True, False]


class Formula:
    """A formula of truth values, in SQL and as the function that it is."""

    def __init__(self, text: str, value: Any) -> None:
        self.text, self.value = text, value

    def __repr__(self) -> str:
        return self.text


def negated(one: Formula) -> Formula:
    return Formula(f"(NOT {one})", lambda row: None if one.value(row) is None else not one.value(row))


def both(one: Formula, other: Formula) -> Formula:
    def value(row: Any) -> bool | None:
        sides = one.value(row), other.value(row)
        return False if False in sides else None if None in sides else True

    return Formula(f"({one} AND {other})", value)


def either(one: Formula, other: Formula) -> Formula:
    def value(row: Any) -> bool | None:
        sides = one.value(row), other.value(row)
        return True if True in sides else None if None in sides else False

    return Formula(f"({one} OR {other})", value)


def equal(one: Formula, other: Formula) -> Formula:
    def value(row: Any) -> bool | None:
        sides = one.value(row), other.value(row)
        return None if None in sides else sides[0] == sides[1]

    return Formula(f"({one} = {other})", value)


def among(one: Formula, other: Formula, third: Formula) -> Formula:
    inner = either(equal(one, other), equal(one, third))
    return Formula(f"({one} IN ({other}, {third}))", inner.value)


def chosen(one: Formula, other: Formula, third: Formula) -> Formula:
    def value(row: Any) -> bool | None:
        return other.value(row) if one.value(row) else third.value(row)  # type: ignore[no-any-return]

    return Formula(f"CASE WHEN {one} THEN {other} ELSE {third} END", value)


def first(one: Formula, other: Formula) -> Formula:
    def value(row: Any) -> bool | None:
        return other.value(row) if one.value(row) is None else one.value(row)  # type: ignore[no-any-return]

    return Formula(f"coalesce({one}, {other})", value)


def unknown(one: Formula) -> Formula:
    return Formula(f"({one} IS NULL)", lambda row: one.value(row) is None)


def same(one: Formula, other: Formula) -> Formula:
    return Formula(f"({one} <=> {other})", lambda row: one.value(row) == other.value(row))


LEAVES = st.sampled_from([*"abc"]).map(lambda name: Formula(name, lambda row: row[name])) | st.sampled_from(
    [Formula("NULL", lambda _: None), Formula("TRUE", lambda _: True), Formula("FALSE", lambda _: False)]
)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(negated, inner)
        | st.builds(unknown, inner)
        | st.builds(both, inner, inner)
        | st.builds(either, inner, inner)
        | st.builds(equal, inner, inner)
        | st.builds(same, inner, inner)
        | st.builds(first, inner, inner)
        | st.builds(among, inner, inner, inner)
        | st.builds(chosen, inner, inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(FORMULAS)
def test_formulas_of_three_truth_values_are_what_sql_says(formula: Formula) -> None:
    rows = [(a, b, c) for a in TRUTHS for b in TRUTHS for c in TRUTHS]
    expected = [formula.value(dict(zip("abc", row, strict=True))) for row in rows]
    assert values(formula.text, dict.fromkeys("abc", "boolean"), *rows) == expected


NUMBERS = st.none() | st.integers(-5, 5)


@settings(max_examples=60)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_whole_numbers_are_divided_as_java_does(pairs: list[tuple[int | None, int | None]]) -> None:
    def remainder(a: int | None, b: int | None) -> int | None:
        return None if a is None or not b else abs(a) % abs(b) * (1 if a >= 0 else -1)

    found = values("a % NULLIF(b, 0)", {"a": "int", "b": "int"}, *pairs)
    assert found == [remainder(a, b) for a, b in pairs]


DECIMALS = st.none() | st.decimals("-9999999.99", "9999999.99", places=2)


@settings(max_examples=100)
@given(st.lists(st.tuples(DECIMALS, DECIMALS), min_size=1, max_size=8), st.sampled_from("+-*/"))
def test_decimals_are_calculated_exactly_and_rounded_half_away_from_zero(
    pairs: list[tuple[decimal.Decimal | None, decimal.Decimal | None]], sign: str
) -> None:
    exact = decimal.Context(prec=100)
    scale = {"+": 2, "-": 2, "*": 4, "/": 13}[sign]
    kernels = {"+": exact.add, "-": exact.subtract, "*": exact.multiply, "/": exact.divide}

    def expected(a: decimal.Decimal | None, b: decimal.Decimal | None) -> decimal.Decimal | None:
        if a is None or b is None or (sign == "/" and b == 0):
            return None
        return kernels[sign](a, b).quantize(decimal.Decimal(1).scaleb(-scale), decimal.ROUND_HALF_UP, exact)

    divisor = "NULLIF(b, 0)" if sign == "/" else "b"
    found = values(f"a {sign} {divisor}", {"a": "decimal(10, 2)", "b": "decimal(10, 2)"}, *pairs)
    assert found == [expected(a, b) for a, b in pairs]


LONGEST = "9" * 38


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    "text",
    [
        "CAST(s AS decimal(38, 0))",
        "CAST(s AS decimal(38, 0)) % CAST('1e37' AS decimal(38, 0)) + CAST(s AS decimal(38, 0)) * 0",
        "CAST(CAST(s AS decimal(38, 0)) AS string)",
        "round(CAST(s AS decimal(38, 0)), 3)",
    ],
)
def test_all_digits_of_the_longest_decimals_are_kept(text: str, sign: str) -> None:
    expected = decimal.Decimal(sign + ("9" * 37 if "%" in text else LONGEST))
    [found] = values(text, {"s": "string"}, (sign + LONGEST,))
    assert decimal.Decimal(found) == expected


QUOTIENTS = st.tuples(st.integers(1, 38), st.integers(0, 38), st.integers(-(10**38) + 1, 10**38 - 1)).map(
    lambda one: (max(one[0], one[1]), one[1], abs(one[2]) % 10 ** max(one[0], one[1]) * (1 if one[2] >= 0 else -1))
)


@settings(max_examples=150)
@given(QUOTIENTS, QUOTIENTS)
def test_quotients_of_decimals_of_every_type_are_rounded_as_spark_rounds_them(
    left: tuple[int, int, int], right: tuple[int, int, int]
) -> None:
    """To 38 digits behind the point first, then to the type's: in whole numbers."""
    (above, scale, a), (below, other, b) = left, right
    columns = {"a": f"decimal({above}, {scale})", "b": f"decimal({below}, {other})"}
    type = parse_expression("a / b", rows_scope(Schema(columns))).type
    assert isinstance(type, Decimal)
    exact = decimal.Context(prec=100)
    row = decimal.Decimal(a).scaleb(-scale, exact), decimal.Decimal(b).scaleb(-other, exact)
    if b == 0:
        with pytest.raises(Invalid, match="divides by zero"):
            values("a / b", columns, row)
        return
    whole = half_up(half_up(Fraction(a * 10**other, b * 10**scale) * 10**38) * Fraction(10**type.scale, 10**38))
    if abs(whole) >= 10**type.precision:
        with pytest.raises(Invalid, match="does not fit its type"):
            values("a / b", columns, row)
    else:
        assert values("a / b", columns, row) == [decimal.Decimal(whole).scaleb(-type.scale, exact)]


def half_up(number: Fraction) -> int:
    magnitude = math.floor(abs(number) + Fraction(1, 2))
    return magnitude if number >= 0 else -magnitude


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE WHEN n = 0 THEN 0 ELSE 10 / n END", [0.0, 5.0, 0.0]),
        ("IF(n != 0, 10 / n, -1)", [-1.0, 5.0, -1.0]),
        ("n = 0 OR 10 / n > 1", [True, True, True]),
        ("n != 0 AND 10 / n > 1", [False, True, False]),
        ("coalesce(n, 10 / 0)", [0.0, 2.0, 0.0]),
        ("NULLIF(n, 0) / 2 + 1", [None, 2.0, None]),
    ],
)
def test_what_sql_does_not_look_at_is_not_calculated(text: str, expected: list[Any]) -> None:
    assert values(text, {"n": "int"}, (0,), (2,), (0,)) == expected


def test_an_unknown_side_of_and_does_not_hide_an_error_of_the_other() -> None:
    with pytest.raises(Invalid, match="divides by zero"):
        values("NULL AND 1 / n > 0", {"n": "int"}, (0,))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("n + 1", "n + 1"),
        ("1 + n * 2", "n * 2"),
        ("- (n - 1 - n - n)", "negative("),
        ("5 / (n - n)", "5 / (n - n)"),
        ("5 % (n - n)", "5 % (n - n)"),
        ("CAST(n * 1.5 AS int)", "CAST(n * 1.5 AS int)"),
        ("CAST(s AS date)", "CAST(s AS date)"),
        ("s = 1", "s"),
        ("round(n, -1)", "round(n, -1)"),
    ],
)
def test_an_error_names_the_part_that_has_no_value(text: str, subject: str) -> None:
    with pytest.raises(Invalid) as caught:
        values(text, {"n": "int", "s": "string"}, (2**31 - 1, "x"))
    assert subject in caught.value.subject


def test_an_error_in_one_row_is_found_among_many() -> None:
    rows = [(index, str(index)) for index in range(1000)]
    rows[777] = (777, "seven")
    with pytest.raises(Invalid, match="'seven'"):
        values("CAST(s AS int) + n", {"n": "int", "s": "string"}, *rows)


def test_try_cast_is_null_for_what_cast_refuses() -> None:
    assert values("TRY_CAST(s AS int)", {"s": "string"}, ("1",), ("x",), (None,), ("99999999999",)) == [
        1,
        None,
        None,
        None,
    ]


def test_fields_of_structs_are_null_where_the_struct_is() -> None:
    rows = [({"b": {"c": 1}},), ({"b": None},), (None,), ({"b": {"c": None}},)]
    assert values("a.b.c + 1", {"a": "struct<b: struct<c: int>>"}, *rows) == [2, None, None, None]
    assert values("a.b IS NULL", {"a": "struct<b: struct<c: int>>"}, *rows) == [False, True, True, False]


def test_columns_of_types_with_parts_can_be_chosen_among() -> None:
    columns = {"n": "int", "a": "list<int>", "b": "list<int>", "m": "map<string, int>"}
    rows = [(1, [1], [2], [("k", 1)]), (2, [3], None, None), (None, None, [4], [])]
    assert values("IF(n = 1, a, b)", columns, *rows) == [[1], None, [4]]
    assert values("coalesce(a, b)", columns, *rows) == [[1], [3], [4]]
    assert values("CASE WHEN n > 1 THEN m ELSE m END", columns, *rows) == [[("k", 1)], None, []]


def test_uuids_and_fixed_bytes_are_compared_as_bytes() -> None:
    one, other = UUID(int=1), UUID(int=2**127)
    columns = {"a": "uuid", "b": "uuid", "c": "fixed(2)"}
    rows = [(one.bytes, other.bytes, b"ab"), (one.bytes, one.bytes, b"cd"), (None, one.bytes, None)]
    assert values("a = b", columns, *rows) == [False, True, None]
    assert values("a < b", columns, *rows) == [True, False, None]
    assert values("c = X'6162'", columns, *rows) == [True, False, None]
    assert values("coalesce(a, b)", columns, *rows) == [one.bytes, one.bytes, one.bytes]


def test_times_of_day_and_nanoseconds_are_compared() -> None:
    columns = {"t": "time", "u": "time", "n": "timestamp_ns", "m": "timestamp"}
    row = (datetime.time(1, 2), datetime.time(1, 3), 1_001, datetime.datetime(1970, 1, 1, 0, 0, 0, 1))
    assert values("t < u", columns, row) == [True]
    assert values("n > m", columns, row) == [True]  # by one nanosecond
    assert values("n = m", columns, row) == [False]


def test_a_moment_that_nanoseconds_do_not_reach_is_an_error() -> None:
    columns = {"n": "timestamp_ns", "m": "timestamp"}
    with pytest.raises(Invalid, match="m"):
        values("n > m", columns, (0, datetime.datetime(2500, 1, 1)))


def test_text_is_read_in_any_layout_that_arrow_has() -> None:
    schema = Schema({"s": "string", "n": "long"})
    for type in (pyarrow.large_string(), pyarrow.string_view(), pyarrow.dictionary(pyarrow.int8(), pyarrow.string())):
        batch = pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(["a", None]).cast(type), pyarrow.array([1, 2], pyarrow.int8())], ["s", "n"]
        )
        assert calculated("upper(s) || n", schema, batch) == ["A1", None]


def test_the_time_is_the_same_in_every_row_and_part() -> None:
    schema = Schema({"n": "int"})
    moment = datetime.datetime(2026, 1, 31, 23, 59, 59, 5, tzinfo=datetime.UTC)
    scope = Scope(
        {ROWS: schema},
        (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1),
    )
    batch = pyarrow.RecordBatch.from_pylist([{"n": 1}, {"n": 2}], schema=arrow_schema(schema))

    def found(text: str) -> list[Any]:
        return list(evaluate(parse_expression(text, scope), Rows({ROWS: batch}, 2)).to_pylist())

    assert found("current_timestamp()") == found("now()") == [moment, moment]
    assert found("current_date") == [moment.date()] * 2
    assert found("localtimestamp()") == [moment.replace(tzinfo=None)] * 2
    assert found("current_timestamp() = now()") == [True, True]


def test_a_slice_of_a_batch_has_the_values_of_its_own_rows() -> None:
    schema = Schema({"n": "int", "s": "string"})
    rows = [{"n": one, "s": str(one)} for one in range(20)]
    batch = pyarrow.RecordBatch.from_pylist(rows, schema=arrow_schema(schema)).slice(5, 4)
    assert calculated("IF(n % 2 = 0, s, 'odd' || n)", schema, batch) == ["odd5", "6", "odd7", "8"]
    assert calculated("CAST(s AS int) % 4", schema, batch) == [1, 2, 3, 0]
