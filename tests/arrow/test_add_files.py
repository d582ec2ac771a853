"""Parquet files that others wrote become entries as they are, or are refused with every reason."""

import struct
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from lakebed.arrow.add_files import added_files
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import schema_of
from lakebed.arrow.write.write import write
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.partition.spec import UNPARTITIONED, make_spec
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.evolution import add_column, rename_column, widen_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field
from tests.support.added_entries import SCHEMA, TABLE, entry, numbered, refusal
from tests.support.damage.parquet_files import written
from tests.support.damage.thrift import tree_of, with_tree
from tests.support.sources import sources_of


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "lake")


# What an entry says


def test_an_entry_has_the_files_path_size_rows_and_statistics(files, put, tmp_path):
    path = put(TABLE)
    found = entry(files, path)
    assert found.path == f"file://{tmp_path}/a.parquet"
    assert (found.file_size, found.num_rows) == (Path(path).stat().st_size, 3)
    known = {one.field_id: one for one in found.statistics}
    assert (known[1].lower, known[1].upper) == (struct.pack("<q", 1), struct.pack("<q", 3))
    assert (known[2].null_count, known[2].value_count) == (1, 3)
    assert not found.HasField("first_row_id")
    assert not found.HasField("field_ids")


def test_a_file_inside_the_lake_has_a_relative_path(files, put):
    assert entry(files, put(TABLE, "lake/landing/a.parquet")).path == "landing/a.parquet"


def test_files_keep_their_order(files, put):
    paths = [put(TABLE, f"{name}.parquet") for name in "cab"]
    assert [files.location(one.path) for one in added_files(files, SCHEMA, UNPARTITIONED, paths)] == paths
    assert added_files(files, SCHEMA, UNPARTITIONED, []) == []


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none"},
        {"compression": "gzip"},
        {"compression": "brotli"},
        {"compression": "lz4"},
        {"use_dictionary": False},
        {"data_page_version": "2.0"},
        {"row_group_size": 2},
        {"write_statistics": False},
        {"write_page_checksum": True},
        {"version": "1.0"},
        {"store_schema": False},
    ],
    ids=str,
)
def test_files_of_every_layout_are_taken(files, put, options):
    found = entry(files, put(TABLE, **options))
    assert found.num_rows == 3
    assert len(found.blocks) == (2 if "row_group_size" in options else 0)


def test_nan_counts_are_unknown(files, put):
    found = entry(files, put(pyarrow.table({"x": [1.0, float("nan")]})), numbered({"x": "double"}))
    assert not found.statistics[0].HasField("nan_count")


def test_the_bloom_filters_of_a_file_are_sealed(files, put):
    path = put(TABLE, bloom_filter_options={"id": {"ndv": 3, "fpp": 0.01}})
    known = entry(files, path).statistics[0]
    assert known.HasField("bloom_offset")
    assert known.HasField("bloom_checksum")


# Columns


@pytest.mark.parametrize(
    "arrow, type",
    [
        (pyarrow.bool_(), "boolean"),
        (pyarrow.int8(), "int"),
        (pyarrow.int32(), "int"),
        (pyarrow.int32(), "long"),
        (pyarrow.float32(), "float"),
        (pyarrow.float32(), "double"),
        (pyarrow.date32(), "date"),
        (pyarrow.time64("us"), "time"),
        (pyarrow.timestamp("ms"), "timestamp"),
        (pyarrow.timestamp("us"), "timestamp"),
        (pyarrow.timestamp("us", "Europe/Berlin"), "timestamptz"),
        (pyarrow.timestamp("ms", "UTC"), "timestamptz"),
        (pyarrow.timestamp("ns"), "timestamp_ns"),
        (pyarrow.timestamp("ns", "UTC"), "timestamptz_ns"),
        (pyarrow.large_string(), "string"),
        (pyarrow.string_view(), "string"),
        (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), "string"),
        (pyarrow.binary(), "binary"),
        (pyarrow.binary(3), "binary"),
        (pyarrow.binary(3), "fixed(3)"),
        (pyarrow.uuid(), "uuid"),
        (pyarrow.decimal128(9, 2), "decimal(9, 2)"),
        (pyarrow.decimal128(38, 10), "decimal(38, 10)"),
        (pyarrow.list_(pyarrow.int32()), "list<long>"),
        (pyarrow.large_list(pyarrow.string()), "list<string>"),
        (pyarrow.map_(pyarrow.string(), pyarrow.float32()), "map<string, double>"),
        (
            pyarrow.struct([("x", pyarrow.int32()), ("y", pyarrow.list_(pyarrow.date32()))]),
            "struct<x: int, y: list<date>>",
        ),
    ],
    ids=str,
)
def test_a_column_that_can_be_read_as_the_tables_is_taken(files, put, arrow, type):
    table = pyarrow.table([pyarrow.nulls(2, arrow)], ["c"])
    assert entry(files, put(table), numbered({"c": type})).num_rows == 2


