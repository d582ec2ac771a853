"""Writing rows as data files."""

import errno
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow
import pyiceberg.schema
import pytest
from pyarrow.parquet import ParquetFile, read_schema
from pyiceberg.io.pyarrow import pyarrow_to_schema

from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Invalid, LakebedError, Unavailable
from lakebed.files import LocalFiles
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.partition.spec import PartitionSpec, make_spec
from lakebed.table.partition.values import partition_texts
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field, List, Struct

MODULE = sys.modules["lakebed.arrow.write.write"]  # its function has its name

SMALLEST = WriteOptions(group_rows=10, file_bytes=1)

SCHEMA = with_ids(Schema({"id": "long", "name": "string", "x": "double"}), 0, 1)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def rows(count: int, start: int = 0) -> pyarrow.RecordBatch:
    numbers = range(start, start + count)
    columns = [
        pyarrow.array(numbers, pyarrow.int64()),
        pyarrow.array([f"n{one}" for one in numbers], pyarrow.string()),
        pyarrow.array(map(float, numbers), pyarrow.float64()),
    ]
    return pyarrow.record_batch(columns, names=["id", "name", "x"])


def stream(*batches: pyarrow.RecordBatch | BaseException) -> pyarrow.RecordBatchReader:
    def given() -> Iterator[pyarrow.RecordBatch]:
        for one in batches:
            if isinstance(one, BaseException):
                raise one
            yield one

    return pyarrow.RecordBatchReader.from_batches(rows(0).schema, given())


def paths(files: LocalFiles) -> list[str]:
    return [one.path for one in files.list()]


def test_a_file_is_described_as_it_is(files: LocalFiles) -> None:
    [file] = write(files, "data/t", SCHEMA, rows(3))
    assert paths(files) == [file.path]
    assert file.path.startswith("data/t/")
    assert file.path.endswith(".parquet")
    assert (file.file_size, file.num_rows) == (files.size(file.path), 3)
    assert [one.field_id for one in file.statistics] == [1, 2, 3]
    assert file.statistics[1].lower == b"n0"
    assert file.statistics[1].upper == b"n2"


def test_other_engines_find_ordinary_parquet_with_ids(files: LocalFiles) -> None:
    inner = Struct((Field("city", "string", physical_name="c-1"), Field("tags", List(Field("x", "int").type))))
    schema = with_ids(Schema([Field("id", "long", True), Field("home", inner), Field("price", "decimal(9, 2)")]), 0, 1)
    data = pyarrow.table(
        {
            "id": range(5000),
            "home": pyarrow.array(
                [{"city": "Kyiv", "tags": [1, 2]}] * 5000,
                pyarrow.struct([("city", pyarrow.string()), ("tags", pyarrow.list_(pyarrow.int32()))]),
            ),
            "price": pyarrow.array([None] * 5000, pyarrow.decimal128(9, 2)),
        }
    )
    [file] = write(files, "d", schema, data)
    location = files.location(file.path)
    columns = duckdb.sql(f"select name, type, field_id from parquet_schema('{location}')").fetchall()
    ids = {name: id for name, _, id in columns}
    assert {name: ids[name] for name in ("id", "home", "price", "city", "tags", "element")} == {
        "id": 1,
        "home": 2,
        "price": 3,
        "city": 4,
        "tags": 5,
        "element": 6,
    }
    assert {name: type for name, type, _ in columns}["price"] == "INT32"
    codecs = duckdb.sql(f"select distinct compression from parquet_metadata('{location}')").fetchall()
    assert codecs == [("ZSTD",)]
    assert duckdb.sql(f"select count(*), sum(id), min(home.city) from '{location}'").fetchall() == [
        (5000, 12497500, "Kyiv")
    ]
    assert ParquetFile(location).schema_arrow.metadata is None


def test_iceberg_finds_the_tables_schema_in_a_file(files: LocalFiles) -> None:
    types = {"a": "struct<b: list<int>>", "m": "map<string, decimal(9, 2)>", "t": "timestamptz", "u": "timestamp"}
    schema = with_ids(Schema({**types, "d": "date", "bytes": "binary", "f": "float"}), 0, 1)
    [file] = write(files, "d", schema, pyarrow.Table.from_pylist([{"a": None}], arrow_schema(schema)))
    found = pyarrow_to_schema(read_schema(files.location(file.path)))
    expected = pyiceberg.schema.Schema.model_validate_json(schema_to_json(schema))
    assert found.as_struct() == expected.as_struct()


def test_a_file_without_nulls_says_so_for_required_columns(files: LocalFiles) -> None:
    schema = with_ids(Schema([Field("id", "long", True), Field("name", "string")]), 0, 1)
    [file] = write(files, "d", schema, pyarrow.table({"id": [1]}))
    columns = ParquetFile(files.location(file.path)).schema
    assert [columns.column(place).max_definition_level for place in (0, 1)] == [0, 1]


