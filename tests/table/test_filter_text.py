"""What a filter in words means, and what it may not say."""

import math
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter import (
    ALWAYS,
    NEVER,
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    NoneOf,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
)
from lakebed.table.filter_text import TERMS, parse_filter
from lakebed.table.schema import Schema, with_ids
from lakebed.table.types import Field
from lakebed.testing.filters import CONSTANTS, QUOTED_NUMBERS, SCHEMA, condition, rows

ROWS = rows(Random(7), 60)
FIELD = {field.name: field for field in SCHEMA.fields}
OURS = CONSTANTS | {
    name: CONSTANTS[name] + QUOTED_NUMBERS for name in ("small", "big", "ratio", "share", "price", "wide")
}


def passes(filter: Filter, row: dict[str, object]) -> bool:
    """Whether a row passes, by the words of the classes' docstrings."""
    match filter:
        case And(parts):
            return all(passes(part, row) for part in parts)
        case Or(parts):
            return any(passes(part, row) for part in parts)
    value = row[filter.field.name]
    match filter:
        case IsNull():
            return value is None
        case NotNull():
            return value is not None
        case IsNan():
            return value is not None and math.isnan(value)
        case NotNan():
            return value is not None and not math.isnan(value)
        case OneOf(_, values):
            return value is not None and value in values
        case NoneOf(_, values):
            return value is not None and value not in values
        case Comparison(_, operator, other):
            return value is not None and compared(value, operator, other)


def compared(value, operator: Operator, other) -> bool:
    match operator:
        case Operator.EQUAL:
            return value == other
        case Operator.NOT_EQUAL:
            return value != other
        case Operator.LESS:
            return value < other
        case Operator.LESS_OR_EQUAL:
            return value <= other
        case Operator.GREATER:
            return value > other
        case Operator.GREATER_OR_EQUAL:
            return value >= other


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_filter_keeps_the_rows_that_its_words_are_true_of(random: Random) -> None:
    asked = condition(random, OURS, depth=3)
    bound = parse_filter(asked.text, SCHEMA)
    assert [passes(bound, row) for row in ROWS] == asked.kept(ROWS), asked.text


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_values_are_of_the_columns_own_type(random: Random) -> None:
    kinds = {"boolean": bool, "string": str, "binary": bytes, "float": float, "double": float}
    for leaf in leaves(parse_filter(condition(random, OURS).text, SCHEMA)):
        values = (
            leaf.values if isinstance(leaf, OneOf | NoneOf) else (leaf.value,) if isinstance(leaf, Comparison) else ()
        )
        expected = Decimal if str(leaf.field.type).startswith("decimal") else kinds.get(str(leaf.field.type), int)
        assert {type(value) for value in values} <= {expected}