@pytest.mark.parametrize(
    "arrow, type",
    [
        (pyarrow.int64(), "int"),
        (pyarrow.int64(), "double"),
        (pyarrow.int32(), "float"),
        (pyarrow.float64(), "float"),
        (pyarrow.string(), "long"),
        (pyarrow.int64(), "string"),
        (pyarrow.binary(), "string"),
        (pyarrow.string(), "binary"),
        (pyarrow.uint8(), "int"),
        (pyarrow.uint32(), "long"),
        (pyarrow.uint64(), "long"),
        (pyarrow.float16(), "float"),
        (pyarrow.date32(), "timestamp"),
        (pyarrow.timestamp("us"), "date"),
        (pyarrow.timestamp("us"), "timestamptz"),
        (pyarrow.timestamp("us", "UTC"), "timestamp"),
        (pyarrow.timestamp("ns"), "timestamp"),
        (pyarrow.timestamp("us"), "timestamp_ns"),
        (pyarrow.time32("ms"), "time"),
        (pyarrow.duration("us"), "long"),
        (pyarrow.binary(16), "uuid"),
        (pyarrow.binary(4), "fixed(3)"),
        (pyarrow.binary(), "fixed(3)"),
        (pyarrow.decimal128(9, 2), "decimal(9, 3)"),
        (pyarrow.decimal128(9, 2), "decimal(10, 2)"),
        (pyarrow.decimal128(10, 2), "decimal(9, 2)"),
        (pyarrow.decimal128(9, 2), "double"),
        (pyarrow.null(), "long"),
        (pyarrow.list_(pyarrow.int64()), "list<int>"),
        (pyarrow.list_(pyarrow.int64()), "long"),
        (pyarrow.int64(), "list<long>"),
        (pyarrow.struct([("x", pyarrow.int64())]), "struct<x: string>"),
        (pyarrow.struct([("x", pyarrow.int64())]), "map<string, long>"),
        (pyarrow.map_(pyarrow.string(), pyarrow.int64()), "map<string, int>"),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_named(files, put, arrow, type):
    table = pyarrow.table([pyarrow.nulls(2, arrow), pyarrow.array([1, 2])], ["c", "id"])
    found = refusal(files, put(table), numbered({"c": type, "id": "long"}))
    assert "/a.parquet: c" in found
    assert "expected" in found
    assert "id:" not in found


def test_times_of_the_old_form_are_refused(files, put):
    # Whether they are instants or of no zone is nowhere written: Spark takes them for the one, Arrow for the other.
    table = pyarrow.table({"t": pyarrow.array([0], pyarrow.timestamp("us"))})
    path = put(table, use_deprecated_int96_timestamps=True)
    assert "t: timestamp expected, INT96 found" in refusal(files, path, numbered({"t": "timestamp"}))
    assert "t: timestamp_ns expected, INT96 found" in refusal(files, path, numbered({"t": "timestamp_ns"}))
    assert "t: timestamptz expected" in refusal(files, path, numbered({"t": "timestamptz"}))


def test_dates_of_the_old_calendar_are_refused(files, put):
    old = pyarrow.table({"d": [date(1500, 1, 1)]}).replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    path = put(old)
    assert "calendar" in refusal(files, path, numbered({"d": "date"}))
    other = TABLE.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    assert entry(files, put(other, "b.parquet")).num_rows == 3


def test_all_misfits_of_all_files_are_in_one_error(files, put):
    wrong = put(pyarrow.table({"id": ["1"], "name": [1]}), "wrong.parquet")
    good = put(TABLE, "good.parquet")
    lacks = put(pyarrow.table({"name": ["a"]}), "lacks.parquet")
    schema = numbered(Schema([Field("id", "long", required=True), Field("name", "string")]))
    with pytest.raises(Invalid) as caught:
        added_files(files, schema, UNPARTITIONED, [wrong, good, lacks])
    found = caught.value.found.split("; ")
    assert [one.partition("/a.parquet: ")[0].rpartition("/")[2].partition(":")[0] for one in found] == [
        "wrong.parquet",
        "wrong.parquet",
        "lacks.parquet",
    ]
    assert "id: long expected, string found" in found[0]
    assert "name: string expected, int64 found" in found[1]
    assert "id: long not null expected, no such column found" in found[2]
    assert caught.value.subject == "3 files"


def test_columns_that_the_table_lacks_are_left_out_and_remembered(files, put):
    inner = pyarrow.array([{"x": 1, "z": 2}])
    table = pyarrow.table({"id": [1], "other": ["x"], "s": inner, "l": [[1]]})
    schema = numbered({"id": "long", "s": "struct<x: long, y: long>", "l": "list<long>", "name": "string"})
    found = entry(files, put(table), schema)
    expected = {schema.find(path).id for path in ("id", "s", "s.x", "l", "l.element")}
    assert field_ids_of(found) == expected


def test_a_file_with_none_of_the_tables_columns_is_refused(files, put):
    assert "none of them is the table's" in refusal(files, put(pyarrow.table({"other": [1]})))


def test_columns_are_found_by_the_names_that_they_have_in_files(files, put):
    renamed = rename_column(SCHEMA, "name", "title")
    assert entry(files, put(TABLE), renamed).num_rows == 3
    found = refusal(files, put(TABLE.rename_columns(["id", "title"]), "b.parquet"), renamed)
    assert "title: files of the table call the column 'name'" in found


def test_a_name_in_another_case_is_refused_for_its_rows_would_be_null(files, put):
    assert "Name: files of the table call the column 'name'" in refusal(
        files, put(TABLE.rename_columns(["id", "Name"]))
    )


def test_two_columns_of_one_name_are_refused(files, put):
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["id", "id"])
    assert "two columns of this name" in refusal(files, put(table))


def test_columns_with_dots_in_their_names_are_told_apart(files, put):
    table = pyarrow.table({"a.b": [7], "a": pyarrow.array([{"b": 1}])})
    schema = numbered(Schema([Field("a", "struct<b: long>"), Field("a.b", "long")]))
    found = entry(files, put(table), schema)
    bounds = {one.field_id: struct.unpack("<q", one.lower)[0] for one in found.statistics}
    assert bounds == {schema.find(("a", "b")).id: 1, schema.find(("a.b",)).id: 7}


def with_field_ids(table, ids):
    fields = [
        one.with_metadata({"PARQUET:field_id": str(id)}) if id else one
        for one, id in zip(table.schema, ids, strict=True)
    ]
    return table.cast(pyarrow.schema(fields))


def test_field_ids_of_the_table_are_fine(files, put):
    assert entry(files, put(with_field_ids(TABLE, [1, 2]))).num_rows == 3
    assert entry(files, put(with_field_ids(TABLE, [1, None]), "b.parquet")).num_rows == 3


@pytest.mark.parametrize("ids", [[2, 1], [1, 7], [None, 1]], ids=str)
def test_field_ids_of_another_table_are_refused(files, put, ids):
    assert "another table" in refusal(files, put(with_field_ids(TABLE, ids)))


def test_a_column_that_is_left_out_has_no_field_id(files, put):
    table = TABLE.append_column("other", [[1, 2, 3]])
    assert "other: field id 9" in refusal(files, put(with_field_ids(table, [1, 2, 9])))


def test_a_file_of_the_same_table_is_taken_when_it_is_copied_out(files, put, tmp_path):
    [own] = write(files, "tables/x/data", SCHEMA, TABLE)
    (tmp_path / "copy.parquet").write_bytes(files.read(own.path))
    assert entry(files, str(tmp_path / "copy.parquet")).num_rows == 3


def test_narrower_decimals_are_taken_where_the_column_was_widened(files, put):
    table = pyarrow.table({"d": pyarrow.array([Decimal("1.25")], pyarrow.decimal128(9, 2))})
    narrow = numbered({"d": "decimal(9, 2)"})
    wide = widen_column(narrow, "d", "decimal(20, 2)")
    assert entry(files, put(table), wide).num_rows == 1
    assert "the table's files have more digits" in refusal(files, put(table), numbered({"d": "decimal(20, 2)"}))


def test_extension_types_that_hide_columns_don_not_shift_the_others(files, put):
    storage = pyarrow.array([[1, 2]], pyarrow.list_(pyarrow.int32(), 2))
    tensor = pyarrow.ExtensionArray.from_storage(pyarrow.fixed_shape_tensor(pyarrow.int32(), [2]), storage)
    table = pyarrow.table({"t": tensor, "id": [7], "name": ["a"]})
    found = entry(files, put(table))
    assert struct.unpack("<q", found.statistics[0].lower) == (7,)


# Nulls and defaults


def test_a_column_that_lacks_is_null_or_has_its_default(files, put):
    path = put(pyarrow.table({"id": [1]}))
    assert entry(files, path).num_rows == 1
    grown = add_column(SCHEMA, "kind", "string", ids=iter([9]), required=True, default="x")
    assert entry(files, path, grown).num_rows == 1
    required = numbered(Schema([Field("id", "long"), Field("name", "string", required=True)]))
    assert "name: string not null expected, no such column found" in refusal(files, path, required)


REQUIRED = numbered(Schema([Field("id", "long", required=True), Field("name", "string")]))


@pytest.mark.parametrize("statistics", [True, False])
def test_a_null_where_a_value_is_required_is_found(files, put, statistics):
    path = put(pyarrow.table({"id": [1, None], "name": ["a", "b"]}), write_statistics=statistics)
    assert "id" in refusal(files, path, REQUIRED)
    fine = put(pyarrow.table({"id": [1, 2], "name": ["a", None]}), "b.parquet", write_statistics=statistics)
    assert entry(files, fine, REQUIRED).num_rows == 2


@pytest.mark.parametrize(
    "type, good, bad",
    [
        (pyarrow.struct([("x", pyarrow.int64())]), [{"x": 1}, None], [{"x": None}, None]),
        (pyarrow.list_(pyarrow.struct([("x", pyarrow.int64())])), [[{"x": 1}], None, []], [[{"x": None}]]),
        (pyarrow.map_(pyarrow.string(), pyarrow.int64()), [[("a", 1)], None], [[("a", None)]]),
    ],
    ids=str,
)
def test_a_null_inside_of_a_column_is_found(files, put, type, good, bad):
    schema = numbered(schema_of(pyarrow.schema([("c", strict(type))])))
    assert entry(files, put(pyarrow.table({"c": pyarrow.array(good, type)})), schema).num_rows == len(good)
    assert "c." in refusal(files, put(pyarrow.table({"c": pyarrow.array(bad, type)}), "b.parquet"), schema)


def strict(type):
    """The type whose innermost values are required."""
    if pyarrow.types.is_struct(type):
        return pyarrow.struct([one.with_nullable(False) for one in type])
    if pyarrow.types.is_map(type):
        return pyarrow.map_(type.key_type, type.item_field.with_nullable(False))
    return pyarrow.list_(strict(type.value_type))


# Other writers


def test_files_of_duckdb_are_taken(files, tmp_path):
    path = str(tmp_path / "duck.parquet")
    duckdb.sql(
        f"""COPY (SELECT range AS id, 'n' || (range % 3) AS name, DATE '2020-01-01' AS day, range::DECIMAL(9, 2) AS d,
        uuid() AS u, [range, NULL] AS l, {{'x': range}} AS s, MAP {{'k': 1}} AS m, TIMESTAMPTZ '2020-01-01' AS at,
        'x'::BLOB AS b, 1.5::FLOAT AS f FROM range(5000)) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"""
    )
    types = {
        "id": "long",
        "name": "string",
        "day": "date",
        "d": "decimal(9, 2)",
        "u": "uuid",
        "l": "list<long>",
        "s": "struct<x: long>",
        "m": "map<string, int>",
        "at": "timestamptz",
        "b": "binary",
        "f": "double",
    }
    schema = numbered(types)
    found = entry(files, path, schema, make_spec(schema, ["day(day)", "month(at)"], spec_id=1))
    assert (found.num_rows, len(found.blocks)) == (5000, 3)
    assert any(one.HasField("bloom_checksum") for one in found.blocks[0].columns)


def test_files_of_pandas_are_taken_as_their_types_are(files, tmp_path):
    frame = pandas.DataFrame(
        {"id": [1, 2], "name": pandas.Categorical(["a", "b"]), "at": pandas.to_datetime(["2020-01-01", "2020-01-02"])}
    )
    path = str(tmp_path / "pandas.parquet")
    frame.to_parquet(path)
    assert entry(files, path, numbered({"id": "long", "name": "string", "at": "timestamp_ns"})).num_rows == 2
    assert "at: timestamp expected" in refusal(
        files, path, numbered({"id": "long", "name": "string", "at": "timestamp"})
    )
    frame.to_parquet(path, coerce_timestamps="us")
    assert entry(files, path, numbered({"id": "long", "name": "string", "at": "timestamp"})).num_rows == 2


def not_utf8() -> pyarrow.Array:
    return pyarrow.Array.from_buffers(pyarrow.string(), 1, pyarrow.array([b"caf\xe9"]).buffers())


def test_text_that_is_not_utf_8_is_never_handed_out(files, put):
    # It came out of the scan, and failed wherever it was looked at.
    added = entry(files, put(pyarrow.table({"id": [1], "name": not_utf8()}), write_statistics=False), verify=False)
    with pytest.raises(Corrupt, match=r"a\.parquet: the file has values that its columns can't have .*UTF8"):
        Scan(sources_of(files), SCHEMA, pruned_plan([PlannedFile(added)])).to_arrow()
    only_ids = Scan(sources_of(files), SCHEMA, pruned_plan([PlannedFile(added)]), columns=["id"])
    assert only_ids.to_arrow().to_pylist() == [{"id": 1}]


def test_bounds_that_a_writer_cut_or_mixed_up_are_not_used(files, tmp_path):
    # Arrow ended the process at bounds of a fixed length that are shorter: arrow-rs cuts them at 64 bytes.
    schema = with_ids(Schema({"sized": "fixed(3)", "id": "long"}), 0, 1)
    whole = written(pyarrow.table({"sized": pyarrow.array([b"abc", b"abd"], pyarrow.binary(3)), "id": [1, 2]}))
    tree = tree_of(whole)
    sized, id = (chunk["column"]["statistics"] for chunk in tree["row_groups"][0]["columns"])
    sized.update(min_value=b"ab", max_value=b"ac")
    id.update(min_value=id["max_value"], max_value=id["min_value"])
    (tmp_path / "cut.parquet").write_bytes(with_tree(whole, tree))
    added = entry(files, str(tmp_path / "cut.parquet"), schema)
    assert [known.HasField("lower") for known in added.statistics] == [False, False]
    assert Scan(sources_of(files), schema, pruned_plan([PlannedFile(added)])).to_arrow().num_rows == 2
