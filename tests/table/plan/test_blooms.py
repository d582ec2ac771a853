"""Row groups ruled out by their bloom filters: never one that has the value, and no read that is not needed."""

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Corrupt
from lakebed.table.filter.filter import (
    And,
    Comparison,
    Filter,
    IsNull,
    NotNull,
    OneOf,
    Operator,
    Or,
)
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.blooms import bloom_matches, seal_blooms
from lakebed.table.plan.pruning import row_group_matches
from lakebed.table.schema.evolution import widen_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.bloom_values import possible_bytes
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import Field

SCHEMA = with_ids(Schema({"a": "long", "b": "string", "x": "double"}), 1, 1)
A, B, X = SCHEMA.fields


class File:
    """A Parquet file in memory, its entry, and the places that were read of it."""

    def __init__(self, table: pa.Table, group: int, schema: Schema = SCHEMA, blooms: tuple[str, ...] = ("a", "b", "x")):
        sink = io.BytesIO()
        options = {name: {"ndv": group, "fpp": 0.0001} for name in blooms if name in table.column_names}
        pq.write_table(
            table, sink, row_group_size=group, store_decimal_as_integer=True, bloom_filter_options=options or None
        )
        self.data = sink.getvalue()
        self.entry = data_file(pq.ParquetFile(sink).metadata, schema, path="data/f.parquet", size=len(self.data))
        self.reads: list[tuple[int, int]] = []
        seal_blooms(self.entry, self.read)
        self.reads.clear()

    def read(self, path: str, start: int, length: int) -> bytes:
        assert path == "data/f.parquet"
        self.reads.append((start, length))
        return self.data[start : start + length]

    def matches(self, filter: Filter) -> tuple[int, ...]:
        blocks = row_group_matches(filter, self.entry)
        return bloom_matches(filter, self.entry, (0,) if blocks is None else blocks, self.read)


def spread(rows: int = 1000) -> pa.Table:
    """Even numbers, so shuffled that every row group reaches from end to end, with texts and floats of them."""
    numbers = [2 * (at * 389 % rows) for at in range(rows)]
    return pa.table({"a": numbers, "b": [f"t{one:05}" for one in numbers], "x": [one / 2 for one in numbers]})


def equals(field: Field, value: Any) -> Comparison:
    return Comparison(field, Operator.EQUAL, value)


