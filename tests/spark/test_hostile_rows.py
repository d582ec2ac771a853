"""Hostile rows and Spark: what it writes can be read by all, and it reads what all others write, before and after."""

import struct

import pyarrow
import pyarrow.compute
import pytest
from pyspark.errors import PySparkException

import lakebed
from lakebed.errors import Invalid, TooLarge
from lakebed.spark.write.texts import with_checked_texts
from tests.lake.rows.test_nesting import LIMIT, arrow_of, value_of

TEXTS = {
    "plain": ("string", "{}"),
    "in an array": ("list<string>", "array('a', {}, null)"),
    "in a struct of arrays": (
        "struct<a: list<struct<b: string, n: int>>>",
        "named_struct('a', array(named_struct('b', {}, 'n', 1), null))",
    ),
    "a key": ("map<string, int>", "map({}, 1)"),
    "a value": ("map<int, string>", "map(1, 'a', 2, {})"),
}


@pytest.fixture(scope="module")
def main(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("lake")) as lake:
        yield lake.catalog()


def test_bytes_that_are_not_utf8_were_written_as_text(spark, main):
    columns = {f"c{place}": type for place, (type, _) in enumerate(TEXTS.values())}
    table = main.create_table("texts", columns)

    def rows(bad: int):
        values = [sql.format("cast(X'FFFE' as string)" if place == bad else "'ü'") for place, (_, sql) in named]
        return spark.sql(f"SELECT {', '.join(f'{value} AS c{place}' for place, value in enumerate(values))}")

    named = list(enumerate(TEXTS.values()))
    for place, _ in named[1:]:
        with pytest.raises(PySparkException, match=f"«c{place}».*«text that is not UTF-8»"):
            with_checked_texts(rows(place)).collect()
    with pytest.raises(Invalid, match=r"column 'c0': a value does not fit .*text that is not UTF-8"):
        table.append(rows(0))
    table.append(rows(-1))
    with pytest.raises(Invalid, match="text that is not UTF-8"):
        table.update({"c0": "cast(X'FFFE' as string)"}, spark=spark)
    assert table.scan().to_arrow()["c0"].to_pylist() == ["ü"]
    assert table.scan().to_arrow()["c3"].to_pylist() == [[("ü", 1)]]


def test_types_that_no_table_has_are_refused(spark, main):
    for sql in (
        "interval '1' day",
        "interval '1' month",
        "null",
        "array()",
        "'a' COLLATE UTF8_LCASE",
        "make_interval(1)",
    ):
        with pytest.raises(Invalid, match=r"c.*: a table can't hold this type"):
            main.create_table("t", spark.sql(f"SELECT {sql} AS c"))


def seen_as(type: pyarrow.DataType, storage: pyarrow.DataType, *values: int) -> pyarrow.Array:
    return pyarrow.array(values, storage).view(type)


@pytest.mark.parametrize("inline_bytes", ["65536", "0"])
def test_extreme_values_are_the_same_to_spark_and_after_a_compaction(spark, main, inline_bytes):
    nans = pyarrow.py_buffer(struct.pack("<QQ", 0x7FF8000000000123, 0xFFF0000000000001))
    rows = pyarrow.table(
        {
            "day": seen_as(pyarrow.date32(), pyarrow.int32(), 2**31 - 1, -(2**31)),
            "at": seen_as(pyarrow.timestamp("us"), pyarrow.int64(), 2**63 - 1, -(2**63)),
            "instant": seen_as(pyarrow.timestamp("us", "UTC"), pyarrow.int64(), 2**63 - 1, -(2**63)),
            "text": pyarrow.array(["\0", "a\0"]),
            "twice": pyarrow.array([[("a", 1), ("a", None)], []], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
            "amount": pyarrow.Array.from_buffers(
                pyarrow.decimal128(38, 0), 2, [None, pyarrow.py_buffer((10**38 - 1).to_bytes(16, "little") + bytes(16))]
            ),
            "nan": pyarrow.Array.from_buffers(pyarrow.float64(), 2, [None, nans]),
        }
    )
    table = main.create_or_replace_table("extreme", rows, properties={"write.inline-bytes": inline_bytes})
    table.append(rows)
    compared = [name for name in rows.column_names if name != "nan"]
    given = pyarrow.concat_tables([rows, rows])

    def assert_same(found: pyarrow.Table) -> None:
        assert found.select(compared).cast(given.select(compared).schema).equals(given.select(compared))
        assert pyarrow.compute.all(pyarrow.compute.is_nan(found["nan"])).as_py()

    for _ in range(2):
        assert_same(table.scan().to_arrow())
        assert_same(table.read(spark).toArrow())
        table.compact(spark)


@pytest.mark.long
def test_the_deepest_columns_are_read_by_spark(spark, main):
    form = pyarrow.schema({kind: arrow_of(kind, depth) for kind, depth in LIMIT.items()})
    rows = pyarrow.Table.from_pylist([{kind: value_of(kind, depth) for kind, depth in LIMIT.items()}], form)
    table = main.create_table("deepest", form)
    table.append(rows)
    table.append(spark.createDataFrame(rows))
    for _ in range(2):
        assert table.read(spark).toArrow().to_pylist() == rows.to_pylist() * 2
        assert table.scan().to_arrow().to_pylist() == rows.to_pylist() * 2
        table.compact(spark)


@pytest.mark.long
def test_statements_with_deep_types_and_long_texts_are_refused_at_once(spark, main, sql):
    sql("CREATE TABLE s.shallow (id INT)")
    deep = {depth: "ARRAY<" * depth + "INT" + ">" * depth for depth in (17, 500)}
    value = "array(" * 17 + "1" + ")" * 17
    for text in (
        *(f"CREATE TABLE s.deep (c {type})" for type in deep.values()),
        *(f"ALTER TABLE s.shallow ADD COLUMN c {type}" for type in deep.values()),
        f"CREATE TABLE s.deep AS SELECT {value} AS c",
        "SELECT * FROM s.shallow WHERE " + "(" * 5_000 + "id = 1" + ")" * 5_000,
        "SELECT * FROM s.shallow WHERE " + "id = 1 OR " * 500_000 + "id = 2",
    ):
        with pytest.raises(Invalid, match=r"nested too deeply|too long"):
            sql(text)


@pytest.mark.long
def test_a_statement_deeper_than_javas_stack_was_an_error_of_py4js(sql):
    sql("CREATE TABLE s.chained (id INT)")
    with pytest.raises(TooLarge, match=r"too long|nested too deeply"):
        sql("DELETE FROM s.chained WHERE " + "id = 1 OR " * 50_000 + "id = 2")


@pytest.fixture(scope="module")
def sql(spark, main, tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("sql")) as lake:
        lake.catalog().create_namespace("s")
        yield lambda text: lake.sql(spark, text)
