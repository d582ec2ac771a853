"""Conditions as values: their words and their Python are read as them again."""

import datetime
import pickle
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.filter.bind import bind
from lakebed.table.filter.column import col
from lakebed.table.filter.condition import AllOf, AnyOf, Condition, Flag, Not
from lakebed.table.filter.literals import Kind, Literal
from lakebed.table.filter.parse import parse_condition
from tests.support.filters import SCHEMA, condition

WORLD = {
    "col": col,
    "Decimal": Decimal,
    "datetime": datetime,
    "Kind": Kind,
    "Literal": Literal,
    "AllOf": AllOf,
    "AnyOf": AnyOf,
}
NAMES = st.text(st.characters(exclude_categories=("Cc", "Cn", "Cs")), min_size=1, max_size=6)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
VALUES = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.binary(max_size=12),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.uuids(),
)


@st.composite
def terms(draw: st.DrawFn) -> Condition:
    column = col(*draw(st.lists(NAMES, min_size=2, max_size=3)))
    make = draw(st.integers(0, 8))
    match make:
        case 0:
            return column == draw(VALUES)
        case 1:
            return draw(st.sampled_from([column != 1, column < 1, column <= 1, column > 1, column >= 1]))
        case 2:
            return column.is_in(draw(st.lists(VALUES, max_size=3)))
        case 3:
            return column.between(draw(VALUES), draw(VALUES))
        case 4:
            return draw(st.sampled_from([column.is_null(), column.is_not_null(), column.is_nan()]))
        case 5:
            return column.starts_with(draw(TEXTS))
        case 6:
            return column.like(draw(TEXTS).replace("\x01", ""), escape="\x01")
        case _:
            return column & column


CONDITIONS = st.recursive(
    terms(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=5,
)


@settings(deadline=None)
@given(CONDITIONS)
def test_the_words_of_a_condition_are_read_as_it_again(made: Condition) -> None:
    assert parse_condition(str(made)) == made
    assert hash(parse_condition(str(made))) == hash(made)


@settings(deadline=None)
@given(CONDITIONS)
def test_the_python_of_a_condition_makes_it_again(made: Condition) -> None:
    assert eval(repr(made), WORLD) == made
    assert pickle.loads(pickle.dumps(made)) == made


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_words_mean_the_same_however_they_are_written(random: Random) -> None:
    asked = condition(random, depth=3).text
    parsed = parse_condition(asked)
    assert parse_condition(str(parsed)) == parsed, asked
    assert bind(str(parsed), SCHEMA) == bind(asked, SCHEMA) == bind(parsed, SCHEMA)
    assert bind(eval(repr(parsed), WORLD), SCHEMA) == bind(asked, SCHEMA)


@pytest.mark.parametrize(
    ("made", "words", "python"),
    [
        (col("price") > 10, "`price` > 10", "col('price') > 10"),
        (col("a", "b") == "it's", "`a`.`b` = 'it\\'s'", "col('a', 'b') == \"it's\""),
        (col("a.b") != 0.1, "`a`.`b` != 0.1", "col('a', 'b') != 0.1"),
        (col("`a.b`") <= Decimal("2.50"), "`a.b` <= 2.50", "col('`a.b`') <= Decimal('2.50')"),
        (col("a").is_in([1, 2]), "`a` IN (1, 2)", "col('a').is_in([1, 2])"),
        (col("a").is_in([]), "false", "AnyOf(())"),
        (col("a").is_not_null(), "`a` IS NOT NULL", "col('a').is_not_null()"),
        (col("a").starts_with("x_"), "`a` LIKE 'x\\\\_%'", "col('a').starts_with('x_')"),
        (~col("a").like("x%y"), "NOT (`a` LIKE 'x%y')", "~(col('a').like('x%y'))"),
        (col("a") & ~col("b"), "`a` AND NOT (`b`)", "(col('a')) & (~(col('b')))"),
        (
            (col("a") == 1) | (col("b") == b"\x00") & (col("c") < datetime.date(2026, 1, 31)),
            "`a` = 1 OR (`b` = X'00' AND `c` < DATE '2026-01-31')",
            "(col('a') == 1) | ((col('b') == b'\\x00') & (col('c') < datetime.date(2026, 1, 31)))",
        ),
    ],
)
def test_how_conditions_are_shown(made: Condition, words: str, python: str) -> None:
    assert str(made) == words
    assert repr(made) == python


def test_layers_of_one_kind_become_one() -> None:
    one, two, three = (col("a") == at for at in range(3))
    assert (one & two) & three == one & (two & three) == AllOf((one, two, three))
    assert (one | two) | three == one | (two | three) == AnyOf((one, two, three))
    assert ~~one == one
    assert ~(one & two) == Not(AllOf((one, two)))


def test_a_boolean_column_is_a_condition_among_others() -> None:
    assert col("a") & col("b") == AllOf((Flag(("a",)), Flag(("b",))))
    assert ~col("a") == Not(Flag(("a",)))
    assert bind(col("flag"), SCHEMA) == bind("flag", SCHEMA)
    assert bind(~col("flag"), SCHEMA) == bind("not flag", SCHEMA)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: bool(col("a") == 1),
        lambda: (col("a") == 1) and (col("b") == 2),
        lambda: (col("a") == 1) or (col("b") == 2),
        lambda: not col("a").is_null(),
        lambda: 1 < col("a") < 5,
        lambda: col("a") in [1, 2],
        lambda: bool(col("flag")),
    ],
)
def test_a_condition_is_no_truth_value(misuse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Invalid, match="Combine conditions by"):
        misuse()


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: col("a") > 1 & col("b"),
        lambda: (col("a") > 1) & True,
        lambda: 1 | (col("a") > 1),
        lambda: (col("a") > 1) | "b > 2",
    ],
)
def test_only_conditions_are_joined(misuse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Invalid, match="in parentheses"):
        misuse()


@pytest.mark.parametrize(
    "text", ["a = null", "a in (1, null)", "a = DATE '2026-02-30'", "a > TIMESTAMP '2026-01-01T00:00'", "a = 1e999"]
)
def test_words_that_python_has_no_value_for_are_shown_all_the_same(text: str) -> None:
    parsed = parse_condition(text)
    assert "Literal(Kind." in repr(parsed)
    assert eval(repr(parsed), WORLD) == parse_condition(str(parsed)) == parsed
