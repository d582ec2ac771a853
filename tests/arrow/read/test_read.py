"""Reading one data file: whole, by the table's columns, or `Corrupt`."""

import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.arrow.read.read import read
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write
from lakebed.errors import Corrupt, Unavailable
from lakebed.files import LocalFiles
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import Decimal, Field
from tests.support.sources import sources_of

SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 0, 1)
ROWS = pyarrow.table({"id": range(3000), "name": [f"n{one % 7}" for one in range(3000)]})


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def put(files: LocalFiles, table: pyarrow.Table, path: str = "f.parquet", **options: Any) -> DataFileRef:
    """A file as another writer would make it."""
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, **options)
    files.put(path, sink.getvalue())
    return data_file(pyarrow.parquet.read_metadata(files.location(path)), SCHEMA, path=path, size=files.size(path))


def rows(files: LocalFiles, file: DataFileRef, schema: Schema, where: str | None = None) -> pyarrow.Table:
    filter = None if where is None else parse_filter(where, schema)
    return pyarrow.Table.from_batches(read(sources_of(files), PlannedFile(file), schema, filter), arrow_schema(schema))


def stored(**types: str) -> Schema:
    return with_ids(Schema(types), 0, 1)


def test_columns_that_the_file_lacks_are_null_and_others_are_left_out(files: LocalFiles) -> None:
    file = put(files, pyarrow.table({"old": [1, 2], "id": [3, 4]}))
    later = Schema([Field("later", "struct<a: int>", id=9, physical_name="later"), SCHEMA.field("id")])
    assert rows(files, file, later).to_pylist() == [{"later": None, "id": 3}, {"later": None, "id": 4}]
    assert rows(files, file, Schema(later.fields[:1])).to_pylist() == [{"later": None}] * 2
    assert rows(files, file, later, "id > 3").to_pylist() == [{"later": None, "id": 4}]


def test_a_renamed_column_is_found_and_a_new_one_of_its_old_name_is_not_it(files: LocalFiles) -> None:
    file = put(files, pyarrow.table({"id": [1], "name": ["x"]}))
    renamed = replace(SCHEMA.field("name"), name="label")
    added = Field("name", "string", id=3, physical_name="name-2")
    assert rows(files, file, Schema([added, renamed])).to_pylist() == [{"name": None, "label": "x"}]


@pytest.mark.parametrize(
    ("found", "type", "value"),
    [
        (pyarrow.array([7, None], pyarrow.int32()), "long", 7),
        (pyarrow.array([0.5, None], pyarrow.float32()), "double", 0.5),
        (pyarrow.array([7, None], pyarrow.int8()), "int", 7),
        (pyarrow.array(["x", None], pyarrow.large_string()), "string", "x"),
        (pyarrow.array(["x", None]).dictionary_encode(), "string", "x"),
    ],
)
def test_narrower_types_are_widened(files: LocalFiles, found: pyarrow.Array, type: str, value: object) -> None:
    file = put(files, pyarrow.table({"id": found}), row_group_size=1)
    schema = stored(id=type)
    assert rows(files, file, schema).to_pylist() == [{"id": value}, {"id": None}]
    literal = repr(value)
    assert rows(files, file, schema, f"id = {literal}").to_pylist() == [{"id": value}]
    assert rows(files, file, schema, "id is null").to_pylist() == [{"id": None}]


def test_a_wider_decimal_holds_a_narrower_one(files: LocalFiles) -> None:
    numbers = pyarrow.array([1, 2], pyarrow.decimal128(9, 2))
    file = put(files, pyarrow.table({"id": numbers}), row_group_size=1, store_decimal_as_integer=True)
    schema = with_ids(Schema({"id": Decimal(20, 2)}), 0, 1)
    assert [str(one["id"]) for one in rows(files, file, schema, "id > 1").to_pylist()] == ["2.00"]


def test_nested_names_are_the_tables_at_every_level(files: LocalFiles) -> None:
    inner = "struct<a: int, more: list<struct<b: map<string, struct<c: int>>>>>"
    born = stored(s=inner)
    values = [{"a": 1, "more": [{"b": [("k", {"c": 5})]}, None]}, None]
    [file] = write(files, "d", born, pyarrow.table({"s": pyarrow.array(values, arrow_schema(born).field(0).type)}))
    new_inner = "struct<x: int, y: list<struct<z: map<string, struct<u: int>>>>>"
    later = _renamed(born, stored(t=new_inner))
    assert rows(files, file, later).to_pylist() == [
        {"t": {"x": 1, "y": [{"z": [("k", {"u": 5})]}, None]}},
        {"t": None},
    ]
    assert rows(files, file, later).schema.equals(arrow_schema(later), check_metadata=True)


