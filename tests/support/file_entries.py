"""Entries of data files as no writer of ours makes them: any field set or not, in any order, and unknown ones."""

from typing import Any

from google.protobuf.message import Message
from hypothesis import strategies as st

from lakebed.table.manifest.manifest_pb2 import Block, ColumnStatistics, DataFileRef, PartitionValue
from lakebed.table.manifest.snapshot import LiveFile

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
COUNTS = st.integers(0, 2**32 - 1)
BOUNDS = st.sampled_from([b"", b"\x00", b"\xff" * 32, b"12345678"]) | st.binary(max_size=40)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
FIELD_IDS = st.integers(1, 4) | st.sampled_from([0, -1, 70_000, 2**31 - 1])


def _varint(number: int) -> bytes:
    pieces = []
    while number > 0x7F:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*pieces, number))


def _unknown_field(number: int, payload: tuple[int, bytes]) -> bytes:
    wire_type, data = payload
    return _varint(number << 3 | wire_type) + data


_PAYLOADS = st.one_of(
    st.integers(0, 2**64 - 1).map(lambda number: (0, _varint(number))),
    st.binary(min_size=8, max_size=8).map(lambda data: (1, data)),
    st.binary(max_size=5).map(lambda data: (2, _varint(len(data)) + data)),
    st.binary(min_size=4, max_size=4).map(lambda data: (5, data)),
)
UNKNOWN_FIELDS = st.lists(st.builds(_unknown_field, st.sampled_from([15, 24, 99, 200, 5000]), _PAYLOADS), max_size=2)
"""Fields of numbers that no message of ours has, as bytes."""

_MISTYPED = {
    DataFileRef: b"\x12\x01x",  # field 2 as bytes, which is a number
    ColumnStatistics: b"\x28\x05",  # field 5 as a number, which is bytes
    PartitionValue: b"\x15\x01\x02\x03\x04",  # field 2 as four bytes, which is bytes
    Block: b"\x0d\x01\x02\x03\x04",
}
_GROUP = _varint(77 << 3 | 3) + b"\x08\x01" + _varint(77 << 3 | 4)


@st.composite
def _with_unknown(draw: st.DrawFn, messages: st.SearchStrategy[Any]) -> Any:
    message = draw(messages)
    if draw(st.integers(0, 7)):
        return message
    kind = type(message)
    odd = st.sampled_from([b"", b"", _MISTYPED[kind], _GROUP])
    return kind.FromString(message.SerializeToString() + b"".join(draw(UNKNOWN_FIELDS)) + draw(odd))


def _fields(kind: type[Message], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _with_unknown(st.fixed_dictionaries({}, optional=values).map(lambda chosen: kind(**chosen)))


STATISTICS = _fields(
    ColumnStatistics,
    field_id=FIELD_IDS,
    value_count=LONGS,
    null_count=LONGS,
    nan_count=LONGS,
    lower=BOUNDS,
    upper=BOUNDS,
    size=LONGS,
    raw_size=LONGS,
    offset=LONGS,
    bloom_offset=LONGS,
    bloom_length=LONGS,
    bloom_checksum=COUNTS,
)
PARTITION_VALUES = _fields(PartitionValue, field_id=st.sampled_from([1000, 1001, 1002]), value=BOUNDS)
BLOCKS = _fields(Block, num_rows=LONGS, columns=st.lists(STATISTICS, max_size=2))

ENTRIES = _fields(
    DataFileRef,
    path=TEXTS,
    file_size=LONGS,
    num_rows=LONGS,
    level=INTS,
    seq_min=LONGS,
    seq_max=LONGS,
    key_min=BOUNDS,
    key_max=BOUNDS,
    key_schema_id=INTS,
    dv_path=TEXTS,
    dv_offset=LONGS,
    dv_length=LONGS,
    deleted_rows=LONGS,
    format=INTS,
    first_row_id=LONGS,
    spec_id=INTS,
    status=INTS,
    statistics=st.lists(STATISTICS, max_size=3),
    partition=st.lists(PARTITION_VALUES, max_size=2),
    blocks=st.lists(BLOCKS, max_size=2),
)
LIVE_FILES = st.builds(LiveFile, ENTRIES, LONGS, LONGS)


def plain_files(count: int, columns: int = 2) -> list[LiveFile]:
    """Files as a commit adds them: all alike, each with a bound of its own."""
    files = []
    for number in range(count):
        file = DataFileRef(path=f"data/{number:08}.parquet", file_size=1000 + number, num_rows=10, status=1)
        file.first_row_id = number * 10
        for field_id in range(1, columns + 1):
            low, high = number.to_bytes(8, "little"), (number + 9).to_bytes(8, "little")
            file.statistics.add(field_id=field_id, value_count=10, null_count=0, lower=low, upper=high, size=100)
        files.append(LiveFile(file, number, 1))
    return files
