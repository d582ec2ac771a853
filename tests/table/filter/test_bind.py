"""What a filter in words means, and what it may not say."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid, TooLarge
from lakebed.table.filter.bind import TERMS, parse_filter
from lakebed.table.filter.filter import (
    ALWAYS,
    NEVER,
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
from lakebed.table.filter.like import Pattern, Wildcard
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field
from tests.support.brute_force import passes
from tests.support.filters import CONSTANTS, QUOTED_NUMBERS, SCHEMA, condition, rows

ROWS = rows(Random(7), 60)
FIELD = {field.name: field for field in SCHEMA.fields}
OURS = CONSTANTS | {
    name: CONSTANTS[name] + QUOTED_NUMBERS for name in ("small", "big", "ratio", "share", "price", "wide")
}


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_filter_keeps_the_rows_that_its_words_are_true_of(random: Random) -> None:
    asked = condition(random, OURS, depth=3)
    bound = parse_filter(asked.text, SCHEMA)
    assert [passes(bound, row) for row in ROWS] == asked.kept(ROWS), asked.text


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_values_are_of_the_columns_own_type(random: Random) -> None:
    kinds: dict[str, type] = {"boolean": bool, "string": str, "float": float, "double": float}
    kinds |= dict.fromkeys(("binary", "uuid", "fixed(3)"), bytes)
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
        ("word like 'a%'", Like(FIELD["word"], Pattern(("a", Wildcard.ANY)))),
        ("word like 'a%%_%'", Like(FIELD["word"], Pattern(("a", Wildcard.ONE, Wildcard.ANY)))),
        ("word like 'a_' and true", Like(FIELD["word"], Pattern(("a", Wildcard.ONE)))),
        ("word not like '%a'", NotLike(FIELD["word"], Pattern((Wildcard.ANY, "a")))),
        ("not word like '%a'", NotLike(FIELD["word"], Pattern((Wildcard.ANY, "a")))),
        ("not word not like '%a'", Like(FIELD["word"], Pattern((Wildcard.ANY, "a")))),
        ("word like 'a!%%' escape '!'", Like(FIELD["word"], Pattern(("a%", Wildcard.ANY)))),
        ("word not like 'a!%%' escape '!'", NotLike(FIELD["word"], Pattern(("a%", Wildcard.ANY)))),
        (r"word like 'a\%%'", Like(FIELD["word"], Pattern(("a%", Wildcard.ANY)))),
        (r"word like 'a\\%%'", Like(FIELD["word"], Pattern(("a%", Wildcard.ANY)))),
        ("word like 'ab'", Comparison(FIELD["word"], Operator.EQUAL, "ab")),
        ("word like ''", Comparison(FIELD["word"], Operator.EQUAL, "")),
        (r"word not like 'a\_'", Comparison(FIELD["word"], Operator.NOT_EQUAL, "a_")),
        ("word like '%'", NotNull(FIELD["word"])),
        ("word not like '%%'", NEVER),
        ("isnan(share)", IsNan(FIELD["share"])),
        ("not isnan(share)", Or((IsNull(FIELD["share"]), NotNan(FIELD["share"])))),
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
        "word like any ('a', 'b')",
        "word like all ('a')",
        "word like concat('a', '%')",
        "word like 1",
        "word like null",
        "'a' like word",
        "word like small",
        "isnan(1)",
        "small[0].a = 1",
        "small.f(1) = 1",
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
    with pytest.raises(Invalid, match=r"can't express this.*(IN|IS).*filter the rows by it"):
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
        "instant = '2026-01-01 00:00:00.0000000001'",
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


NESTED = with_ids(
    Schema({"a": "struct<b: int, c: struct<d: string>, `x.y`: int>", "a.b": "struct<c: int>", "l": "list<string>"}),
    1,
    1,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a.b = 1", ("a", "b")),
        ("A.B = 1", ("a", "b")),
        ("1 = (a.b)", ("a", "b")),
        ("a.c.d = 'x'", ("a", "c", "d")),
        ("`a`.`c`.`d` like 'x%'", ("a", "c", "d")),
        ("`a.b`.c = 1", ("a.b", "c")),
        ("a.`x.y` is null", ("a", "x.y")),
        ("a.`x.y` not in (1, 2)", ("a", "x.y")),
    ],
)
def test_a_column_inside_structs_is_named_by_its_way(text: str, names: tuple[str, ...]) -> None:
    [leaf] = leaves(parse_filter(text, NESTED))
    assert leaf.way == NESTED.way(names)
    assert leaf.column == NESTED.field(names[0])


def test_names_of_any_depth_lead_into_structs() -> None:
    schema = with_ids(Schema({"a": "struct<b: struct<c: struct<d: struct<e: struct<f: int>>>>>"}), 1, 1)
    [leaf] = leaves(parse_filter("a.b.c.d.e.f = 1", schema))
    assert [one.name for one in leaf.way] == ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize("text", ["a is null", "a.c is null", "l is not null", "l.element = 'a'", "a = 1"])
def test_whole_structs_and_what_is_in_lists_can_not_be_tested(text: str) -> None:
    with pytest.raises(Invalid, match="filter the rows by it"):
        parse_filter(text, NESTED)


@pytest.mark.parametrize("text", ["b = 1", "a.d = 1", "a.b.c = 1", "`a.c.d` = 'x'", "`a.b` = 1 and c = 1"])
def test_a_way_that_leads_nowhere_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"no such column|can't test this type"):
        parse_filter(text, NESTED)


def test_an_error_names_the_whole_way() -> None:
    with pytest.raises(Invalid, match=r"column 'a\.b' of type int"):
        parse_filter("a.b = 'x'", NESTED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("small like '1%'", "column 'small' of type int"),
        ("blob not like 'a%'", "column 'blob' of type binary"),
        ("isnan(small)", "column 'small' of type int"),
        ("not isnan(word)", "column 'word' of type string"),
        (r"word like 'a\\'", "the end of the pattern"),
        (r"word like 'a\\b'", "stands before a character that needs none"),
        ("word like 'a!b' escape '!'", "stands before a character that needs none"),
        ("word like 'a' escape '!!'", "one character"),
        ("word like 'a' escape ''", "one character"),
    ],
)
def test_a_test_that_a_column_does_not_have_is_refused(text: str, expected: str) -> None:
    with pytest.raises(Invalid, match=expected):
        parse_filter(text, SCHEMA)


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
