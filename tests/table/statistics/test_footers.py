"""Statistics from Parquet footers: sound for every type and writer, or absent."""

import io
import math
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.manifest.delta import ADDED, COLUMNAR, file_format
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import NAMES, Field, Struct, leaves, parse_type
from lakebed.table.types.values import decode_bound, scaled
from tests.support.examples import examples
from tests.support.raw_names import with_raw_names

SPARK = Path(__file__).parents[2] / "golden/spark.parquet"
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)

# Each type's values in a file: its Arrow type, the plain values, and how Arrow takes them.
ARROW = {
    "boolean": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), INT32),
    "long": (pa.int64(), INT64),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "date": (pa.date32(), INT32),
    "timestamp": (pa.timestamp("us"), INT64),
    "timestamptz": (pa.timestamp("us", "Europe/Berlin"), INT64),
    "time": (pa.time64("us"), st.integers(0, 86_400_000_000 - 1)),
    "timestamp_ns": (pa.timestamp("ns"), INT64),
    "timestamptz_ns": (pa.timestamp("ns", "Europe/Berlin"), INT64),
    "string": (pa.string(), st.text(max_size=60)),
    "uuid": (pa.uuid(), st.binary(min_size=16, max_size=16)),
    "fixed(3)": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "fixed(40)": (pa.binary(40), st.binary(min_size=40, max_size=40)),
    "binary": (pa.binary(), st.binary(max_size=60)),
    "decimal(9, 2)": (pa.decimal128(9, 2), st.integers(-(10**9) + 1, 10**9 - 1)),
    "decimal(18, 0)": (pa.decimal128(18, 0), st.integers(-(10**18) + 1, 10**18 - 1)),
    "decimal(38, 10)": (pa.decimal128(38, 10), st.integers(-(10**38) + 1, 10**38 - 1)),
}
TIMES = ("time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
RAW = {"date": pa.int32(), **dict.fromkeys(TIMES, pa.int64())}


def table_schema(columns):
    """A schema whose columns are called in files as they are in the table, as in files of other writers."""
    return with_raw_names(with_ids(Schema(columns), 1, 1))


def written(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "zstd", "version": "2.6", **options})
    return pq.ParquetFile(sink).metadata


def statistics(metadata, schema, **options):
    file = data_file(metadata, schema, path="data/a.parquet", size=123, **options)
    names = {path[-1].id: path[-1].name for path in leaves(schema.fields)}
    return {names[one.field_id]: one for one in file.statistics}


def bounds(known, type):
    """Lower and upper as plain values; None where unset."""
    return tuple(
        decode_bound(parse_type(type), getattr(known, name)) if known.HasField(name) else None
        for name in ("lower", "upper")
    )


def plain(type, value):
    return scaled(value, parse_type(type).scale) if type.startswith("decimal") and value is not None else value


def column(type, values):
    """An Arrow column of plain values; Python's own dates would not reach as far as they do."""
    if type in RAW:
        return pa.array(values, RAW[type]).cast(ARROW[type][0])
    return pa.array([plain(type, value) for value in values], ARROW[type][0])


def numbers(arrow, *values):
    """An Arrow column of any type, made of whole numbers."""
    if pa.types.is_decimal(arrow):
        return pa.array([Decimal(value) for value in values], arrow)
    if pa.types.is_binary(arrow):
        return pa.array([str(value).encode() for value in values], arrow)
    narrow = pa.types.is_date(arrow) or pa.types.is_floating(arrow)
    return pa.array(values, pa.int32() if narrow else pa.int64()).cast(arrow)


def test_every_type_with_values_is_covered():
    assert {name for name in ARROW if not name.startswith(("decimal", "fixed"))} == NAMES.keys()


