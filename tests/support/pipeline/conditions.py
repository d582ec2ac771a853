"""Conditions on rows of the pipelines' model: as Lakebed is given them, and what they mean, told apart from it."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from lakebed.spark.fit import quoted
from lakebed.table.filter.column import Column as TableColumn
from lakebed.table.filter.column import col
from lakebed.table.filter.condition import Condition
from tests.support.pipeline.values import Column, Row, comparable, single

OPERATORS: Final = st.sampled_from(["=", "<>", "<", ">="])


class Where(NamedTuple):
    """A condition, and what it says of a row: True, False or None."""

    condition: Condition
    test: Callable[[Row], bool | None]

    def passes(self, row: Row) -> bool:
        return self.test(row) is True


def wheres(columns: Sequence[Column], prefix: tuple[str, ...] = ()) -> st.SearchStrategy[Where]:
    """Conditions on columns, which a prefix qualifies."""
    return st.recursive(
        st.sampled_from(single(columns)).flatmap(lambda one: _leaves(one, prefix)),
        lambda inner: st.one_of(inner.map(_negated), st.builds(_both, inner, inner), st.builds(_either, inner, inner)),
        max_leaves=3,
    )


def as_given(data: st.DataObject, where: Where | None) -> str | Condition | None:
    """The condition as it is, or as text."""
    if where is None:
        return None
    return str(where.condition) if data.draw(st.booleans(), "as text") else where.condition


def _leaves(column: Column, prefix: tuple[str, ...]) -> st.SearchStrategy[Where]:
    here = col(*prefix, column.name) if prefix else col(quoted(column.name))
    number = column.number
    found = [
        st.builds(lambda operator, value: _compared(here, number, operator, value), OPERATORS, comparable(column)),
        st.lists(comparable(column), min_size=1, max_size=3).map(lambda values: _contained(here, number, values)),
        st.just(Where(here.is_null(), lambda row: row[number] is None)),
    ]
    if column.type in ("float", "double"):
        found.append(
            st.just(Where(here.is_nan(), lambda row: isinstance(row[number], float) and math.isnan(row[number])))
        )
    return st.one_of(found)


def _compared(column: TableColumn, number: int, operator: str, value: Any) -> Where:
    made = {"=": column == value, "<>": column != value, "<": column < value, ">=": column >= value}[operator]

    def test(row: Row) -> bool | None:
        found = row[number]
        if found is None:
            return None
        left, right = _order_of(found), _order_of(value)
        return {"=": left == right, "<>": left != right, "<": left < right, ">=": left >= right}[operator]

    return Where(made, test)


def _order_of(value: Any) -> tuple[int, Any]:
    """A NaN is above all numbers."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def _contained(column: TableColumn, number: int, values: list[Any]) -> Where:
    return Where(column.is_in(values), lambda row: None if row[number] is None else row[number] in values)


def _negated(one: Where) -> Where:
    def test(row: Row) -> bool | None:
        found = one.test(row)
        return None if found is None else not found

    return Where(~one.condition, test)


def _both(left: Where, right: Where) -> Where:
    def test(row: Row) -> bool | None:
        found = {left.test(row), right.test(row)}
        return False if False in found else None if None in found else True

    return Where(left.condition & right.condition, test)


def _either(left: Where, right: Where) -> Where:
    return Where(left.condition | right.condition, _negated(_both(_negated(left), _negated(right))).test)
