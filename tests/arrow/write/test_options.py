"""What a writer may be asked for: sizes, and bloom filters."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from pyarrow.parquet import ParquetFile

from lakebed.arrow.write.write import write
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.table.filter.filter import And, Comparison, Filter, Operator
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.plan.blooms import bloom_matches
from lakebed.table.plan.pruning import row_group_matches
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

SCHEMA = with_ids(
    Schema({"id": "long", "email": "string", "s": "struct<x: int, `y.z`: double>", "flag": "boolean"}), 0, 1
)
ID, EMAIL = SCHEMA.fields[:2]


class Counted(LocalFiles):
    """Files whose reads are counted."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reads: list[tuple[str, int, int | None]] = []

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        self.reads.append((path, start, length))
        return super().read(path, start, length)


@pytest.fixture
def files(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def rows(count: int, step: int = 1) -> pyarrow.Table:
    numbers = [at * step for at in range(count)]
    inner = [{"x": one, "y.z": one / 2} for one in numbers]
    struct = pyarrow.struct([("x", pyarrow.int32()), ("y.z", pyarrow.float64())])
    return pyarrow.table(
        {
            "id": numbers,
            "email": [f"{one:06}@example.com" for one in numbers],
            "s": pyarrow.array(inner, struct),
            "flag": [one % 2 == 0 for one in numbers],
        }
    )


def has_bloom(entry: DataFileRef) -> set[int]:
    known = entry.blocks[0].columns if entry.blocks else entry.statistics
    return {one.field_id for one in known if one.HasField("bloom_checksum")}


def test_columns_that_are_asked_for_have_filters_that_others_read(files: Counted) -> None:
    options = WriteOptions(blooms=frozenset({EMAIL.id, SCHEMA.find(("s", "y.z")).id}), group_rows=1000)
    [file] = write(files, "d", SCHEMA, rows(3000), options=options)
    assert has_bloom(file) == {2, 6}
    location = files.location(file.path)
    columns = duckdb.sql(f"select path_in_schema, bloom_filter_length from parquet_metadata('{location}')").fetchall()
    assert {name for name, length in columns if length} == {"email", "s, y_z_6"}
    probed = f"select row_group_id, bloom_filter_excludes from parquet_bloom_probe('{location}', 'email', '{{}}')"
    assert duckdb.sql(probed.format("002500@example.com")).fetchall() == [(0, True), (1, True), (2, False)]


def test_no_filters_are_written_that_nobody_asked_for(files: Counted) -> None:
    [file] = write(files, "d", SCHEMA, rows(10))
    assert has_bloom(file) == set()
    assert files.reads == []


def test_a_dropped_column_is_passed_over_and_one_that_cannot_have_a_filter_is_refused(files: Counted) -> None:
    [file] = write(files, "d", SCHEMA, rows(10), options=WriteOptions(blooms=frozenset({77, ID.id})))
    assert has_bloom(file) == {1}
    for name in ("flag", "s"):
        options = WriteOptions(blooms=frozenset({SCHEMA.find(name).id}))
        with pytest.raises(Invalid, match="can't have a bloom filter") as caught:
            write(files, "e", SCHEMA, rows(10), options=options)
        assert caught.value.subject == name
    assert [one.path for one in files.list()] == [file.path]


def test_a_filter_is_as_large_as_its_row_group_needs(files: Counted) -> None:
    sizes = {}
    for count in (10, 1000, 40_000):
        [file] = write(files, "d", SCHEMA, rows(count), options=WriteOptions(blooms=frozenset({ID.id})))
        sizes[count] = file.statistics[0].bloom_length
    assert sizes == {10: 32 + 15, 1000: 2048 + 16, 40_000: 65_536 + 17}


def matching(files: Counted, entry: DataFileRef, filter: Filter) -> tuple[int, int, int]:
    """How many row groups are left by the statistics and by the filters, and how many reads the latter took."""
    files.reads.clear()
    blocks = row_group_matches(filter, entry)
    assert blocks is not None
    left = bloom_matches(filter, entry, blocks, files.read)
    return len(blocks), len(left), len(files.reads)


def equals(field: Field, value: Any) -> Comparison:
    return Comparison(field, Operator.EQUAL, value)


def test_a_point_in_a_sorted_table_of_a_thousand_row_groups_is_in_one(files: Counted) -> None:
    order = make_sort_order(SCHEMA, ["id"], order_id=1)
    options = WriteOptions(group_rows=20, blooms=frozenset({ID.id, EMAIL.id}))
    [file] = write(files, "d", SCHEMA, rows(20_000, step=2), order=order, options=options)
    assert len(file.blocks) == 1000
    assert matching(files, file, equals(ID, 24_680)) == (1, 1, 1)
    assert matching(files, file, equals(ID, 24_681)) == (1, 0, 1)  # in the bounds of one, in the filter of none
    assert matching(files, file, equals(ID, 1_000_000)) == (0, 0, 0)  # no filter is read that bounds make needless
    assert matching(files, file, And((equals(ID, 24_680), equals(EMAIL, "024680@example.com")))) == (1, 1, 2)
    parquet = ParquetFile(files.location(file.path))
    [group] = row_group_matches(equals(ID, 24_680), file) or ()
    assert 24_680 in parquet.read_row_group(group).column("id").to_pylist()


def test_the_nans_of_each_row_group_are_counted(files: Counted) -> None:
    schema = with_ids(Schema({"x": "double"}), 0, 1)
    data = pyarrow.table({"x": [math.nan, 1.0, 2.0, 3.0, math.nan, math.nan]})
    [file] = write(files, "d", schema, data, options=WriteOptions(group_rows=2))
    assert [block.columns[0].nan_count for block in file.blocks] == [1, 0, 2]
    assert file.statistics[0].nan_count == 3


def test_groups_are_as_large_as_asked_also_beyond_arrows_own_limit(files: Counted) -> None:
    schema = with_ids(Schema({"n": "int"}), 0, 1)
    data = pyarrow.table({"n": pyarrow.nulls((1 << 20) + 10, pyarrow.int32())})
    [file] = write(files, "d", schema, data, options=WriteOptions(group_rows=1 << 21))
    assert ParquetFile(files.location(file.path)).num_row_groups == 1
    assert not file.blocks


@pytest.mark.parametrize(
    "wrong",
    [
        {"file_bytes": 0},
        {"group_bytes": -1},
        {"group_rows": 0},
        {"group_rows": 1 << 40},
        {"group_rows": 1.5},
        {"bloom_fpp": 0},
        {"bloom_fpp": 1.0},
        {"bloom_fpp": float("nan")},
    ],
    ids=str,
)
def test_what_is_no_size_or_rate_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        WriteOptions(**wrong)
