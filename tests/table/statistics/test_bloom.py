"""Bloom filters: the bits that Arrow writes, no value missed, few taken for others, and what is foreign ignored."""

import io
from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.statistics.bloom import (
    BLOCK_BYTES,
    MOST_BYTES,
    BloomFilter,
    filter_bytes,
    parse_bloom,
    unblocked_fpp,
)
from lakebed.table.statistics.bloom_values import file_bytes
from lakebed.table.types.types import parse_type
from lakebed.table.types.values import scaled
from tests.support.examples import long_but

pytestmark = pytest.mark.sampled(2)

INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
FLOATS = {"allow_nan": False}


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**precision) + 1, 10**precision - 1).map(lambda digits: scaled(digits, scale))


# Each type's values in a file: the Arrow type, how Arrow takes plain values if not as they are, and the values.
TYPES = {
    "int": (pa.int32(), None, INT32),
    "long": (pa.int64(), None, INT64),
    "float": (pa.float32(), None, st.floats(width=32, **FLOATS)),
    "double": (pa.float64(), None, st.floats(**FLOATS)),
    "date": (pa.date32(), pa.int32(), INT32),
    "time": (pa.time64("us"), pa.int64(), st.integers(0, 86_399_999_999)),
    "timestamp": (pa.timestamp("us"), pa.int64(), INT64),
    "timestamptz": (pa.timestamp("us", "UTC"), pa.int64(), INT64),
    "timestamp_ns": (pa.timestamp("ns"), pa.int64(), INT64),
    "timestamptz_ns": (pa.timestamp("ns", "UTC"), pa.int64(), INT64),
    "string": (pa.string(), None, st.text(max_size=80)),
    "binary": (pa.binary(), None, st.binary(max_size=80)),
    "uuid": (pa.binary(16), None, st.binary(min_size=16, max_size=16)),
    "fixed(3)": (pa.binary(3), None, st.binary(min_size=3, max_size=3)),
    "decimal(9, 2)": (pa.decimal128(9, 2), None, decimals(9, 2)),
    "decimal(18, 0)": (pa.decimal128(18, 0), None, decimals(18, 0)),
    "decimal(19, 0)": (pa.decimal128(19, 0), None, decimals(19, 0)),
    "decimal(38, 10)": (pa.decimal128(38, 10), None, decimals(38, 10)),
}


def written_by_arrow(type: str, values: list, ndv: int = 100) -> bytes:
    arrow, raw, _ = TYPES[type]
    column = pa.array(values, raw).cast(arrow) if raw is not None else pa.array(values, arrow)
    sink = io.BytesIO()
    options = {"a": {"ndv": ndv, "fpp": unblocked_fpp(0.01)}}
    pq.write_table(pa.table({"a": column}), sink, store_decimal_as_integer=True, bloom_filter_options=options)
    chunk = pq.ParquetFile(sink).metadata.row_group(0).column(0)
    return sink.getvalue()[chunk.bloom_filter_offset :][: chunk.bloom_filter_length]


def found(made: BloomFilter, type: str, values: Iterable) -> int:
    """How many of the values may be in the filter."""
    return int(made.may_contain_each([file_bytes(parse_type(type), one) for one in values]).sum())


@pytest.mark.parametrize("type", TYPES)
@settings(deadline=None, max_examples=25)
@given(st.data())
def test_the_bytes_are_those_that_arrow_writes(type: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(TYPES[type][2], min_size=1, max_size=30))
    theirs = written_by_arrow(type, values)
    parsed = parse_bloom(theirs)
    assert parsed is not None
    # Arrow makes a filter smaller when there turn out to be fewer values: the same as one made for fewer.
    ours = BloomFilter.of(parse_type(type), values, distinct=len(parsed.words) * BLOCK_BYTES * 8 // 14)
    assert len(ours.words) == len(parsed.words)
    assert ours.serialized() == theirs
    assert all(parsed.may_contain_any([file_bytes(parse_type(type), one)]) for one in values)


def test_large_filters_are_those_that_arrow_writes_too() -> None:
    values = list(range(0, 700_000, 7))
    theirs = written_by_arrow("long", values, ndv=len(values))
    ours = BloomFilter.of(parse_type("long"), values, distinct=len(values))
    assert ours.serialized() == theirs


@pytest.mark.parametrize("type", ["long", "string"])
def test_no_key_is_missed_and_at_most_one_in_a_hundred_others_is_taken_for_one(type: str) -> None:
    of = (lambda number: number * 7919) if type == "long" else (lambda number: f"key-{number}")
    known = parse_type(type)
    made = BloomFilter.of(known, (of(number) for number in range(100_000)), distinct=100_000)
    assert len(made.words) * BLOCK_BYTES == 262_144
    assert found(made, type, map(of, range(100_000))) == 100_000
    assert found(made, type, map(of, range(100_000, 200_000))) <= 1000


def test_the_rate_holds_for_the_most_values_that_a_size_is_for() -> None:
    """99,600 is the most that 131,072 bytes are for."""
    assert (filter_bytes(99_500, 0.01), filter_bytes(99_700, 0.01)) == (131_072, 262_144)
    made = BloomFilter.of(parse_type("long"), range(99_500), distinct=99_500)
    assert found(made, "long", range(99_500)) == 99_500
    assert found(made, "long", range(10**6, 12 * 10**5)) <= 2_100  # one in a hundred, and chance


@pytest.mark.parametrize("count", long_but([10, 100, 5_000, 65_000, 131_072], [100, 65_000]))
def test_what_arrow_makes_smaller_still_keeps_the_rate(count: int) -> None:
    made = parse_bloom(written_by_arrow("long", list(range(count)), ndv=1 << 17))
    assert made is not None
    assert found(made, "long", range(count)) == count
    assert found(made, "long", range(10**6, 12 * 10**5)) <= 2_100


def test_duplicates_change_nothing() -> None:
    once = BloomFilter.of(parse_type("string"), ["a", "b"], distinct=2)
    assert BloomFilter.of(parse_type("string"), ["a", "b", "a", "a"], distinct=2).serialized() == once.serialized()


def test_sizes_are_powers_of_two() -> None:
    assert [filter_bytes(count, 0.01) for count in (0, 1, 100, 1000, 131_072)] == [32, 32, 256, 2048, 262_144]
    assert filter_bytes(10**12, 0.0001) == MOST_BYTES
    for wrong in (0, 1, -0.5, float("nan")):
        with pytest.raises(Invalid):
            filter_bytes(10, wrong)


def test_what_is_not_known_is_ignored() -> None:
    whole = BloomFilter.of(parse_type("long"), [1], distinct=1).serialized()
    head = len(whole) - BLOCK_BYTES
    assert parse_bloom(whole) is not None
    for place in range(head):
        for bit in range(8):  # another algorithm, hash, compression or size, or no header at all
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            assert parse_bloom(bytes(changed)) is None
    for end in range(len(whole)):
        assert parse_bloom(whole[:end]) is None
    assert parse_bloom(whole + b"\x00") is None


@given(st.binary(max_size=100))
def test_any_bytes_are_a_filter_or_none(data: bytes) -> None:
    found = parse_bloom(data)
    assert found is None or found.serialized() == data


def test_values_of_another_type_are_refused() -> None:
    for type, value in (("int", 2**31), ("boolean", True), ("string", 1), ("float", 0.1), ("list<int>", 1)):
        with pytest.raises(Invalid):
            BloomFilter.of(parse_type(type), [value], distinct=1)
