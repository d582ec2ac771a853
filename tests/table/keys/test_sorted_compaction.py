"""Which files are sorted anew: those that lie across others in the order's first field, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.keys.compaction import OLDER_SPEC, choose_by_order
from lakebed.table.keys.levels import ALL_KEYS, Placed
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import LONG, Field
from lakebed.table.types.values import encode_bound

TARGET = 100
SCHEMA = Schema([Field("x", LONG, id=1, physical_name="x")])


def told(statistics, ends, nulls, rows):
    known = {"lower": encode_bound(LONG, ends[0]), "upper": encode_bound(LONG, ends[1])} if ends else {}
    statistics.add(field_id=1, value_count=rows, null_count=nulls, **known)


def file(name, *ends, size=90, partition="p", nulls=0, rows=10, blocks=(), deleted=0):
    """A file with values from the first end to the last."""
    entry = DataFileRef(path=name, file_size=size, num_rows=rows)
    told(entry.statistics, ends, nulls, rows)
    for one in blocks:
        told(entry.blocks.add(num_rows=5).columns, one, 0, 5)
    if deleted:
        entry.dv_path, entry.deleted_rows = "vector", deleted
    return Placed(entry, partition, ALL_KEYS, 0)


def chosen(*files, by="x"):
    groups = choose_by_order(files, make_sort_order(SCHEMA, [by], order_id=1), SCHEMA, TARGET)
    return [sorted(one.path for one in group.files) for group in groups]


def test_files_that_have_values_in_common_go_together():
    assert chosen(file("a", 0, 5), file("b", 10, 20), file("c", 4, 7)) == [["a", "c"]]


def test_files_that_only_touch_are_in_order():
    assert chosen(file("a", 0, 5), file("b", 5, 5), file("c", 5, 5), file("d", 5, 9)) == []


def test_a_file_that_lies_across_several_takes_them_all():
    assert chosen(file("a", 0, 3), file("b", 3, 6), file("c", 7, 9), file("over", 1, 8)) == [["a", "b", "c", "over"]]


def test_partitions_are_apart_and_files_of_an_older_spec_are_due():
    assert chosen(file("a", 0, 5), file("b", 0, 5, partition="q")) == []
    assert chosen(file("a", 0, 5, partition=OLDER_SPEC)) == [["a"]]


def test_small_neighbours_and_deleted_rows_are_taken_though_they_are_in_order():
    assert chosen(file("a", 0, 5, size=10), file("b", 6, 9, size=10)) == [["a", "b"]]
    assert chosen(file("a", 0, 5, size=10), file("between", 5, 6), file("b", 6, 9, size=10)) == []
    assert chosen(file("a", 0, 5, deleted=1)) == [["a"]]


@pytest.mark.parametrize(
    ("by", "blocks", "taken"),
    [
        ("x", [(0, 3), (3, 9)], []),
        ("x", [(3, 9), (0, 3)], [["a"]]),
        ("x desc", [(3, 9), (0, 3)], []),
        ("x desc", [(0, 3), (3, 9)], [["a"]]),
        ("x", [(0, 5), (4, 9)], [["a"]]),
    ],
)
def test_a_file_whose_row_groups_are_out_of_order_is_due(by, blocks, taken):
    assert chosen(file("a", 0, 9, blocks=blocks), by=by) == taken


@pytest.mark.parametrize(
    ("by", "apart"), [("x", True), ("x nulls last", False), ("x desc", True), ("x desc nulls first", False)]
)
def test_nulls_lie_where_the_order_has_them(by, apart):
    """Below the least value, where they are first of what ascends or last of what descends."""
    low, high = file("low", 0, 5, nulls=1), file("high", 6, 9)
    assert chosen(low, high, by=by) == ([] if apart else [["high", "low"]])
    assert chosen(file("none", nulls=10), file("low", 0, 5), by=by) == []


def test_a_transform_is_what_is_compared():
    files = [file("a", 0, 14), file("b", 12, 25)]
    assert chosen(*files) == [["a", "b"]]
    assert chosen(*files, by="truncate(10, x)") == []
    assert chosen(*files, by="bucket(4, x)") == [["a", "b"]]


def test_files_of_which_nothing_is_known_are_taken():
    assert chosen(file("a"), file("b", 0, 1)) == [["a", "b"]]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=12))
def test_what_is_left_is_in_order_and_what_is_taken_apart_from_it(spans):
    files = [file(str(place), low, low + more) for place, (low, more) in enumerate(spans)]
    groups = chosen(*files)
    place = {name: number for number, group in enumerate(groups) for name in group}
    for number, (low, more) in enumerate(spans):
        for other, (there, length) in enumerate(spans[:number]):
            if max(low, there) < min(low + more, there + length):
                assert place[str(number)] == place[str(other)]
