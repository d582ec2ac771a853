"""Filters that other engines push down: what is pruned by them is never a row that they keep."""

import datetime
from decimal import Decimal

import pyarrow
import pyarrow.compute as compute
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.expression.pushed import pushed_filter
from lakebed.arrow.expression.tree import Call, Column, Literal, columns_of, tree_of
from lakebed.arrow.types import arrow_schema
from lakebed.table.filter.filter import ALWAYS, NEVER
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(
    Schema(
        {
            "i": "int",
            "l": "long",
            "f": "float",
            "d": "double",
            "s": "string",
            "b": "boolean",
            "n": "decimal(9, 2)",
            "t": "timestamptz",
            "day": "date",
            "st": "struct<x: int>",
        }
    ),
    1,
    1,
)
field = compute.field
NAN = float("nan")
MOMENTS = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 3)]
ROWS = pyarrow.Table.from_pylist(
    [
        {
            "i": i,
            "l": whole,
            "f": f,
            "d": d,
            "s": s,
            "b": b,
            "n": None if i is None else Decimal(i) / 4,
            "t": MOMENTS[place % 3],
            "day": MOMENTS[place % 3].date(),
            "st": None if b is None else {"x": i},
        }
        for place, (i, whole, f, d, s, b) in enumerate(
            [
                (1, 2**40, 0.1, NAN, "a", True),
                (2, -1, 0.5, 1.5, "", False),
                (None, None, None, None, None, None),
                (-3, 0, NAN, -0.0, "text ü", True),
                (7, 7, -1.5, 7.0, "b", False),
            ]
        )
    ],
    arrow_schema(SCHEMA),
)


def test_the_parts_of_an_expression_are_read():
    inner = tree_of((field("i") > 1) & field("st", "x").is_valid())
    assert isinstance(inner, Call) and inner.function == "and_kleene"
    first, second = inner.arguments
    assert first == Call("greater", (Column(("i",)), Literal(pyarrow.scalar(1))), None)
    assert second.arguments == (Column(("st", "x")),)
    assert set(columns_of(inner)) == {"i", "st"}


def test_what_arrow_can_not_write_down_is_not_known():
    assert tree_of(compute.field(0) > 1) is None
    assert pushed_filter(compute.field(0) > 1, SCHEMA).columns is None
    assert pushed_filter(compute.field(0) > 1, SCHEMA).filter == ALWAYS


@pytest.mark.parametrize(
    ("expression", "keeps"),
    [
        (field("i") > 1, 2),
        (field("i") > 1, 2),
        (field("i").isin([1, 9]), 1),
        (field("i").isin([1, None]), 2),
        (field("s") == "text ü", 1),
        (field("n") <= Decimal("0.5"), 3),
        (field("t") >= pyarrow.scalar(MOMENTS[2], pyarrow.timestamp("us", "UTC")), 1),
        (field("day") < MOMENTS[1].date(), 2),
        (field("b"), 2),
        (~field("b"), 2),
        (field("st", "x") == 2, 1),
        (field("i").is_null(), 1),
        (~field("i").is_null() & (field("i") < 0), 1),
        (compute.if_else(field("i").is_valid(), field("i").isin([2]), pyarrow.scalar(None, pyarrow.bool_())), 1),
        (field("d") > 1.4, 3),  # with NaN, and what DuckDB and polars think of it
        (field("i") > pyarrow.scalar(None, pyarrow.int32()), 0),
        (compute.scalar(False), 0),
    ],
    ids=str,
)
def test_what_is_known_is_pruned(expression, keeps):
    found = pushed_filter(expression, SCHEMA).filter
    assert found != ALWAYS
    assert _passing(found).num_rows == keeps


@pytest.mark.parametrize(
    "expression",
    [
        field("i") > 1.5,
        field("i") == 2**40,
        field("f") == 0.1,
        field("i") + 1 > field("l"),
        field("i").cast(pyarrow.string()) == "1",
        field("I") > 1,
        field("nothing") == 1,
        compute.match_substring(field("s"), "x"),
        ~field("i").isin([1]),
        field("d") == NAN,
        field("i").is_null(nan_is_null=True),
    ],
    ids=str,
)
def test_what_is_not_known_prunes_nothing(expression):
    assert pushed_filter(expression, SCHEMA).filter == ALWAYS