def leaves(filter: Filter):
    parts = filter.parts if isinstance(filter, And | Or) else None
    return [filter] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def small(operator: Operator, value: int) -> Comparison:
    return Comparison(FIELD["small"], operator, value)


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        ("small = 17", small(Operator.EQUAL, 17)),
        ("17 < small", small(Operator.GREATER, 17)),
        ("SMALL = 17", small(Operator.EQUAL, 17)),
        ("`small` = 17 -- why", small(Operator.EQUAL, 17)),
        ("not small = 17", small(Operator.NOT_EQUAL, 17)),
        ("small < 2.5", small(Operator.LESS_OR_EQUAL, 2)),
        ("small > -2.5", small(Operator.GREATER_OR_EQUAL, -2)),
        ("small = 2.5", NEVER),
        ("small != 2.5", NotNull(FIELD["small"])),
        ("small < 99999999999", NotNull(FIELD["small"])),
        ("small > 99999999999", NEVER),
        ("big = 1e3", Comparison(FIELD["big"], Operator.EQUAL, 1000)),
        ("small = null", NEVER),
        ("not small = null", NEVER),
        ("small not in (1, null)", NEVER),
        ("small in (1, null, 2, 1, 2.5)", OneOf(FIELD["small"], (1, 2))),
        ("flag", Comparison(FIELD["flag"], Operator.EQUAL, True)),
        ("not flag", Comparison(FIELD["flag"], Operator.NOT_EQUAL, True)),
        ("price = 2.505", NEVER),
        ("price <= 2.505", Comparison(FIELD["price"], Operator.LESS_OR_EQUAL, Decimal("2.50"))),
        ("share = 'nan'", IsNan(FIELD["share"])),
        ("share < 'NaN'", NotNan(FIELD["share"])),
        ("true", ALWAYS),
        ("not true", NEVER),
        ("day = DATE '1970-01-02'", Comparison(FIELD["day"], Operator.EQUAL, 1)),
        ("instant = '1970-01-01T01:00:00+01:00'", Comparison(FIELD["instant"], Operator.EQUAL, 0)),
        ("word = r'a\\n'", Comparison(FIELD["word"], Operator.EQUAL, r"a\n")),
        ("word = ''''", Comparison(FIELD["word"], Operator.EQUAL, "'")),
        ('word = "a""b"', Comparison(FIELD["word"], Operator.EQUAL, 'a"b')),
        ("word = \"it''s\"", Comparison(FIELD["word"], Operator.EQUAL, "it''s")),
        ("word = '😀''😀'", Comparison(FIELD["word"], Operator.EQUAL, "😀'😀")),
    ],
)
def test_the_meaning_of_words(text: str, filter: Filter) -> None:
    assert parse_filter(text, SCHEMA) == filter


def test_nan_is_above_all_numbers() -> None:
    above = Comparison(FIELD["share"], Operator.GREATER, 1.0)
    assert parse_filter("share > 1", SCHEMA) == Or((above, IsNan(FIELD["share"])))


def test_a_column_may_have_any_name() -> None:
    schema = with_ids(Schema({"a.b": "int", "with `ticks`": "int", "Straße": "int", "order": "int"}), 1, 1)
    text = "`A.B` = 1 and `with ``ticks``` = 2 and `STRASSE` = 3 and order = 4"
    assert [part.field.id for part in parse_filter(text, schema).parts] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "small + 1 = 2",
        "abs(small) = 1",
        "small = big",
        "1 = 1",
        "small <=> 1",
        "small is distinct from 1",
        "flag is true",
        "word like 'a%'",
        "word rlike 'a'",
        "word ilike 'a'",
        "small in (select 1)",
        "small in ()",
        "small = any(1)",
        "exists (select 1)",
        "small between symmetric 2 and 1",
        "cast(small as long) = 1",
        "small::long = 1",
        "small = cast('1' as int)",
        "small = 1L",
        "small = -(-1)",
        "-small = 1",
        "small = 1 = true",
        "case when flag then flag end",
        "(small, big) = (1, 2)",
        "small = ?",
        "small = :name",
        "word = 'a' 'b'",
        "word = N'a'",
        "day > current_date",
        "day = interval 1 day",
        "instant = TIMESTAMP_LTZ '2026-01-01'",
        "small[0] = 1",
        "*",
        "null",
        "word || 'a' = 'b'",
    ],
)
def test_what_a_filter_can_not_say_is_named(text: str) -> None:
    with pytest.raises(Invalid, match=r"can't say this.*(IN|IS).*Filter the DataFrame"):
        parse_filter(text, SCHEMA)


@pytest.mark.parametrize(
    "name",
    [
        "comment",
        "set",
        "describe",
        "use",
        "cache",
        "merge",
        "delete",
        "update",
        "begin",
        "commit",
        "kill",
        "load",
    ],
)
def test_a_column_may_be_called_as_a_statement_begins(name: str) -> None:
    schema = Schema([Field(name, "string", id=1)])
    assert parse_filter(f"{name} = 'x'", schema) == parse_filter(f"`{name}` = 'x'", schema)
    assert parse_filter(f"{name} is null", schema) == parse_filter(f"(`{name}` is null)", schema)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("small =", "'=' at line 1, column 7"),
        ("small = 1)", "'\\)' at line 1, column 10"),
        ("(small = 1", "line 1, column 10"),
        ("small = 1 and", "'and' at line 1"),
        ("word = 'a", "a quote without end"),
        ("small ! = 1", "'!'"),
        ("small = 1 as x", "'as' at line 1, column 12"),
        ("select small", "'select' at line 1, column 6"),
    ],
)
def test_malformed_words_are_refused_with_their_place(text: str, found: str) -> None:
    with pytest.raises(Invalid, match=f"can't be read.*{found}"):
        parse_filter(text, SCHEMA)