def test_the_entry_of_a_file_has_its_size_and_rows_and_is_added_and_columnar():
    metadata = written(pa.table({"a": [1, 2, 3]}))
    file = data_file(metadata, table_schema({"a": "long"}), path="data/a.parquet", size=123)
    assert (file.path, file.file_size, file.num_rows, file.status) == ("data/a.parquet", 123, 3, ADDED)
    assert file_format(file) == COLUMNAR, "without a stamp, a file on level 0 would be taken for a dual one"
    assert not file.HasField("first_row_id")


def test_the_statistics_of_a_column():
    metadata = written(pa.table({"a": pa.array([3, None, -1], pa.int64())}))
    [known] = data_file(metadata, table_schema({"a": "long"}), path="a", size=1).statistics
    assert (known.field_id, known.value_count, known.null_count) == (1, 3, 1)
    assert known.size == metadata.row_group(0).column(0).total_compressed_size > 0
    assert bounds(known, "long") == (-1, 3)
    assert not known.HasField("nan_count")


@settings(max_examples=examples(120, 300), deadline=None)
@given(st.data(), st.sampled_from(sorted(ARROW)), st.integers(1, 4), st.booleans())
def test_bounds_hold_for_every_value_of_every_type(data, type, group_rows, as_integers):
    values = data.draw(st.lists(st.none() | ARROW[type][1], max_size=10))
    table = pa.table({"a": column(type, values)})
    metadata = written(table, row_group_size=group_rows, store_decimal_as_integer=as_integers)
    known = statistics(metadata, table_schema({"a": type}))["a"]
    assert (known.value_count, known.null_count) == (len(values), values.count(None))
    lower, upper = bounds(known, type)
    present = [plain(type, value) for value in values if value is not None]
    numbers = [value for value in present if value == value]
    for value in numbers:
        assert lower is None or lower <= value
        assert upper is None or value <= upper
    if len(numbers) == len(present):
        assert (lower is None) == (not present), "bounds are missing though the footer has them"
    if numbers == present != [] and type not in ("string", "binary", "fixed(40)"):
        assert (lower, upper) == (min(present), max(present))


def test_row_groups_of_only_nulls_need_no_bounds():
    table = pa.table({"a": pa.array([None, None, 5, None, None, 7], pa.int32())})
    known = statistics(written(table, row_group_size=2), table_schema({"a": "int"}))["a"]
    assert (known.null_count, bounds(known, "int")) == (4, (5, 7))


def test_a_column_of_only_nulls_and_a_file_without_rows_have_no_bounds():
    for values in ([None, None], []):
        known = statistics(written(pa.table({"a": pa.array(values, pa.int32())})), table_schema({"a": "int"}))["a"]
        assert (known.value_count, known.null_count, bounds(known, "int")) == (len(values), len(values), (None, None))


def test_a_row_group_without_statistics_leaves_all_unset():
    table = pa.table({"a": [1, 2], "b": [1, 2]})
    found = statistics(written(table, write_statistics=["b"]), table_schema({"a": "long", "b": "long"}))
    assert not found["a"].HasField("null_count")
    assert (found["a"].value_count, bounds(found["a"], "long")) == (2, (None, None))
    assert bounds(found["b"], "long") == (1, 2)


def test_zeros_are_bounded_by_both_and_nans_are_ignored_or_leave_bounds_unset():
    table = pa.table({"zero": [0.0, 0.0], "minus": [-0.0, -0.0], "nan": [math.nan, 1.0], "nans": [math.nan, math.nan]})
    found = statistics(written(table), table_schema(dict.fromkeys(table.column_names, "double")))
    for name in ("zero", "minus"):
        lower, upper = bounds(found[name], "double")
        assert (math.copysign(1, lower), math.copysign(1, upper)) == (-1, 1)
    assert bounds(found["nan"], "double") == (1.0, 1.0)
    assert bounds(found["nans"], "double") == (None, None)


def test_nans_are_counted_by_whoever_knows():
    metadata = written(pa.table({"a": [math.nan, 1.0], "b": [1.0, 1.0]}))
    found = statistics(metadata, table_schema({"a": "double", "b": "double"}), nan_counts=[{1: 1}])
    assert found["a"].nan_count == 1
    assert not found["b"].HasField("nan_count")