def test_nan_is_counted_through_structs(files: LocalFiles) -> None:
    inner = pyarrow.struct([("y", pyarrow.float32()), ("z", pyarrow.list_(pyarrow.float64()))])
    nan = float("nan")
    schema = with_ids(Schema({"x": "double", "s": "struct<y: float, z: list<double>>", "n": "long"}), 0, 1)
    s = pyarrow.array([{"y": nan}, None, {"y": 1.0, "z": [nan]}, {"y": nan}], inner)
    [file] = write(files, "d", schema, pyarrow.table({"x": [nan, None, 1.0, 2.0], "s": s, "n": [1, 2, 3, 4]}))
    counts = {one.field_id: one.nan_count for one in file.statistics if one.HasField("nan_count")}
    assert counts == {1: 1, 4: 2}
    x = next(one for one in file.statistics if one.field_id == 1)
    assert (x.value_count, x.null_count) == (4, 1)


def test_no_rows_make_no_file(files: LocalFiles) -> None:
    assert write(files, "d", SCHEMA, rows(0)) == []
    assert write(files, "d", SCHEMA, stream(rows(0), rows(0))) == []
    assert paths(files) == []


def test_small_batches_become_one_row_group(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, stream(*[rows(10, 10 * n) for n in range(100)]))
    parquet = ParquetFile(files.location(file.path))
    assert parquet.num_row_groups == 1
    assert parquet.read().column("id").to_pylist() == list(range(1000))


def test_row_groups_are_bounded_by_rows_and_by_bytes(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, stream(rows(250), rows(30, 250)), options=WriteOptions(group_rows=100))
    metadata = ParquetFile(files.location(file.path)).metadata
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [100, 100, 50, 30]
    [file] = write(files, "d", SCHEMA, rows(100), options=WriteOptions(group_bytes=1000))
    assert ParquetFile(files.location(file.path)).num_row_groups > 2


def test_a_full_file_is_followed_by_another_in_order(files: LocalFiles) -> None:
    options = WriteOptions(group_rows=1000, file_bytes=15000)
    written = write(files, "d", SCHEMA, stream(*[rows(1000, 1000 * n) for n in range(10)]), options=options)
    assert len(written) > 2
    assert len({one.path for one in written}) == len(written)
    ids = [ParquetFile(files.location(one.path)).read().column("id") for one in written]
    assert [one for column in ids for one in column.to_pylist()] == list(range(10000))
    assert [one.file_size for one in written] == [files.size(one.path) for one in written]
    assert all(one.file_size >= 15000 for one in written[:-1])
    assert sum(one.num_rows for one in written) == 10000


def test_rows_stream_through(files: LocalFiles) -> None:
    seen = []

    def given() -> Iterator[pyarrow.RecordBatch]:
        for number in range(5):
            seen.append(len(paths(files)))
            yield rows(10, number)

    reader = pyarrow.RecordBatchReader.from_batches(rows(0).schema, given())
    write(files, "d", SCHEMA, reader, options=SMALLEST)
    assert seen == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()], ids=repr)
