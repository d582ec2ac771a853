"""Hidden partitions by Spark: the same as the local engine's for the same rows, whatever their values are."""

import random
from collections import Counter
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from lakebed.arrow.write.write import write as write_arrow
from lakebed.catalog.tables.properties import Distribution, WriteOptions
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read
from lakebed.spark.write.partitions import NAMED_BYTES
from lakebed.spark.write.write import write
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import PartitionSpec, make_spec
from lakebed.table.partition.values import partition_key
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.values import scaled
from tests.support.examples import long_but

NAN = float("nan")
CHANCE = random.Random(3)
LONG_TEXT = "é" * NAMED_BYTES
WORDS = ["", "a", "null", "n", "v1", "/", "..", "a=b%/\\:*?\0", "日本", LONG_TEXT, LONG_TEXT + "!", None, "A"]
NUMBERS = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31) + 7, 10, 11, None, 100, -100, 3]
MOMENTS = [0, -1, 1, -86_400_000_001, 3_599_999_999, 3_600_000_000, 10**15, -(10**15), 10**17, None, 5, -5, 17]
FLOATS = [0.0, -0.0, NAN, -NAN, float("inf"), -float("inf"), 1.5, -1.5, 0.1, None, 1e-30, 5e-324, 1e10]
DIGITS = [0, 1, -1, 10**9 - 1, 100 - 10**9, 123, -123, 50, 99, None, 100, -100, 5]

COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "flag": ("boolean", [None if one is None else one > 0 for one in NUMBERS]),
    "i": ("int", NUMBERS),
    "l": ("long", [None if one is None else one << 31 for one in NUMBERS]),
    "f": ("float", FLOATS),
    "d": ("double", FLOATS),
    "dec": ("decimal(9, 2)", [None if one is None else scaled(one, 2) for one in DIGITS]),
    "wide": ("decimal(38, 20)", [None if one is None else scaled(one * 10**18, 20) for one in DIGITS]),
    "day": ("date", [None if one is None else one // 86_400_000_000 for one in MOMENTS]),
    "t": ("timestamp", MOMENTS),
    "tz": ("timestamptz", MOMENTS),
    "s": ("string", WORDS),
    "b": ("binary", [None if one is None else one.encode() + b"\xff" for one in WORDS]),
}
SCHEMA = with_ids(
    Schema({**{name: kind for name, (kind, _) in COLUMNS.items()}, "home": "struct<`a.b`: string>", "row": "int"}), 1, 1
)


def table() -> pyarrow.Table:
    """The values of all columns beside one another, twice, in another order the second time."""
    forms = {
        "int": pyarrow.int32(),
        "float": pyarrow.float32(),
        "date": pyarrow.date32(),
        "timestamp": pyarrow.timestamp("us"),
        "timestamptz": pyarrow.timestamp("us", "UTC"),
        "decimal(9, 2)": pyarrow.decimal128(9, 2),
        "decimal(38, 20)": pyarrow.decimal128(38, 20),
    }
    places = [*range(len(WORDS)), *CHANCE.sample(range(len(WORDS)), len(WORDS))]
    columns = {name: pyarrow.array(values, forms.get(kind)).take(places) for name, (kind, values) in COLUMNS.items()}
    home = [None if WORDS[at] == "A" else {"a.b": WORDS[at]} for at in places]
    struct = pyarrow.struct([("a.b", pyarrow.string())])
    rows = pyarrow.array(range(len(places)), pyarrow.int32())
    return pyarrow.table({**columns, "home": pyarrow.array(home, struct), "row": rows})


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[pyarrow.Table, Any]:
    """The same rows for both engines: Spark has them from a file, so that no converter changes them."""
    path, made = tmp_path_factory.mktemp("rows") / "rows.parquet", table()
    pyarrow.parquet.write_table(made, path)
    return made, spark.read.parquet(str(path))


def parts(files: LocalFiles, written: list[DataFileRef]) -> Counter[Any]:
    """How many rows each partition has, and which."""
    found = Counter[Any]()
    for one in written:
        for row in pyarrow.parquet.ParquetFile(files.location(one.path)).read(["row"])["row"].to_pylist():
            found[partition_key(one), row] += 1
    return found


PARTITIONS = [
    ["flag", "i", "l"],
    ["f", "d"],
    ["dec", "wide", "truncate(50, dec)", "bucket(5, dec)", "bucket(5, wide)"],
    ["day", "t", "tz"],
    ["year(day)", "month(t)", "day(tz)", "bucket(5, day)", "bucket(5, t)", "bucket(5, tz)"],
    ["month(day)", "hour(t)", "hour(tz)", "void(i)"],
    ["s", "b", "home.`a.b`"],
    ["truncate(2, s)", "truncate(2, b)", "truncate(150, home.`a.b`)", "bucket(5, s)", "bucket(5, b)"],
    ["truncate(7, i)", "truncate(7, l)", "bucket(5, i)", "bucket(5, l)"],
]


@pytest.mark.parametrize("texts", long_but(PARTITIONS, PARTITIONS[::3]), ids=" ".join)
def test_both_engines_make_the_same_partitions(
    files: LocalFiles, rows: tuple[pyarrow.Table, Any], texts: list[str]
) -> None:
    local, frame = rows
    spec = make_spec(SCHEMA, texts, spec_id=1)
    mine = write(files, "data/1", SCHEMA, frame, spec)
    assert parts(files, mine) == parts(files, write_arrow(files, "data/2", SCHEMA, local, spec))


def test_what_was_written_is_read(spark: SparkSession, files: LocalFiles, rows: tuple[pyarrow.Table, Any]) -> None:
    spec = make_spec(SCHEMA, ["s", "day(tz)"], spec_id=1)
    written = write(files, "data/1", SCHEMA, rows[1], spec)
    found = read(spark, files, SCHEMA, written)
    assert found.columns == list(SCHEMA.names)
    assert sorted(found.toArrow()["row"].to_pylist()) == list(range(rows[0].num_rows))


def test_a_column_that_is_called_as_a_partition_is_no_trouble(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema({"Lakebed_1000": "long", "lakebed_": "string"}), 1, 1)
    frame = spark.range(0, 4, 1, 1).selectExpr("id as lakebed_1000", "string(id) as lakebed_")
    written = write(files, "data/1", schema, frame, make_spec(schema, ["bucket(2, Lakebed_1000)"], spec_id=1))
    assert sum(one.num_rows for one in written) == 4
    assert pyarrow.parquet.ParquetFile(files.location(written[0].path)).schema_arrow.names == list(schema.names)


def test_no_rows_are_no_files(spark: SparkSession, files: LocalFiles) -> None:
    schema = with_ids(Schema({"id": "long"}), 1, 1)
    assert write(files, "data/1", schema, spark.range(0), make_spec(schema, ["id"], spec_id=1)) == []
    assert list(files.list()) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("truncate(1000, n)", "int(-2147483648)"),
        ("truncate(1000, l)", "bigint(-9223372036854775808)"),
        ("truncate(7, c)", "cast(-9.9 as decimal(2, 1))"),
        ("s", "cast(X'ff' as string)"),
    ],
)
def test_a_partition_that_its_type_can_not_hold_is_invalid(
    spark: SparkSession, files: LocalFiles, text: str, value: str
) -> None:
    schema = with_ids(Schema({"n": "int", "l": "long", "c": "decimal(2, 1)", "s": "string"}), 1, 1)
    column = text.rpartition(" ")[2].rstrip(")")
    with pytest.raises(Invalid, match=r"the type|its type"):
        write(files, "data/1", schema, spark.range(1).selectExpr(f"{value} as {column}"), spec_of(schema, text))
    assert list(files.list()) == []


def spec_of(schema: Schema, *texts: str) -> PartitionSpec:
    return make_spec(schema, texts, spec_id=1)


def test_rows_of_a_partition_are_brought_together_unless_the_table_says_no(
    spark: SparkSession, files: LocalFiles
) -> None:
    schema = with_ids(Schema({"id": "long"}), 1, 1)
    frame, spec = spark.range(0, 400, 1, 4), spec_of(schema, "bucket(3, id)")
    assert len(write(files, "data/1", schema, frame, spec)) == 3
    apart = WriteOptions(distribution=Distribution.NONE)
    assert len(write(files, "data/2", schema, frame, spec, options=apart)) == 12
