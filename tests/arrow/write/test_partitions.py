"""Rows cut by partitions and sorted."""

import math
from collections import defaultdict

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.arrow.types import file_schema
from lakebed.arrow.write.partitions import parts_of
from lakebed.table.partition.sort_order import UNSORTED, make_sort_order
from lakebed.table.partition.spec import UNPARTITIONED, make_spec
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(
    Schema({"n": "long", "x": "double", "word": "string", "day": "date", "in": "struct<a: int, b: string>"}), 1, 1
)
NAN = math.nan

rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "x": st.sampled_from([0.0, -0.0, NAN, math.inf, 1.5, None]),
            "word": st.sampled_from(["", "a", "ab", "é", None]),
            "day": st.integers(-40, 40) | st.none(),
            "in": st.none() | st.fixed_dictionaries({"a": st.sampled_from([1, 2, None]), "b": st.none()}),
        }
    ),
    max_size=30,
).map(lambda rows: [{"n": at, **row} for at, row in enumerate(rows)])


def table_of(rows, chunk=7):
    whole = pyarrow.Table.from_pylist(rows, file_schema(SCHEMA))
    return pyarrow.Table.from_batches(whole.to_batches(chunk), whole.schema)


def cut(rows, partition_by=(), sort_by=()):
    spec = make_spec(SCHEMA, partition_by, spec_id=1)
    parts = parts_of(table_of(rows), SCHEMA, spec, make_sort_order(SCHEMA, sort_by, order_id=1))
    return [(part.values, part.rows.column("n").to_pylist()) for part in parts]


def seen(value):
    """What tells two values apart: zeros by their sign, and NaN is itself."""
    return repr(value)


@settings(deadline=None)
@given(rows_of)
def test_every_partition_has_its_rows_in_their_order(rows):
    expected = defaultdict(list)
    for row in rows:
        inner = (row["in"] or {}).get("a")
        prefix = None if row["word"] is None else row["word"][:1]
        expected[seen(row["x"]), seen(prefix), seen(inner)].append(row["n"])
    found = {tuple(map(seen, values)): numbers for values, numbers in cut(rows, ["x", "truncate(1, word)", "in.a"])}
    assert found == expected
    assert list(found) == list(expected)  # in the order of their first rows


@settings(deadline=None)
@given(rows_of, st.sampled_from(["asc", "desc"]), st.sampled_from(["first", "last"]))
def test_rows_are_sorted_with_nulls_and_nan_in_their_place(rows, direction, nulls):
    def place(row):
        value, down = row["x"], direction == "desc"
        if value is None:
            return (nulls == "last") * 2 - 1, 0
        rank = (1, 0.0) if math.isnan(value) else (0, value)
        return 0, tuple(-one for one in rank) if down else rank

    expected = [row["n"] for row in sorted(rows, key=lambda row: (place(row)[0], place(row)[1] or (0, 0.0)))]
    found = cut(rows, (), [f"x {direction} nulls {nulls}"])
    assert found == ([((), expected)] if rows else [])


@settings(deadline=None)
@given(rows_of)
def test_rows_are_sorted_inside_their_partitions_by_transforms_too(rows):
    expected = defaultdict(list)
    for row in rows:
        expected[row["word"]].append(row["day"])
    spec = make_spec(SCHEMA, ["word"], spec_id=1)
    order = make_sort_order(SCHEMA, ["year(day) desc", "day desc"], order_id=1)
    for part in parts_of(table_of(rows), SCHEMA, spec, order):
        days = part.rows.column("day").cast(pyarrow.int32()).to_pylist()
        known = [day for day in days if day is not None]
        assert known == sorted(known, reverse=True)
        assert days == known + [None] * (len(days) - len(known))
        assert sorted(known) == sorted(day for day in expected[part.values[0]] if day is not None)


def test_equal_transforms_keep_the_order_of_rows():
    days = [3, -1, 5, None, 400, 2]
    rows = [{"n": at, "day": day} for at, day in enumerate(days)]
    assert cut(rows, (), ["year(day)"]) == [((), [3, 1, 0, 2, 5, 4])]
    assert cut(rows, (), ["year(day) desc"]) == [((), [4, 0, 2, 5, 1, 3])]


def test_rows_that_lie_together_are_not_copied():
    rows = [{"n": at, "word": "ab"[at // 5]} for at in range(10)]
    table = table_of(rows, chunk=100)
    parts = list(parts_of(table, SCHEMA, make_spec(SCHEMA, ["word"], spec_id=1), UNSORTED))
    assert [part.values for part in parts] == [("a",), ("b",)]
    place = table.column("n").chunk(0).buffers()[1].address
    assert [part.rows.column("n").chunk(0).buffers()[1].address for part in parts] == [place, place]


def test_no_rows_make_no_part():
    assert cut([], ["word"], ["n"]) == []


@pytest.mark.parametrize("count", [1, 1000])
def test_no_fields_make_one_part(count):
    [part] = parts_of(table_of([{"n": at} for at in range(count)]), SCHEMA, UNPARTITIONED, UNSORTED)
    assert (part.values, part.rows.num_rows) == ((), count)


def test_many_fields_of_many_values_never_run_out_of_numbers():
    schema = with_ids(Schema(dict.fromkeys("abcdefgh", "long")), 1, 1)
    columns = {name: [(at * 7919 * (place + 1)) % 4001 for at in range(4000)] for place, name in enumerate("abcdefgh")}
    table = pyarrow.table(columns, file_schema(schema))
    spec = make_spec(schema, list("abcdefgh"), spec_id=1)
    parts = list(parts_of(table, schema, spec, UNSORTED))
    assert [part.values for part in parts] == list(zip(*columns.values(), strict=True))