def test_an_error_half_way_leaves_nothing(files: LocalFiles, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write(files, "d", SCHEMA, stream(rows(10), rows(10), rows(3), error), options=SMALLEST)
    assert paths(files) == []


def test_a_row_that_does_not_fit_leaves_nothing(files: LocalFiles) -> None:
    schema = with_ids(Schema([Field("id", "long", True), Field("name", "string"), Field("x", "double")]), 0, 1)
    bad = rows(1).set_column(0, "id", pyarrow.nulls(1, pyarrow.int64()))
    with pytest.raises(Invalid, match="required column has a null"):
        write(files, "d", schema, stream(rows(5), bad), options=WriteOptions(group_rows=1))
    assert paths(files) == []


@pytest.mark.parametrize("call", [1, 2, 3, 4], ids="fsync {}".format)
def test_a_disk_that_fails_leaves_nothing(files: LocalFiles, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    files.put("d/other", b"")
    real, calls = os.fsync, iter(range(1, 100))

    def failing(descriptor: int) -> None:
        if next(calls) == call:
            raise OSError(errno.ENOSPC, "full")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(LakebedError):
        write(files, "d", SCHEMA, stream(rows(10), rows(10)), options=SMALLEST)
    assert paths(files) == ["d/other"]


def test_a_full_disk_is_no_error_of_arrows(files: LocalFiles) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(Unavailable) as caught:
            write(files, "d", SCHEMA, rows(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "EFBIG" in str(caught.value.found)
    assert paths(files) == []


def written_numbers(files: LocalFiles, file: DataFileRef) -> list[int]:
    numbers: list[int] = ParquetFile(files.location(file.path)).read().column("id").to_pylist()
    return numbers


def test_each_file_has_the_rows_of_one_partition(files: LocalFiles) -> None:
    spec = make_spec(SCHEMA, ["truncate(10, id)", "truncate(1, name)"], spec_id=3)
    written = write(files, "d", SCHEMA, stream(rows(15), rows(15, 15)), spec)
    assert [partition_texts(one, spec, SCHEMA) for one in written] == [
        {"id_trunc_10": "0", "name_trunc_1": "n"},
        {"id_trunc_10": "10", "name_trunc_1": "n"},
        {"id_trunc_10": "20", "name_trunc_1": "n"},
    ]
    assert [written_numbers(files, one) for one in written] == [list(range(at, at + 10)) for at in (0, 10, 20)]
    assert {one.spec_id for one in written} == {3}
    assert sorted(paths(files)) == sorted(one.path for one in written)


def test_a_file_of_no_spec_says_none(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, rows(3))
    assert not file.HasField("spec_id")
    [file] = write(files, "d", SCHEMA, rows(3), PartitionSpec((), 2))
    assert (file.spec_id, len(file.partition)) == (2, 0)


def test_no_rows_make_no_file_in_any_partition(files: LocalFiles) -> None:
    spec, order = make_spec(SCHEMA, ["name"], spec_id=1), make_sort_order(SCHEMA, ["id"], order_id=1)
    assert write(files, "d", SCHEMA, rows(0), spec, order) == []
    assert write(files, "d", SCHEMA, stream(), spec, order) == []
    assert paths(files) == []


def test_files_are_sorted(files: LocalFiles) -> None:
    order = make_sort_order(SCHEMA, ["truncate(100, id) desc", "x"], order_id=1)
    [file] = write(files, "d", SCHEMA, stream(rows(150), rows(150, 150)), order=order)
    assert written_numbers(files, file) == [*range(200, 300), *range(100, 200), *range(100)]


def test_a_large_partition_has_several_files(files: LocalFiles) -> None:
    options = WriteOptions(group_rows=1000, file_bytes=15000)
    spec, order = make_spec(SCHEMA, ["truncate(1, name)"], spec_id=1), make_sort_order(SCHEMA, ["id desc"], order_id=1)
    written = write(files, "d", SCHEMA, rows(10_000), spec, order, options)
    assert len(written) > 2
    assert [number for one in written for number in written_numbers(files, one)] == list(range(9999, -1, -1))
    assert {str(one.partition) for one in written} == {str(written[0].partition)}


def test_partitioned_rows_stream_through(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """When as many are held as may be, all are written: a partition that goes on has another file."""
    monkeypatch.setattr(MODULE, "HELD_BYTES", rows(25).nbytes)
    seen = []

    def given() -> Iterator[pyarrow.RecordBatch]:
        for number in range(6):
            seen.append(len(paths(files)))
            yield rows(10, 10 * number)

    spec = make_spec(SCHEMA, ["truncate(30, id)"], spec_id=1)
    reader = pyarrow.RecordBatchReader.from_batches(rows(0).schema, given())
    written = write(files, "d", SCHEMA, reader, spec)
    assert seen == [0, 0, 0, 1, 1, 3]
    assert [written_numbers(files, one) for one in written] == [
        [*range(20)],
        [*range(20, 30)],
        [*range(30, 40)],
        [*range(40, 60)],
    ]


def test_an_error_half_way_leaves_no_partition(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "HELD_BYTES", 1)
    spec = make_spec(SCHEMA, ["truncate(5, id)"], spec_id=1)
    with pytest.raises(ValueError, match="mine"):
        write(files, "d", SCHEMA, stream(rows(10), rows(10, 10), ValueError("mine")), spec)
    assert paths(files) == []


def test_a_value_without_a_partition_leaves_nothing(files: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "HELD_BYTES", 1)
    spec = make_spec(SCHEMA, ["truncate(10, id)"], spec_id=1)
    with pytest.raises(Invalid, match="too near the end of its type"):
        write(files, "d", SCHEMA, stream(rows(10), rows(1, -(2**63))), spec)
    assert paths(files) == []


def test_a_partition_of_a_dropped_column_is_refused(files: LocalFiles) -> None:
    spec = make_spec(SCHEMA, ["name"], spec_id=1)
    with pytest.raises(Invalid, match="values or columns of a partition are missing"):
        write(files, "d", SCHEMA.select(["id"]), rows(3).select(["id"]), spec)
    assert paths(files) == []
