"""DuckDB, polars, pandas and Arrow read a table's rows, and what they ask for is pushed into the scan."""

import importlib.util
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.compute as compute
import pyarrow.dataset
import pyarrow.parquet
import pytest

from lakebed import Catalog, Table
from lakebed.errors import Corrupt, Invalid, Unavailable
from tests.support.scans import opened_files

NAN = float("nan")


@pytest.fixture
def table(main: Catalog, tmp_path: Path) -> Table:
    """A table of all that files alone don't show: renames, defaults, widening, deletes, inline rows, Hive's folders."""
    table = main.create_table(
        "t",
        {"id": "long", "name": "string", "n": "int", "gone": "int", "month": "string"},
        partition_by=["month"],
        properties={"write.inline-bytes": "0"},
    )
    numbers = pyarrow.array([1, None] * 5, pyarrow.int32())
    table.append(pyarrow.table({"id": range(10), "name": [f"n{i % 4}" for i in range(10)], "n": numbers}))
    with table.evolve() as change:
        change.rename_column("name", "label")
        change.drop_column("gone")
        change.add_column("gone", "double", default=0.5)
        change.widen_column("n", "long")
    table.append(pyarrow.table({"id": [10, 11, 12], "label": ["n1", None, "x"], "gone": [NAN, None, 3.5]}))
    table.delete("id in (3, 11)")
    table.set_properties({"write.inline-bytes": "64000"})
    table.append(pyarrow.table({"id": [20], "label": ["n1"], "month": ["2026-02"]}))
    folder = tmp_path / "hive" / "month=2026-01"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": [30, 31], "name": ["n1", "n2"]}), folder / "a.parquet")
    table.add_files(folder)
    return table


CONDITIONS = [
    "true",
    "id > 5",
    "label = 'n1'",
    "label <> 'n1' and id < 25",
    "label is null",
    "label in ('n2', 'x') or n is null",
    "gone > 1",
    "gone = 0.5 and month is not null",
    "month = '2026-01'",
    "not (id between 2 and 29)",
    "n + 1 = 2 and label like 'n%'",
    "id in (3, 11, 20, 31)",
    "length(label) = 2 and id % 2 = 0",
]


def test_duckdb_and_polars_read_the_same_rows_as_from_arrow(table):
    plain, dataset, lazy = table.scan().to_arrow(), table.scan().to_dataset(), table.to_polars()
    connection, ours = duckdb.connect(), polars.SQLContext({"t": lazy})
    theirs = polars.SQLContext({"t": polars.DataFrame(plain)})
    assert dataset.schema == plain.schema
    for where in CONDITIONS:
        for columns in ("*", "label", "count(*) as c, sum(n) as s, max(month) as m"):
            expected = connection.sql(f"select {columns} from plain where {where} order by all").fetchall()
            found = connection.sql(f"select {columns} from dataset where {where} order by all").fetchall()
            assert str(found) == str(expected), where
        query = f"select * from t where {where}"
        assert ours.execute(query).collect().equals(theirs.execute(query).collect()), where


def test_polars_reads_columns_whose_names_it_takes_for_patterns(main: Catalog) -> None:
    """What it did: a column `*` or `^z.*$` was all columns, or all that match: an error of polars."""
    names = ["*", "^z.*$", "z", "z z", "$", "^"]
    table = main.create_table("patterns", dict.fromkeys(names, "long"))
    table.append([{name: number for number, name in enumerate(names)}])
    lazy = table.to_polars()
    assert lazy.collect().to_dicts() == table.scan().to_arrow().to_pylist()
    assert lazy.head(1).collect().columns == lazy.filter(polars.col("z") == 2).collect().columns == names
    assert lazy.filter(polars.col("z") == 3).collect().height == 0


def test_a_dataset_says_what_it_reads(main: Catalog) -> None:
    """What it did: a console showed <lakebed.arrow.read.dataset.ScanDataset object at 0x…>."""
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append([{"id": 1, "name": "a"}])
    shown = repr(table.scan(columns=["name"]).to_dataset())
    assert shown == "Dataset of a Scan of name: reads 1 of 1 file, 1 of 1 row group"