def _renamed(old: Schema, new: Schema) -> Schema:
    """The new schema's names over the old one's ids and physical names."""

    def field(before: Any, after: Any) -> Any:
        return replace(after, physical_name=before.physical_name, type=type_(before.type, after.type))

    def type_(before: Any, after: Any) -> Any:
        if hasattr(after, "fields"):
            return replace(after, fields=tuple(map(field, before.fields, after.fields)))
        if hasattr(after, "element"):
            return replace(after, element=type_(before.element, after.element))
        return replace(after, value=type_(before.value, after.value)) if hasattr(after, "value") else after

    return Schema(tuple(map(field, old.fields, new.fields)))


def test_a_column_with_a_dot_is_not_a_field_of_a_struct(files: LocalFiles) -> None:
    schema = with_ids(Schema([Field("a.b", "int"), Field("a", "struct<b: int, c: int>")]), 0, 1)
    data = pyarrow.table({"a.b": [1], "a": [{"b": 2, "c": 3}]}).cast(arrow_schema(schema))
    [file] = write(files, "d", schema, data)
    assert rows(files, file, schema).to_pylist() == [{"a.b": 1, "a": {"b": 2, "c": 3}}]
    for name in schema.names:
        assert rows(files, file, schema.select([name])).to_pylist() == data.select([name]).to_pylist()
    assert rows(files, file, schema, "`a.b` = 1").num_rows == 1
    assert rows(files, file, schema, "`a.b` = 2").num_rows == 0