@pytest.mark.parametrize("text", ["", "  ", "-- only", "small = 1; small = 2"])
def test_a_filter_is_one_condition(text: str) -> None:
    with pytest.raises(Invalid, match="one condition"):
        parse_filter(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "small = 'a'",
        "small = true",
        "small = X'00'",
        "small = DATE '2026-01-01'",
        "small = '١٧'",
        "small = '1e99999'",
        "small = 1e9999",
        f"small = {'1' * 401}",
        "small = 'NaN'",
        "share = 1e400",
        "share = -1e400",
        "flag = 1",
        "flag = 'true'",
        "word = 1",
        "word = '\ud800'",
        "word = DATE '2026-01-01'",
        "blob = 'a'",
        "blob = X'0'",
        "price = 'NaN'",
        "day = '2026-02-30'",
        "day = '2026-1-1'",
        "day = '2026-01-01 00:00:00'",
        "day = 20000",
        "day = TIMESTAMP '2026-01-01 00:00:00'",
        "local = '2026-01-01 00:00:00Z'",
        "local = '2026-01-01 00:00:00+01:00'",
        "local = '2026-01-01 24:00:00'",
        "instant = '2026-01-01 00:00:00.0000001'",
        "instant = '2026-01-01 00:00:00 Europe/Berlin'",
        "instant = '2026-01-01 00:60:00'",
        "instant = 0",
        "instant = DATE '2026-01-01 00:00:00'",
    ],
)
def test_a_literal_that_is_no_value_of_the_column_is_refused(text: str) -> None:
    name = text.split()[0]
    with pytest.raises(
        Invalid, match=f"column '{name}' of type {FIELD[name].type}".replace("(", "\\(").replace(")", "\\)")
    ):
        parse_filter(text, SCHEMA)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(Invalid, match="no such column"):
        parse_filter("smell = 1", SCHEMA)


def test_only_a_boolean_column_is_a_condition() -> None:
    with pytest.raises(Invalid, match="only if it is boolean"):
        parse_filter("small or flag", SCHEMA)


@pytest.mark.parametrize("text", ["address.city = 'a'", "address is null", "tags is not null"])
def test_nested_columns_are_refused(text: str) -> None:
    schema = with_ids(Schema({"address": "struct<city: string>", "tags": "list<string>"}), 1, 1)
    with pytest.raises(Invalid, match="Filter the DataFrame"):
        parse_filter(text, schema)


def test_a_filter_has_to_be_text() -> None:
    with pytest.raises(Invalid, match="expected str"):
        parse_filter(17, SCHEMA)  # type: ignore[arg-type]


def test_long_chains_are_refused_and_long_lists_are_not() -> None:
    with pytest.raises(TooLarge, match="too many terms"):
        parse_filter(" or ".join(f"small = {at}" for at in range(TERMS + 1)), SCHEMA)
    chain = parse_filter(" and ".join(f"small != {at}" for at in range(TERMS)), SCHEMA)
    assert isinstance(chain, And)
    assert len(chain.parts) == TERMS
    listed = parse_filter(f"small in ({', '.join(map(str, range(5000)))})", SCHEMA)
    assert listed == OneOf(FIELD["small"], tuple(range(5000)))


@pytest.mark.parametrize("text", ["(" * 5000 + "flag" + ")" * 5000, "not " * 50_000 + "flag", "(" * 100_000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_filter(text, SCHEMA)
