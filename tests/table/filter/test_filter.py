"""Filters as values."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.filter.filter import (
    ALWAYS,
    NEVER,
    And,
    IsNull,
    NotNull,
    Operator,
    Or,
    all_of,
    any_of,
    fields_of,
)
from lakebed.table.types.types import INT, Field, Struct

A, B = Field("a", INT, id=1), Field("b", INT, id=2)
MEANING = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


@given(st.sampled_from(Operator), st.integers(0, 3), st.integers(0, 3))
def test_operators_are_negated_and_mirrored(one: Operator, left: int, right: int) -> None:
    assert MEANING[one.negated](left, right) != MEANING[one](left, right)
    assert MEANING[one.mirrored](right, left) == MEANING[one](left, right)


def test_layers_of_one_kind_become_one() -> None:
    assert all_of([IsNull(A), And((IsNull(B), NotNull(A)))]) == And((IsNull(A), IsNull(B), NotNull(A)))
    assert any_of([Or((IsNull(A), IsNull(B))), NotNull(A)]) == Or((IsNull(A), IsNull(B), NotNull(A)))
    assert all_of([Or((IsNull(A), IsNull(B))), NotNull(A)]) == And((Or((IsNull(A), IsNull(B))), NotNull(A)))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (all_of([]), ALWAYS),
        (any_of([]), NEVER),
        (all_of([IsNull(A)]), IsNull(A)),
        (all_of([ALWAYS, IsNull(A)]), IsNull(A)),
        (all_of([NEVER, IsNull(A)]), NEVER),
        (any_of([ALWAYS, IsNull(A)]), ALWAYS),
        (any_of([NEVER, IsNull(A)]), IsNull(A)),
    ],
)
def test_what_is_always_or_never_true_is_left_out_or_decides(made: object, expected: object) -> None:
    assert made == expected


def test_a_filter_lists_each_of_its_columns_once() -> None:
    assert fields_of(And((IsNull(B), Or((IsNull(A), NotNull(B)))))) == (B, A)
    assert fields_of(ALWAYS) == ()


def test_a_column_inside_structs_is_read_with_the_column_that_has_it() -> None:
    inner, outer = Struct((A, B)), Field("s", Struct((A, B)), id=3)
    whole = Field("t", Struct((Field("s", inner, id=3),)), id=4)
    deep = IsNull(A, inside=(whole, outer))
    assert deep.way == (whole, outer, A)
    assert deep.column == whole
    assert fields_of(And((deep, NotNull(B, inside=(whole, outer)), IsNull(A)))) == (whole, A)
    assert deep != IsNull(A)
