"""Sort orders in words, and what is refused."""

import pytest

from lakebed.errors import Invalid
from lakebed.table.partition.sort_order import (
    UNSORTED,
    Direction,
    NullOrder,
    SortField,
    SortOrder,
    make_sort_order,
    order_texts,
    sorted_columns,
)
from lakebed.table.partition.transforms import IDENTITY, Transform
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(Schema({"price": "double", "ordered_at": "timestamptz", "desc": "int", "a desc": "int"}), 1, 1)
UP, DOWN = Direction.ASCENDING, Direction.DESCENDING


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("price", SortField(1, IDENTITY, UP, NullOrder.FIRST)),
        ("price asc", SortField(1, IDENTITY, UP, NullOrder.FIRST)),
        ("PRICE  Desc", SortField(1, IDENTITY, DOWN, NullOrder.LAST)),
        ("price nulls last", SortField(1, IDENTITY, UP, NullOrder.LAST)),
        (" price desc NULLS first ", SortField(1, IDENTITY, DOWN, NullOrder.FIRST)),
        ("day(ordered_at)", SortField(2, Transform("day"), UP, NullOrder.FIRST)),
        ("bucket(8, ordered_at) desc nulls last", SortField(2, Transform("bucket", 8), DOWN, NullOrder.LAST)),
        ("desc", SortField(3, IDENTITY, UP, NullOrder.FIRST)),
        ("desc desc", SortField(3, IDENTITY, DOWN, NullOrder.LAST)),
        ("`a desc`", SortField(4, IDENTITY, UP, NullOrder.FIRST)),
        ("`a desc` desc", SortField(4, IDENTITY, DOWN, NullOrder.LAST)),
    ],
)
def test_an_order_is_read_with_the_usual_place_of_nulls(text, field):
    made = make_sort_order(SCHEMA, [text], order_id=1)
    assert made == SortOrder((field,), 1)
    assert make_sort_order(SCHEMA, order_texts(made, SCHEMA), order_id=1) == made


def test_an_order_is_shown_in_full():
    order = make_sort_order(SCHEMA, ["day(ordered_at)", "price desc"], order_id=3)
    assert order_texts(order, SCHEMA) == ["day(ordered_at) asc nulls first", "price desc nulls last"]
    assert order.source_ids == {1, 2}


def test_no_fields_are_no_order_and_have_its_id():
    assert make_sort_order(SCHEMA, [], order_id=7) is UNSORTED
    assert UNSORTED.id == 0


def test_a_dropped_column_leaves_the_others_in_order():
    order = make_sort_order(SCHEMA, ["price", "ordered_at desc"], order_id=1)
    assert [one.source_id for one, _ in sorted_columns(order, SCHEMA.select(["ordered_at"]))] == [2]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["nope desc"], "'nope': there is no such column"),
        (["hour(price)"], "hour does not apply to this type"),
        (["price up"], "can't be read"),
        (["price nulls"], "can't be read"),
        (["price", "price desc"], "sort order 1: a sort order has a field twice"),
        (["price desc asc"], "can't be read"),
        ([5], "expected text"),
        ("price", "given as a list"),
    ],
)
def test_what_makes_no_order_is_named(texts, problem):
    with pytest.raises(Invalid, match=problem):
        make_sort_order(SCHEMA, texts, order_id=1)


@pytest.mark.parametrize(("fields", "id"), [((), 1), ((SortField(1, IDENTITY),), 0)])
def test_the_id_0_is_for_no_order_alone(fields, id):
    with pytest.raises(Invalid, match="0 for no order"):
        SortOrder(fields, id)
