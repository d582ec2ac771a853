"""Names as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.catalog.transaction.names import parse_name, shown_name, spelled
from lakebed.errors import Invalid
from lakebed.records.names import normal_name


def is_name(text):
    try:
        return normal_name(text) == text
    except Invalid:
        return False


parts = st.text(st.characters(codec="utf-8") | st.sampled_from(".`' "), min_size=1, max_size=8).filter(is_name)


@given(st.lists(parts, min_size=1, max_size=4).map(tuple))
def test_a_shown_name_is_read_back(name):
    assert parse_name(shown_name(name)) == name
    assert parse_name(name) == name


@pytest.mark.parametrize(
    ("written", "parsed"),
    [
        ("orders", ("orders",)),
        ("sales.eu.Orders", ("sales", "eu", "Orders")),
        (("sales.eu", "orders"), ("sales.eu", "orders")),
        ("gro\u0308\u00dfe", ("gr\u00f6\u00dfe",)),
        ("a b.c", ("a b", "c")),
    ],
)
def test_dots_part_text_and_not_tuples(written, parsed):
    assert parse_name(written) == parsed


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a.", ".a", "a..b", (), ("",), ("a", None), ["a"], None, 1, b"a", "a/b"]
)
def test_what_can_be_no_name_is_refused(bad):
    with pytest.raises(Invalid):
        parse_name(bad)


def test_a_name_in_a_sentence_shows_where_its_parts_end():
    assert spelled(("sales", "orders")) == "sales.orders"
    assert spelled(("sales.eu", "orders")) == "`sales.eu`.orders"
    assert shown_name(("sales.eu", "orders")) == ("sales.eu", "orders")
