"""Row groups: what the entry of a file says of each, and which of them a filter leaves."""

import io
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Comparison, IsNan, IsNull, Operator, Or
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.pruning import may_match, row_group_entry, row_group_matches
from lakebed.table.schema.evolution import add_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.values import decode_bound, scaled

SCHEMA = with_ids(Schema({"n": "long", "s": "string", "x": "double", "d": "decimal(9, 2)"}), 1, 1)
N, S, X, D = SCHEMA.fields


def entry(table: pa.Table, group: int, **options: object) -> tuple[DataFileRef, bytes]:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=group, store_decimal_as_integer=True, **options)
    metadata = pq.ParquetFile(sink).metadata
    return data_file(metadata, SCHEMA, path="data/a.parquet", size=len(sink.getvalue())), sink.getvalue()


def table_of(numbers: list[int | None], texts: list[str | None] | None = None) -> pa.Table:
    texts = texts if texts is not None else [None if one is None else f"t{one}" for one in numbers]
    floats = [None if one is None else float(one) for one in numbers]
    decimals = [None if one is None else scaled(one, 2) for one in numbers]
    types = {"n": pa.int64(), "s": pa.string(), "x": pa.float64(), "d": pa.decimal128(9, 2)}
    columns = zip(types.values(), (numbers, texts, floats, decimals), strict=True)
    return pa.table(dict(zip(types, [pa.array(values, type) for type, values in columns], strict=True)))


def test_each_row_group_of_several_is_a_block() -> None:
    file, data = entry(table_of([1, 2, 3, None, 5]), 2)
    assert [block.num_rows for block in file.blocks] == [2, 2, 1]
    assert [[one.field_id for one in block.columns] for block in file.blocks] == [[1, 2, 3, 4]] * 3
    known = [block.columns[0] for block in file.blocks]
    assert [(one.value_count, one.null_count) for one in known] == [(2, 0), (2, 1), (1, 0)]
    assert [(decode_bound(N.type, one.lower), decode_bound(N.type, one.upper)) for one in known] == [
        (1, 2),
        (3, 3),
        (5, 5),
    ]
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    for number, block in enumerate(file.blocks):
        for place, one in enumerate(block.columns):
            chunk = metadata.row_group(number).column(place)
            assert (one.size, one.raw_size) == (chunk.total_compressed_size, chunk.total_uncompressed_size)
            assert one.offset == min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
    assert file.blocks[0].columns[0].offset == 4  # behind the magic bytes, before the dictionary
    assert not file.statistics[0].HasField("offset")
    assert file.statistics[0].raw_size == sum(one.raw_size for one in known)


def test_a_file_of_one_row_group_is_its_own_block() -> None:
    file, _ = entry(table_of([1, 2]), 2)
    assert not file.blocks
    assert file.statistics[0].offset == 4
    assert row_group_matches(Comparison(N, Operator.EQUAL, 7), file) is None
    assert row_group_entry(IsNull(N), file, 0) is file


def test_the_nans_of_each_row_group_are_passed_along() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": [math.nan, 1.0, 2.0]}), sink, row_group_size=2)
    file = data_file(pq.ParquetFile(sink).metadata, SCHEMA, path="a", size=1, nan_counts=[{3: 1}, {3: 0}])
    assert [block.columns[0].nan_count for block in file.blocks] == [1, 0]
    assert file.statistics[0].nan_count == 1
    assert row_group_matches(IsNan(X), file) == (0,)


VALUES = st.lists(st.none() | st.integers(-1000, 1000), min_size=2, max_size=12)
TEXTS = st.none() | st.text(max_size=3) | st.text("a\U0010ffff\x7f\u07ff", min_size=25, max_size=45)


@settings(deadline=None, max_examples=60)
@given(VALUES, st.data(), st.integers(1, 4))
def test_the_bounds_of_a_file_are_those_of_its_blocks_together(
    numbers: list[int | None], data: st.DataObject, group: int
) -> None:
    texts = data.draw(st.lists(TEXTS, min_size=len(numbers), max_size=len(numbers)))
    file, _ = entry(table_of(numbers, texts), group)
    for place, field in enumerate(SCHEMA.fields):
        whole = file.statistics[place]
        parts = [block.columns[place] for block in file.blocks if block.columns[place].null_count < block.num_rows]
        if not file.blocks or not parts:
            continue
        lowers = [decode_bound(field.type, one.lower) for one in parts]
        uppers = [decode_bound(field.type, one.upper) for one in parts if one.HasField("upper")]
        assert decode_bound(field.type, whole.lower) == min(lowers)
        assert whole.HasField("upper") == (len(uppers) == len(parts))
        assert not whole.HasField("upper") or decode_bound(field.type, whole.upper) == max(uppers)
        assert whole.null_count == sum(block.columns[place].null_count for block in file.blocks)


@settings(deadline=None, max_examples=60)
@given(VALUES, st.integers(1, 4), st.sampled_from(Operator), st.integers(-1000, 1000))
def test_a_row_group_with_a_matching_row_is_never_left_out(
    numbers: list[int | None], group: int, operator: Operator, value: int
) -> None:
    file, _ = entry(table_of(numbers), group)
    filter = Or((Comparison(N, operator, value), Comparison(D, Operator.EQUAL, Decimal(value) / 100)))
    holds = {
        Operator.EQUAL: lambda one: one == value,
        Operator.NOT_EQUAL: lambda one: one != value,
        Operator.LESS: lambda one: one < value,
        Operator.LESS_OR_EQUAL: lambda one: one <= value,
        Operator.GREATER: lambda one: one > value,
        Operator.GREATER_OR_EQUAL: lambda one: one >= value,
    }[operator]
    groups = [numbers[start : start + group] for start in range(0, len(numbers), group)]
    matching = {at for at, some in enumerate(groups) if any(one is not None and holds(one) for one in some)}
    found = row_group_matches(filter, file)
    if found is None:
        assert len(groups) == 1
    else:
        assert matching <= set(found)
        assert not found or may_match(filter, file)


def test_a_point_in_a_sorted_file_of_a_thousand_row_groups_is_in_one() -> None:
    file, _ = entry(table_of(list(range(10_000))), 10)
    assert len(file.blocks) == 1000
    assert row_group_matches(Comparison(N, Operator.EQUAL, 4321), file) == (432,)
    assert row_group_matches(Comparison(N, Operator.EQUAL, 10_000), file) == ()


def test_a_column_that_the_file_lacks_is_judged_by_its_default() -> None:
    file, _ = entry(table_of([1, 2, 3]), 1)
    later = add_column(SCHEMA, "b", "int", ids=iter([9]), default=7).field("b")
    assert row_group_matches(Comparison(later, Operator.EQUAL, 8), file) == (0, 1, 2)
    assert row_group_matches(Comparison(later, Operator.EQUAL, 8), file, SCHEMA) == ()
    assert row_group_matches(Comparison(later, Operator.EQUAL, 7), file, SCHEMA) == (0, 1, 2)


def test_a_row_group_that_is_not_there_is_refused() -> None:
    file, _ = entry(table_of([1, 2, 3]), 2)
    for number in (-1, 2):
        with pytest.raises(Invalid, match="no such row group"):
            row_group_entry(IsNull(N), file, number)
    with pytest.raises(Invalid):
        row_group_entry(IsNull(N), DataFileRef(statistics=[ColumnStatistics(field_id=1)]), 1)