def test_a_value_is_looked_for_only_where_it_may_be() -> None:
    table = spread()
    file = File(table, 100)
    for value in (0, 4, 500, 998):
        [place] = [at for at, one in enumerate(table.column("a").to_pylist()) if one == value]
        assert file.matches(equals(A, value)) == (place // 100,)
        assert file.matches(equals(B, f"t{value:05}")) == (place // 100,)
        assert file.matches(equals(X, value / 2)) == (place // 100,)
    assert file.matches(equals(A, 501)) == ()  # between the bounds of all, and in none
    assert file.matches(OneOf(A, (501, 503))) == ()


def test_statistics_are_asked_before_filters_and_filters_before_data() -> None:
    file = File(spread(), 100)
    assert file.matches(equals(A, -1)) == ()
    assert file.matches(And((equals(A, 500), equals(B, "z")))) == ()
    assert file.reads == []  # the statistics alone cut all
    assert file.matches(equals(A, 501)) == ()
    blooms = {(one.bloom_offset, one.bloom_length) for block in file.entry.blocks for one in block.columns[:1]}
    assert len(file.reads) == 10  # the filters of one column, each once, and no data
    assert set(file.reads) == blooms


def test_a_filter_is_read_once_and_only_while_the_answer_is_open() -> None:
    file = File(spread(100), 100)
    assert file.matches(And((equals(A, 501), equals(B, "t00501")))) == ()
    assert len(file.reads) == 0  # below 200 alone: the statistics told
    assert file.matches(And((equals(A, 51), equals(B, "t00051")))) == ()
    assert len(file.reads) == 1
    file.reads.clear()
    assert file.matches(Or((equals(A, 51), equals(A, 53), equals(A, 55)))) == ()
    assert len(file.reads) == 1


@pytest.mark.parametrize(
    ("filter", "left"),
    [
        (And((equals(A, 50), equals(B, "t00050"))), (0,)),
        (And((equals(A, 50), equals(B, "t00051"))), ()),
        (Or((equals(A, 51), equals(B, "t00050"))), (0,)),
        (Or((equals(A, 51), equals(B, "t00051"))), ()),
        (Or((equals(A, 51), And((equals(A, 52), equals(B, "t00053"))))), ()),
        (Or((equals(A, 51), IsNull(A))), ()),  # there is no null
        (Or((equals(A, 51), NotNull(A))), (0,)),
        (OneOf(A, (51, 52)), (0,)),
        (Comparison(A, Operator.GREATER, 51), (0,)),
        (And(()), (0,)),
        (Or(()), ()),
    ],
)
def test_and_and_or_are_told_apart(filter: Filter, left: tuple[int, ...]) -> None:
    assert File(spread(100), 100).matches(filter) == left


def test_a_column_without_a_filter_is_not_ruled_out() -> None:
    file = File(spread(), 100, blooms=("b",))
    assert file.matches(equals(A, 501)) == tuple(range(10))
    assert file.matches(equals(B, "t00501")) == ()


def test_a_filter_without_a_checksum_is_not_used() -> None:
    file = File(spread(), 100)
    for block in file.entry.blocks:
        for one in block.columns:
            one.ClearField("bloom_checksum")
    assert file.matches(equals(A, 501)) == tuple(range(10))
    assert file.reads == []


def test_a_filter_of_an_unknown_kind_is_ignored() -> None:
    file = File(spread(100), 100)
    [known] = [one for one in file.entry.statistics if one.field_id == A.id]
    changed = bytearray(file.data)
    changed[known.bloom_offset + 4] ^= 0x10  # another algorithm, and its writer meant it
    file.data = bytes(changed)
    assert file.data[known.bloom_offset] == 0x15
    seal_blooms(file.entry, file.read)
    assert file.matches(equals(A, 51)) == (0,)


def test_every_changed_bit_of_a_filter_is_found() -> None:
    file = File(spread(20), 100)
    [known] = [one for one in file.entry.statistics if one.field_id == A.id]
    whole = file.data
    for bit in range(8 * known.bloom_length):
        changed = bytearray(whole)
        changed[known.bloom_offset + bit // 8] ^= 1 << bit % 8
        file.data = bytes(changed)
        with pytest.raises(Corrupt) as caught:
            file.matches(equals(A, 21))
        assert caught.value.subject == "data/f.parquet, column a, row group 0"


def test_a_file_that_was_cut_is_found() -> None:
    file = File(spread(20), 100)
    file.data = file.data[: file.entry.statistics[2].bloom_offset + 20]
    with pytest.raises(Corrupt, match="a bloom filter was changed"):
        file.matches(equals(X, 5.5))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=40), st.integers(1, 15), st.integers(-50, 50))
def test_no_row_group_that_has_the_value_is_left_out(numbers: list[int | None], group: int, value: int) -> None:
    floats = [None if one is None else one / 10 for one in numbers]
    file = File(pa.table({"a": pa.array(numbers, pa.int64()), "x": pa.array(floats, pa.float64())}), group)
    groups = [numbers[start : start + group] for start in range(0, len(numbers), group)]
    expected = {at for at, some in enumerate(groups) if value in some}
    assert expected <= set(file.matches(equals(A, value)))
    assert expected <= set(file.matches(OneOf(A, (value, 1000))))
    assert expected <= set(file.matches(equals(X, value / 10)))
    assert expected <= set(file.matches(Or((equals(A, 1000), equals(X, value / 10)))))


def test_both_zeros_are_found() -> None:
    for stored in (0.0, -0.0):
        file = File(pa.table({"x": [stored, 1.0]}), 10)
        for asked in (0.0, -0.0):
            assert file.matches(equals(X, asked)) == (0,)


@pytest.mark.parametrize(
    ("narrow", "arrow", "wide", "values", "others"),
    [
        ("int", pa.int32(), "long", [-5, 7, 2**31 - 1], [6, 2**40]),
        ("float", pa.float32(), "double", [-0.5, 0.0, 1.5], [0.25, 0.1, 1e300]),
        ("decimal(5, 2)", pa.decimal128(5, 2), "decimal(9, 2)", [Decimal("1.25")], [Decimal("1.24")]),
        ("decimal(5, 2)", pa.decimal128(5, 2), "decimal(18, 2)", [Decimal("-1.25")], [Decimal("-1.24")]),
        ("decimal(5, 2)", pa.decimal128(5, 2), "decimal(38, 2)", [Decimal("-1.25")], [Decimal("-1.24")]),
        ("decimal(19, 2)", pa.decimal128(19, 2), "decimal(38, 2)", [Decimal("-1.25")], [Decimal("-1.24")]),
    ],
)
def test_files_older_than_a_wider_type_are_asked_by_their_own_bytes(
    narrow: str, arrow: pa.DataType, wide: str, values: list[Any], others: list[Any]
) -> None:
    schema = with_ids(Schema({"a": narrow}), 1, 1)
    later = widen_column(schema, "a", wide)
    old, field = File(pa.table({"a": pa.array(values, arrow)}), 10, schema), later.field("a")
    assert old.entry.statistics[0].HasField("bloom_checksum")
    assert [old.matches(equals(field, value)) for value in values] == [(0,)] * len(values)
    assert [old.matches(equals(field, value)) for value in others] == [()] * len(others)


def test_a_column_that_was_never_widened_has_one_form() -> None:
    assert len(list(possible_bytes(A, 1))) == 1
    assert len(list(possible_bytes(widen_column(with_ids(Schema({"a": "int"}), 1, 1), "a", "long").field("a"), 1))) == 2


@pytest.mark.parametrize(
    ("arrow", "type"),
    [
        (pa.int32(), "long"),  # another width than the type's own
        (pa.float32(), "double"),
        (pa.timestamp("ms"), "timestamp"),  # the same width, other numbers
        (pa.uint64(), "long"),
        (pa.decimal128(12, 2), "decimal(19, 2)"),
    ],
)
def test_filters_of_columns_of_another_form_are_not_recorded(arrow: pa.DataType, type: str) -> None:
    file = File(
        pa.table({"a": pa.array([1, 2], pa.int32() if pa.types.is_decimal(arrow) else pa.int64()).cast(arrow)}),
        10,
        with_ids(Schema({"a": type}), 1, 1),
    )
    assert not file.entry.statistics[0].HasField("bloom_offset")


def test_entries_without_filters_are_left_as_they_are() -> None:
    entry = DataFileRef(path="a")
    seal_blooms(entry, lambda path, start, length: pytest.fail("there is nothing to read"))
    assert entry == DataFileRef(path="a")
