"""A column of bounds has the values that its bytes have one by one, wherever they lie in Arrow's buffers."""

import operator
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.filter.filter import Operator
from lakebed.table.plan.pruning import is_within
from lakebed.table.statistics.bound_arrays import Texts, bounds_of, whole_numbers, within_any
from lakebed.table.types.types import parse_type
from lakebed.table.types.values import decode_bound, encode_bound, scaled

pytestmark = pytest.mark.sampled(2)

HOLDS = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def of_digits(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**precision) + 1, 10**precision - 1).map(lambda one: scaled(one, scale))


INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)

# By the column's type: the type that bounds are written in, and their values.
WRITTEN: dict[str, list[tuple[str, st.SearchStrategy[Any]]]] = {
    "boolean": [("boolean", st.booleans())],
    "int": [("int", INT32)],
    "long": [("long", INT64), ("int", INT32)],
    "float": [("float", st.floats(width=32))],
    "double": [("double", st.floats()), ("float", st.floats(width=32))],
    "timestamptz_ns": [("timestamptz_ns", INT64)],
    "string": [("string", st.text(max_size=12))],
    "binary": [("binary", st.binary(max_size=12))],
    "uuid": [("uuid", st.binary(min_size=16, max_size=16))],
    "decimal(18, 2)": [("decimal(18, 2)", of_digits(18, 2)), ("decimal(18, 2)", of_digits(2, 2))],
    "decimal(38, 2)": [("decimal(38, 2)", of_digits(38, 2)), ("decimal(38, 2)", of_digits(3, 2))],
}


@st.composite
def columns(draw: st.DrawFn, type: str) -> pyarrow.Array:
    """A binary array with nulls, perhaps a part of a longer one."""
    values = st.one_of([value.map(lambda one, of=of: encode_bound(parse_type(of), one)) for of, value in WRITTEN[type]])
    some = draw(st.lists(draw(st.sampled_from([values, st.none() | values])), max_size=8))
    start, end = draw(st.integers(0, len(some))), draw(st.integers(0, len(some)))
    wide = draw(st.sampled_from([pyarrow.binary(), pyarrow.large_binary()]))
    return pyarrow.array(some, wide)[min(start, end) : max(start, end)]


def plain(type: str, data: bytes | None) -> Any:
    value = None if data is None else decode_bound(parse_type(type), data)
    return None if value != value else value


@pytest.mark.parametrize("type", WRITTEN)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_bounds_compare_as_their_values_do(type: str, data: st.DataObject) -> None:
    column = data.draw(columns(type))
    bounds = bounds_of(parse_type(type), column)
    assert bounds is not None
    values = [plain(type, one) for one in column.to_pylist()]
    asked = [one for one in values if one is not None]
    others = WRITTEN[type][0][1].filter(lambda one: one == one)
    value = data.draw(st.sampled_from(asked) | others if asked else others)
    for sign, holds in HOLDS.items():
        expected = [one is not None and holds(one, value) for one in values]
        assert bounds.holds(sign, value).tolist() == expected
        assert bounds.may_hold(sign, value).tolist() == [
            one is None or held for one, held in zip(values, expected, strict=True)
        ]


@pytest.mark.parametrize("type", WRITTEN)
@settings(deadline=None, max_examples=30)
@given(st.data())
def test_values_are_within_bounds_as_one_by_one(type: str, data: st.DataObject) -> None:
    column, other = data.draw(columns(type)), data.draw(columns(type))
    count = min(len(column), len(other))
    lower, upper = bounds_of(parse_type(type), column[:count]), bounds_of(parse_type(type), other[:count])
    assert lower is not None
    assert upper is not None
    values = data.draw(st.lists(WRITTEN[type][0][1].filter(lambda one: one == one), min_size=1, max_size=5))
    pairs = zip(column[:count].to_pylist(), other[:count].to_pylist(), strict=True)
    expected = [any(is_within(one, plain(type, low), plain(type, high)) for one in values) for low, high in pairs]
    assert within_any(values, lower, upper).tolist() == expected


def test_lone_surrogates_of_a_filter_are_ordered_by_code_points() -> None:
    words = ["\ud7ff", "\ue000", "\U00010000"]
    bounds = bounds_of(parse_type("string"), pyarrow.array([one.encode() for one in words], pyarrow.binary()))
    assert isinstance(bounds, Texts)
    assert bounds.holds(Operator.LESS, "\ud800").tolist() == [one < "\ud800" for one in words]


def test_types_without_order_have_no_bounds() -> None:
    assert bounds_of(parse_type("list<int>"), pyarrow.nulls(3, pyarrow.binary())) is None


@given(st.lists(st.none() | INT64.map(lambda one: one.to_bytes(8, "little", signed=True)), max_size=6))
def test_bytes_of_one_width_are_whole_numbers(data: list[bytes | None]) -> None:
    found = whole_numbers(pyarrow.array(data, pyarrow.binary()))
    numbers = [None if one is None else int.from_bytes(one, "little", signed=True) for one in data]
    assert (numbers if any(one is not None for one in data) else None) == (None if found is None else found.to_pylist())
    assert whole_numbers(pyarrow.array([*data, b"1234", b"12345678"], pyarrow.binary())) is None
