"""Segments and blocks: what entries of files say of them."""

import pytest

from lakebed.errors import Invalid
from lakebed.table.entries.segments import (
    BlockMeta,
    ColumnMeta,
    SegmentMeta,
    block_metas,
    meta_info,
    segment_meta,
    table_number,
)
from lakebed.table.manifest.locations import END, Location
from lakebed.table.manifest.manifest_pb2 import Block, ColumnStatistics, DataFileRef

TABLE = "deadbeef-1234-5678-9abc-0123456789ab"
COLUMNS = (
    ColumnMeta(
        1, Location("data/a.parquet", 4, 100, 300), b"\x01", b"\xff" * 32, Location("data/a.parquet", 104, 47, 47)
    ),
    ColumnMeta(65535, None, b"", None, None),
)
SEGMENT = SegmentMeta(table_number(TABLE), 1000, COLUMNS)
BLOCK = BlockMeta(table_number(TABLE), 1000, 2, COLUMNS)


def test_what_does_not_fit_is_refused():
    for make, problem in (
        (lambda: ColumnMeta(65536), "two bytes"),
        (lambda: ColumnMeta(1, min=b"a" * 33), "too long"),
        (lambda: SegmentMeta(-1, 0, ()), "eight bytes"),
        (lambda: BlockMeta(0, 0, 2**64, ()), "eight bytes"),
        (lambda: SegmentMeta(0, 0, (ColumnMeta(1),) * 65536), "too many columns"),
        (lambda: table_number("orders"), "not a uuid"),
    ):
        with pytest.raises(Invalid, match=problem):
            make()


def entry(**fields):
    return DataFileRef(path="data/a.parquet", first_row_id=1000, **fields)


def test_a_file_is_a_segment():
    known = ColumnStatistics(
        field_id=1,
        lower=b"\x01",
        upper=b"\xff" * 32,
        offset=4,
        size=100,
        raw_size=300,
        bloom_offset=104,
        bloom_length=47,
    )
    file = entry(statistics=[known, ColumnStatistics(field_id=65535, lower=b"")])
    assert segment_meta(file, TABLE) == SEGMENT
    assert SEGMENT.table == 0xDEADBEEF12345678


def test_a_row_group_is_a_block():
    file = entry(blocks=[Block(columns=[ColumnStatistics(field_id=n, lower=b"a")]) for n in (1, 2, 3)])
    assert [(one.block, one.columns) for one in block_metas(file, TABLE)] == [
        (0, (ColumnMeta(1, min=b"a"),)),
        (1, (ColumnMeta(2, min=b"a"),)),
        (2, (ColumnMeta(3, min=b"a"),)),
    ]


def test_a_file_that_lists_no_row_groups_is_one_block():
    file = entry(statistics=[ColumnStatistics(field_id=1, upper=b"z")])
    assert block_metas(file, TABLE) == [BlockMeta(0xDEADBEEF12345678, 1000, 0, (ColumnMeta(1, max=b"z"),))]


def test_far_chunks_have_no_location_and_keep_their_bounds():
    far = ColumnStatistics(field_id=1, offset=END, size=1, raw_size=1, bloom_offset=END, bloom_length=1, lower=b"a")
    raw = ColumnStatistics(field_id=2, offset=4, size=10, raw_size=END + 1)
    last = ColumnStatistics(field_id=3, offset=END - 1, size=1, raw_size=1)
    columns = segment_meta(entry(statistics=[far, raw, last]), TABLE).columns
    assert columns == (
        ColumnMeta(1, None, b"a"),
        ColumnMeta(2),
        ColumnMeta(3, Location("data/a.parquet", END - 1, 1, 1)),
    )


def test_fields_beyond_two_bytes_have_no_column():
    file = entry(statistics=[ColumnStatistics(field_id=n) for n in (65535, 65536, -1)])
    assert [one.idx for one in segment_meta(file, TABLE).columns] == [65535]


def test_a_bound_of_another_writer_that_is_too_long_is_none():
    file = entry(statistics=[ColumnStatistics(field_id=1, lower=b"a" * 33, upper=b"a" * 33)])
    assert segment_meta(file, TABLE).columns == (ColumnMeta(1),)


def test_where_the_metadata_and_the_deletes_of_a_file_are():
    base = Location("columns", 0, 10, 10, shared=True)
    assert meta_info(entry(), base).delta is None
    found = meta_info(entry(dv_path="d.puffin", dv_offset=4, dv_length=46), base)
    assert (found.id, found.base, found.delta) == (1000, base, Location("d.puffin", 4, 46, 46))


def test_a_file_that_no_commit_has_is_no_segment():
    with pytest.raises(Invalid, match=r"a\.parquet: a file that was not committed"):
        segment_meta(DataFileRef(path="a.parquet"), TABLE)