@pytest.mark.parametrize(
    ("arrow", "type", "lower", "upper"),
    [
        (pa.int32(), "long", -2, 1),
        (pa.int8(), "int", -2, 1),
        (pa.int16(), "long", -2, 1),
        (pa.float32(), "double", -2.0, 1.0),
        (pa.decimal128(5, 2), "decimal(9, 2)", Decimal(-2), Decimal(1)),
        (pa.large_string(), "string", "-2", "1"),
    ],
)
def test_a_column_that_was_widened_has_bounds_of_its_new_type(arrow, type, lower, upper):
    known = statistics(written(pa.table({"a": numbers(arrow, 1, -2)})), table_schema({"a": type}))["a"]
    assert bounds(known, type) == (lower, upper)


@pytest.mark.parametrize(
    ("arrow", "type"),
    [
        (pa.int64(), "int"),
        (pa.uint32(), "int"),
        (pa.uint32(), "long"),
        (pa.uint64(), "long"),
        (pa.int64(), "double"),
        (pa.int64(), "timestamp"),
        (pa.int32(), "date"),
        (pa.date32(), "int"),
        (pa.float64(), "float"),
        (pa.float16(), "float"),
        (pa.timestamp("ms"), "timestamp"),
        (pa.timestamp("ns"), "timestamp"),
        (pa.timestamp("us"), "timestamptz"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.decimal128(9, 3), "decimal(9, 2)"),
        (pa.decimal128(10, 2), "decimal(9, 2)"),
        (pa.string(), "binary"),
        (pa.binary(), "string"),
        (pa.int32(), "decimal(9, 2)"),
    ],
)
def test_a_column_of_another_type_has_no_bounds(arrow, type):
    known = statistics(written(pa.table({"a": numbers(arrow, 1, 2)})), table_schema({"a": type}))["a"]
    assert (known.value_count, known.null_count, bounds(known, type)) == (2, 0, (None, None))


def test_old_timestamps_of_96_bits_have_no_bounds():
    metadata = written(pa.table({"a": column("timestamp", [1, 2])}), use_deprecated_int96_timestamps=True)
    assert bounds(statistics(metadata, table_schema({"a": "timestamp"}))["a"], "timestamp") == (None, None)


def test_a_column_that_the_file_lacks_has_no_entry():
    assert statistics(written(pa.table({"a": [1]})), table_schema({"b": "long"})) == {}


def test_columns_are_found_by_the_names_that_they_have_in_the_file():
    schema = Schema([Field("renamed", "long", id=7, physical_name="a"), Field("a", "long", id=8, physical_name="b")])
    found = statistics(written(pa.table({"b": [2], "a": [1]})), schema)
    assert bounds(found["renamed"], "long") == (1, 1)
    assert bounds(found["a"], "long") == (2, 2)


def test_a_dot_in_a_name_is_no_path():
    flat = pa.table({"a.b": [1], "a": pa.array([{"b": 2}])})
    schema = table_schema({"a.b": "long", "a": "struct<b: long>"})
    found = {one.field_id: bounds(one, "long") for one in data_file(written(flat), schema, path="", size=1).statistics}
    assert found == {1: (1, 1), 3: (2, 2)}
    assert statistics(written(flat.select(["a"])), table_schema({"a.b": "long"})) == {}
    assert statistics(written(flat.select(["a.b"])), table_schema({"a": "struct<b: long>"})) == {}


def test_a_deep_dot_is_no_path_either():
    table = pa.table({"a": pa.array([{"b": {"c": 1}}])})
    inner = Struct((Field("c", "long"),))
    assert statistics(written(table), table_schema({"a.b": inner})) == {}
    assert bounds(statistics(written(table), table_schema({"a": Struct((Field("b", inner),))}))["c"], "long") == (1, 1)