floats = st.sampled_from([float("nan"), -0.0, 0.0, 1.0, 2.0, float("inf"), None])
filters = st.builds(
    "x {} {}".format,
    st.sampled_from(["<", "<=", "=", ">=", ">", "<>"]),
    st.sampled_from(["0", "1", "1.5", "2", "'NaN'"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(floats, min_size=1, max_size=12), st.integers(1, 4), filters)
def test_skipped_row_groups_have_no_row_that_passes(
    files: LocalFiles, values: list[float | None], group: int, where: str
) -> None:
    schema = stored(x="double")
    table = pyarrow.table({"x": pyarrow.array(values, pyarrow.float64())})
    many = put(files, table, "many.parquet", row_group_size=group)
    one = put(files, table, "one.parquet")
    found = rows(files, many, schema, where).column("x").to_pylist()
    assert repr(found) == repr(rows(files, one, schema, where).column("x").to_pylist())


def test_row_groups_are_skipped_by_their_statistics(files: LocalFiles) -> None:
    file = put(files, ROWS, row_group_size=100, compression="none", use_dictionary=False)
    data = bytearray(files.read(file.path))
    first = pyarrow.parquet.read_metadata(files.location(file.path)).row_group(0).column(0)
    data[first.data_page_offset : first.data_page_offset + 20] = bytes(20)
    metadata = pyarrow.parquet.read_metadata(files.location(file.path))
    files.put(file.path, data)
    entry = data_file(metadata, SCHEMA, path=file.path, size=file.file_size)
    wanted = parse_filter("id = 2500", SCHEMA)
    scan = Scan(sources_of(files), SCHEMA, pruned_plan([PlannedFile(entry)], wanted), wanted)
    assert scan.to_arrow().to_pylist() == [{"id": 2500, "name": "n1"}]
    with pytest.raises(Corrupt):
        rows(files, file, SCHEMA)


def test_columns_beside_the_filters_are_left_where_no_row_passes(files: LocalFiles) -> None:
    file = put(files, ROWS, row_group_size=1000, compression="none", use_dictionary=False)
    data = bytearray(files.read(file.path))
    for group in (0, 1):
        damaged = pyarrow.parquet.read_metadata(files.location(file.path)).row_group(group).column(1)
        data[damaged.data_page_offset : damaged.data_page_offset + 20] = bytes(20)
    files.put(file.path, data)
    assert rows(files, file, SCHEMA, "id > 2997 or id = -1").column("id").to_pylist() == [2998, 2999]
    assert rows(files, file, SCHEMA.select(["id"]), "id >= 999").num_rows == 2001
    with pytest.raises(Corrupt):
        rows(files, file, SCHEMA, "id = 999")


def damages(whole: bytes) -> Iterator[bytes]:
    for place in range(len(whole)):
        for bit in (1, 4, 128):
            yield whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :]


def test_a_flipped_bit_anywhere_gives_the_same_rows_or_corrupt(files: LocalFiles) -> None:
    data = ROWS.slice(0, 20)
    [file] = write(files, "d", SCHEMA, data)
    found = 0
    for damaged in damages(files.read(file.path)):
        Path(files.location(file.path)).write_bytes(damaged)
        try:
            assert rows(files, file, SCHEMA).to_pylist() == data.to_pylist()
        except Corrupt as error:
            assert error.subject == file.path
            found += 1
    assert found > file.file_size


def test_a_flipped_bit_in_a_page_is_found(files: LocalFiles) -> None:
    [file] = write(files, "d", SCHEMA, ROWS)
    whole = files.read(file.path)
    chunk = pyarrow.parquet.read_metadata(files.location(file.path)).row_group(0).column(0)
    for place in range(chunk.dictionary_page_offset + 100, chunk.data_page_offset, 97):  # behind the page's header
        files.put(file.path, whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(Corrupt, match="CRC") as caught:
            rows(files, file, SCHEMA)
        assert caught.value.subject == file.path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(st.integers(0, 800), st.binary(min_size=1, max_size=30))
def test_overwritten_bytes_give_as_many_rows_or_corrupt(files: LocalFiles, place: int, patch: bytes) -> None:
    files.delete_many([one.path for one in files.list()])
    [file] = write(files, "d", SCHEMA, ROWS.slice(0, 20))
    damaged = bytearray(files.read(file.path))
    damaged[place : place + len(patch)] = patch
    files.put(file.path, damaged[: file.file_size])
    try:
        assert rows(files, file, SCHEMA).num_rows == 20
    except Corrupt as error:
        assert error.subject == file.path


@pytest.mark.parametrize("keep", [0, 3, 4, 100, -8, -1])
def test_a_cut_file_is_found_even_if_its_size_was_recorded(files: LocalFiles, keep: int) -> None:
    [file] = write(files, "d", SCHEMA, ROWS)
    files.put(file.path, files.read(file.path)[:keep])
    with pytest.raises(Corrupt, match="not the one that was written"):
        rows(files, file, SCHEMA)
    file.file_size = files.size(file.path)
    with pytest.raises(Corrupt, match="damaged") as caught:
        rows(files, file, SCHEMA)
    assert caught.value.subject == file.path


def test_another_number_of_rows_is_found(files: LocalFiles) -> None:
    file = put(files, ROWS)
    file.num_rows += 1
    with pytest.raises(Corrupt) as caught:
        rows(files, file, SCHEMA)
    assert (caught.value.expected, caught.value.found) == ("3001 rows", "3000 rows")


def test_a_missing_file_is_corrupt(files: LocalFiles) -> None:
    with pytest.raises(Corrupt) as caught:
        rows(files, DataFileRef(path="gone.parquet", file_size=1, num_rows=1), SCHEMA)
    assert (caught.value.subject, caught.value.found) == ("gone.parquet", "no file")


def test_columns_of_another_type_are_corrupt(files: LocalFiles) -> None:
    file = put(files, pyarrow.table({"id": ["1"], "name": ["x"]}))
    with pytest.raises(Corrupt) as caught:
        rows(files, file, SCHEMA)
    assert caught.value.found == "id: long expected, string found"


def test_a_required_column_that_lacks_or_has_nulls_is_corrupt(files: LocalFiles) -> None:
    required = Schema([replace(one, required=True) for one in SCHEMA.fields])
    with pytest.raises(Corrupt, match="name: string not null expected, no such column found"):
        rows(files, put(files, pyarrow.table({"id": [1]})), required)
    with pytest.raises(Corrupt, match="required column has a null"):
        rows(files, put(files, pyarrow.table({"id": [1], "name": pyarrow.nulls(1, pyarrow.string())})), required)


def test_what_the_system_refuses_is_no_damage(files: LocalFiles) -> None:
    file = put(files, ROWS)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with pytest.raises(Unavailable, match="too many files") as caught:
            rows(files, file, SCHEMA)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.subject == file.path