def test_rows_are_streams_of_arrow(table):
    plain = table.scan().to_arrow()
    assert str(pyarrow.table(table).to_pylist()) == str(pyarrow.table(table.scan()).to_pylist())
    assert str(pyarrow.table(table).to_pylist()) == str(plain.to_pylist())  # as text, in which NaN equals NaN
    assert pyarrow.schema(table) == plain.schema
    assert pyarrow.schema(table.scan(columns=["id"])).names == ["id"]
    assert polars.DataFrame(table).equals(polars.DataFrame(plain))
    assert str(duckdb.from_arrow(table).fetchall()) == str(duckdb.from_arrow(plain).fetchall())
    assert table.scan("id = 20").to_pandas().to_dict("records")[0]["month"] == "2026-02"
    copy = table.scan(columns=["id", "label"])
    assert pyarrow.RecordBatchReader.from_stream(copy).read_all().num_columns == 2


def test_duckdb_finds_a_dataset_and_a_named_relation_by_name(table):
    orders = table.scan("id > 9").to_dataset()
    connection = duckdb.connect()
    assert connection.sql("select count(*) from orders").fetchall() == [(5,)]
    assert orders.count_rows() == 5
    relation = table.to_duckdb(connection, "lake_table")
    assert relation.filter("id = 20").project("label").fetchall() == [("n1",)]
    assert connection.sql("select max(id) from lake_table").fetchall() == [(31,)]
    assert table.to_duckdb().aggregate("count(*)").fetchall() == [(14,)]
    with pytest.raises(Invalid, match="not a connection"):
        table.to_duckdb("orders")


def test_a_dataset_shows_the_table_as_it_was_whatever_comes_later(main, table):
    dataset, lazy = table.scan().to_dataset(), table.to_polars()
    table.delete("id < 100")
    assert dataset.count_rows() == dataset.to_table(filter=compute.field("id") < 100).num_rows == 14
    assert lazy.filter(polars.col("id") < 100).collect().height == 14
    with main.transaction() as tx:
        inside = tx.table("t")
        inside.append(pyarrow.table({"id": [1, 2]}))
        dataset = inside.scan().to_dataset()
        inside.append(pyarrow.table({"id": [3]}))
        assert dataset.to_table(filter=compute.field("id") > 0)["id"].to_pylist() == [1, 2]


def test_files_that_a_pushed_filter_rules_out_are_not_opened(main):
    table = main.create_table("t", {"id": "long", "name": "string"}, properties={"write.inline-bytes": "0"})
    for start in (0, 10, 20):
        table.append(pyarrow.table({"id": range(start, start + 10), "name": [f"n{start}"] * 10}))
    for path in opened_files(table.scan("id >= 10")):
        os.truncate(path, 3)
    dataset, lazy = table.scan().to_dataset(), table.to_polars()
    for where in ("id = 5", "id < 6 and id > 4", "id in (5, 6) and name = 'n0' and id < 6", "name <= 'n0' and id = 5"):
        assert duckdb.sql(f"select id from dataset where {where}").fetchall() == [(5,)]
    assert dataset.to_table(["name"], compute.field("id") == 5)["name"].to_pylist() == ["n0"]
    assert lazy.filter(polars.col("id") == 5).select("name").collect()["name"].to_list() == ["n0"]
    assert lazy.filter(polars.col("id").is_in([5, 7]), polars.col("id") < 6).collect()["id"].to_list() == [5]
    assert lazy.head(3).filter(polars.col("id") > 0).collect()["id"].to_list() == [1, 2]
    assert lazy.filter(polars.col("id") < 9).tail(1).collect()["id"].to_list() == [8]
    with pytest.raises(Corrupt):
        dataset.to_table()
    with pytest.raises(Exception, match="not the one that was written"):
        duckdb.sql("select * from dataset").fetchall()