def test_leaves_of_structs_have_entries_and_what_is_in_lists_and_maps_has_none():
    table = pa.table(
        {
            "list": pa.array([[1, 2], None], pa.list_(pa.int64())),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "struct": pa.array([{"x": None, "y": [1]}, None], pa.struct({"x": pa.int32(), "y": pa.list_(pa.int64())})),
            "last": pa.array([5, 6], pa.int64()),
        }
    )
    types = {
        "list": "list<long>",
        "map": "map<string, long>",
        "struct": "struct<x: int, y: list<long>>",
        "last": "long",
    }
    found = statistics(written(table), table_schema(types))
    assert found.keys() == {"x", "last"}
    assert (found["x"].value_count, found["x"].null_count) == (2, 2)
    assert bounds(found["last"], "long") == (5, 6)


def test_a_list_of_the_file_is_no_struct_of_the_schema():
    table = pa.table({"a": pa.array([[1, 2]], pa.list_(pa.field("element", pa.int64())))})
    assert statistics(written(table), table_schema({"a": "struct<element: long>"})) == {}


def test_two_columns_of_one_name_have_no_entry():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert statistics(written(table), table_schema({"a": "long"})) == {}


def test_a_file_that_spark_wrote():
    """Made by pyspark 4.3 with TIMESTAMP_MICROS in the session time zone America/New_York."""
    types = {
        "b": "boolean",
        "i": "int",
        "l": "long",
        "f": "float",
        "d": "double",
        "date": "date",
        "ts": "timestamp",
        "tz": "timestamptz",
        "s": "string",
        "bin": "binary",
        "dec9": "decimal(9, 2)",
        "dec18": "decimal(18, 2)",
        "dec38": "decimal(38, 2)",
        "a.b": "int",
    }
    found = statistics(pq.ParquetFile(SPARK).metadata, table_schema({**types, "st": "struct<x: int, `y.z`: string>"}))
    assert {name: bounds(found[name], type) for name, type in types.items()} == {
        "b": (False, True),
        "i": (-1, 1),
        "l": (-2, 2),
        "f": (None, None),  # it has a NaN, and Spark then writes no bounds
        "d": (0.0, 0.0),
        "date": (-719_162, 2_932_532),  # 0001-01-01 to 9999-01-01
        "ts": (-315_619_199_999_999, 253_370_764_800_000_001),
        "tz": (0, 253_402_300_800_000_000),  # to the year 10000, which Python's datetime does not have
        "s": ("a", "é"),
        "bin": (b"\x00", b"\xff"),
        "dec9": (Decimal("-1.23"), Decimal("4.23")),
        "dec18": (Decimal("-1.23"), Decimal("4.23")),
        "dec38": (Decimal("-1.23"), Decimal("4.23")),
        "a.b": (1, 1),
    }
    assert (found["x"].null_count, found["y.z"].null_count, found["a.b"].null_count) == (0, 1, 1)


def test_a_file_that_duckdb_wrote(tmp_path):
    duckdb.sql(
        "copy (select range::int i, range / 2 d, repeat('é', 100) || range s, range::decimal(12, 2) n,"
        " epoch_ms(range) t from range(-5, 5)) to '{}' (format parquet)".format(tmp_path / "a.parquet")
    )
    types = {"i": "int", "d": "double", "s": "string", "n": "decimal(12, 2)", "t": "timestamp"}
    found = statistics(pq.ParquetFile(tmp_path / "a.parquet").metadata, table_schema(types))
    assert bounds(found["i"], "int") == (-5, 4)
    assert bounds(found["d"], "double") == (-2.5, 2.0)
    assert bounds(found["n"], "decimal(12, 2)") == (Decimal(-5), Decimal(4))
    assert bounds(found["t"], "timestamp") == (-5000, 4000)
    lower, upper = bounds(found["s"], "string")
    assert lower is None or lower <= "é" * 100 + "-1"
    assert upper is None or upper >= "é" * 100 + "4"
