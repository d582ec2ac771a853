"""Rows by their keys: each once, in order, no key in two groups, and never more in memory than is allowed."""

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.sorted_rows import SortedRows
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.table.keys.encoding import encode_key, key_types
from lakebed.table.keys.ranges import ALL, KeyRange, key_order
from lakebed.table.partition.sort_order import UNSORTED, make_sort_order
from lakebed.table.schema.schema import Schema, with_ids, with_key

SCHEMA = with_key(with_ids(Schema({"a": "long", "b": "string", "x": "string"}), 1, 1), ["a", "b"])
ORDER = key_order(SCHEMA, UNSORTED)

KEYS = st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(["", "a", "a\x00", "b", "é"])), max_size=60)


def table_of(keys, width=1):
    columns = [[key[0] for key in keys], [key[1] for key in keys], [f"{one}" * width for one in range(len(keys))]]
    return pyarrow.table(columns, schema=arrow_schema(SCHEMA))


class Source:
    """Rows in memory, and how often they were asked for."""

    def __init__(self, table, batch_rows=7):
        self.table, self.batch_rows, self.asked = table, batch_rows, []

    def __call__(self, filter, columns):
        self.asked.append((filter, columns))
        found = self.table if filter is None else self.table.filter(filter_mask(filter, self.table))
        return (found if columns is None else found.select(columns)).to_reader(self.batch_rows)


def sorted_rows(source, held, group_rows=10):
    rows = SortedRows(source, SCHEMA, ORDER, held)
    return list(rows.groups(WriteOptions(group_rows=group_rows)))


@given(KEYS, st.integers(1, 2000), st.integers(1, 20))
@settings(max_examples=150)
def test_every_row_comes_once_in_the_order_of_keys(keys, held, group_rows):
    groups = sorted_rows(Source(table_of(keys)), held, group_rows)
    found = [row for group in groups for row in group.rows.to_pylist()]
    assert sorted(map(repr, found)) == sorted(map(repr, table_of(keys).to_pylist()))
    order = [(row["a"], row["b"]) for row in found]
    assert order == sorted(order)
    types = key_types(SCHEMA)
    for place, group in enumerate(groups):
        own = [(row["a"], row["b"]) for row in group.rows.to_pylist()]
        assert (group.key_min, group.key_max) == (encode_key(types, own[0]), encode_key(types, own[-1]))
        assert place == 0 or groups[place - 1].key_max < group.key_min


def test_what_fits_in_memory_is_read_once():
    source = Source(table_of([(one % 7, "x") for one in range(100)]))
    sorted_rows(source, held=1 << 20)
    assert source.asked == [(None, None)]


def test_what_does_not_is_read_range_by_range():
    keys = [(one * 7919 % 1000, "x") for one in range(1000)]
    source = Source(table_of(keys, width=20))
    held = source.table.nbytes // 10
    groups = sorted_rows(source, held, group_rows=1000)
    assert max(group.rows.nbytes for group in groups) <= held
    assert len(groups) >= 10
    assert len(source.asked) < 60


def test_more_rows_of_one_key_than_fit_are_kept_together():
    source = Source(table_of([(5, "x")] * 500 + [(4, "x"), (6, "x")] * 3))
    groups = sorted_rows(source, held=100, group_rows=3)
    assert [group.rows.num_rows for group in groups] == [3, 500, 3]


def test_rows_of_one_key_keep_the_rest_of_the_sort_order():
    order = key_order(SCHEMA, make_sort_order(SCHEMA, ["a", "b", "x desc"], order_id=3))
    rows = SortedRows(Source(table_of([(1, "k"), (0, "k"), (1, "k")])), SCHEMA, order)
    [group] = rows.groups(WriteOptions())
    assert group.rows["x"].to_pylist() == ["1", "2", "0"]


@pytest.mark.parametrize(
    ("terms", "has_levels"),
    [
        ([], True),
        (["a", "b"], True),
        (["a", "b", "x desc"], True),
        (["a"], False),
        (["b", "a"], False),
        (["a desc", "b"], False),
        (["bucket(4, a)", "b"], False),
        (["x"], False),
    ],
)
def test_only_a_sort_order_that_begins_with_the_key_has_levels(terms, has_levels):
    order = make_sort_order(SCHEMA, terms, order_id=5)
    assert (key_order(SCHEMA, order) is not None) is has_levels


def test_a_table_without_a_key_has_no_order_of_keys():
    assert key_order(with_ids(Schema({"a": "long"}), 1, 1), UNSORTED) is None


@given(KEYS, st.sets(st.tuples(st.integers(-3, 3), st.sampled_from(["", "a", "b"])), max_size=3))
def test_a_range_in_pieces_has_every_key_in_one_of_them(keys, cuts):
    table = table_of(keys)
    pieces = list(ALL.cut(sorted(cuts)))
    counts = [Source(table)(piece.filter(SCHEMA), None).read_all().num_rows for piece in pieces]
    assert sum(counts) == len(keys)
    assert KeyRange().filter(SCHEMA) is None
    for piece, count in zip(pieces, counts, strict=True):
        inside = [
            key for key in keys if (piece.low is None or piece.low <= key) and (piece.high is None or key < piece.high)
        ]
        assert count == len(inside)