def test_a_limited_scan_limits_before_others_filter(table):
    dataset = table.scan(limit=3).to_dataset()
    assert dataset.to_table(filter=compute.field("id") > 1)["id"].to_pylist() == [2]
    assert duckdb.sql("select count(*) from dataset").fetchall() == [(3,)]
    assert table.to_polars().head(10).filter(polars.col("id") > 9).collect()["id"].to_list() == [10]
    assert table.scan(limit=3).to_polars().filter(polars.col("id") > 1).collect()["id"].to_list() == [2]


def test_whatever_a_dataset_can_do_it_does_with_all_rows_or_refuses(table):
    dataset = table.scan().to_dataset()
    assert isinstance(dataset, pyarrow.dataset.Dataset)
    assert dataset.head(2)["id"].to_pylist() == [0, 1]
    assert dataset.take(pyarrow.array([0, 13]))["id"].to_pylist() == [0, 31]
    assert dataset.sort_by([("id", "descending")]).head(1)["id"].to_pylist() == [31]
    assert dataset.join(table.scan().to_dataset(), "id", join_type="inner", right_suffix="2").count_rows() == 14
    assert dataset.to_table({"twice": compute.field("id") * 2}, compute.field("id") > 29)["twice"].to_pylist() == [
        60,
        62,
    ]
    assert sum(batch.num_rows for batch in dataset.to_batches(columns=[])) == 14
    assert pyarrow.table(dataset).num_rows == 14
    for refused in (dataset.get_fragments, dataset.__reduce__):
        with pytest.raises(Invalid):
            refused()
    with pytest.raises(Invalid):
        dataset.filter(compute.field("id") > 1)
    with pytest.raises(Invalid):
        dataset.replace_schema(dataset.schema)


def test_every_type_passes_through_other_engines(main):
    form = pyarrow.schema(
        {
            "b": pyarrow.bool_(),
            "n": pyarrow.decimal128(20, 3),
            "d": pyarrow.date32(),
            "t": pyarrow.time64("us"),
            "z": pyarrow.timestamp("us", "UTC"),
            "m": pyarrow.timestamp("ns"),
            "x": pyarrow.binary(),
            "f": pyarrow.binary(3),
            "u": pyarrow.uuid(),
            "l": pyarrow.list_(pyarrow.struct({"a": pyarrow.int32()})),
            "k": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
        }
    )
    moment = datetime(2026, 1, 31, 10, tzinfo=UTC)
    row = {"b": True, "n": Decimal("1.5"), "d": date(2026, 1, 31), "t": moment.time(), "z": moment}
    row |= {"m": moment.replace(tzinfo=None), "x": b"x", "f": b"abc", "u": b"0123456789abcdef"}
    row |= {"l": [{"a": 1}, None], "k": [("a", 1)]}
    table = main.create_table("every", form)
    table.append(pyarrow.Table.from_pylist([row, dict.fromkeys(row)], form))
    plain, connection = table.scan().to_arrow(), duckdb.connect()
    table.to_duckdb(connection, "lake_table")
    for where in (
        "b",
        "n = 1.5",
        "d = date '2026-01-31'",
        "z > '2026-01-01 00:00:00Z'",
        "x = 'x'::blob",
        "t > time '01:00'",
    ):
        found = connection.sql(f"select * from lake_table where {where}").fetchall()
        assert str(found) == str(connection.sql(f"select * from plain where {where}").fetchall())
        assert len(found) == 1
    assert table.to_polars().filter(polars.col("n") > Decimal("1.2")).collect().height == 1
    assert table.to_polars().collect().equals(polars.DataFrame(plain))


@pytest.mark.parametrize("package", ["polars", "duckdb"])
def test_a_missing_package_is_named_with_what_to_install(table, monkeypatch, package):
    monkeypatch.setattr("lakebed.arrow.read.frames.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=rf"pip install 'lakebed\[{package}\]'"):
        getattr(table, f"to_{package}")()
    assert importlib.util.find_spec(package)