def _passing(filter):
    return (
        ROWS
        if filter == ALWAYS
        else ROWS.slice(0, 0)
        if filter == NEVER
        else ROWS.filter(filter_mask(filter, ROWS, _name))
    )


def _name(of):
    return of.name


OPERATORS = [compute.equal, compute.not_equal, compute.less, compute.less_equal, compute.greater, compute.greater_equal]


def _compared(name, values):
    literal = st.sampled_from(values).map(compute.scalar)
    column = st.just(field(name))
    pairs = st.one_of(st.tuples(column, literal), st.tuples(literal, column))
    return st.builds(lambda operator, pair: operator(*pair), st.sampled_from(OPERATORS), pairs)


LEAVES = st.one_of(
    _compared("i", [pyarrow.scalar(value, pyarrow.int64()) for value in (-3, 1, 2, 5, None)]),
    _compared("l", [-1, 0, 7, 2**40]),
    _compared("d", [0.0, 1.5, 7.0, NAN]),
    _compared("f", [0.5, 0.1, -1.5]),
    _compared("s", ["", "a", "text ü", "zz"]),
    st.sampled_from(["i", "s", "b", "d"]).map(lambda name: field(name).is_null()),
    st.sampled_from(["i", "s", "b", "d"]).map(lambda name: field(name).is_valid()),
    st.lists(st.sampled_from([1, 2, None, 9]), max_size=3).map(
        lambda values: field("i").isin(pyarrow.array(values, pyarrow.int32()))
    ),
    st.just(field("b")),
    st.sampled_from([True, False, None]).map(lambda value: compute.scalar(pyarrow.scalar(value, pyarrow.bool_()))),
    st.just(field("l") + 1 > field("i")),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        inner.map(lambda one: ~one),
        st.builds(compute.if_else, inner, inner, inner),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_no_row_that_an_expression_keeps_is_pruned(expression):
    kept = ROWS.append_column("place", pyarrow.array(range(ROWS.num_rows))).filter(expression)["place"].to_pylist()
    pruned = ROWS.append_column("place", pyarrow.array(range(ROWS.num_rows)))
    filter = pushed_filter(expression, SCHEMA).filter
    if filter == NEVER:
        assert kept == []
    elif filter != ALWAYS:
        assert set(kept) <= set(pruned.filter(filter_mask(filter, pruned, _name))["place"].to_pylist())


@given(EXPRESSIONS)
def test_rows_are_tested_as_arrow_tests_them(expression):
    numbered = ROWS.append_column("place", pyarrow.array(range(ROWS.num_rows)))
    [batch] = numbered.combine_chunks().to_batches()
    mask = pushed_filter(expression, SCHEMA).test.mask(batch)
    assert mask.null_count == 0
    assert numbered.filter(mask)["place"].to_pylist() == numbered.filter(expression)["place"].to_pylist()


@pytest.mark.parametrize(
    ("expression", "is_plain"),
    [
        (field("l") < 7, True),
        ((field("s") >= "a") & ~(field("l") == 0) | field("b"), True),
        (field("i").is_valid() & (field("d") > 1.0), True),
        (field("i") < 7, False),  # an int and a long: Arrow decides what is cast
        (field("l") + 1 > field("i"), False),
    ],
    ids=str,
)
def test_plain_comparisons_are_not_worth_a_plan(expression, is_plain, monkeypatch):
    monkeypatch.setattr(
        "lakebed.arrow.expression.pushed._by_plan", lambda _, rows: pyarrow.nulls(rows.num_rows, pyarrow.bool_())
    )
    [batch] = ROWS.combine_chunks().to_batches()
    assert bool(pushed_filter(expression, SCHEMA).test.mask(batch).true_count) == is_plain
