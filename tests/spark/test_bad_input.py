"""What Spark is given wrongly: each time an error that names the table, what is wrong and what to do, and no change.

How rows are fitted is in test_fit.py, what checks and keys refuse in test_constraints.py: here is what people are told.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Catalog, Field, Lake, LakebedError, Schema, Table
from lakebed.errors import Corrupt, Forbidden, Invalid, Unavailable
from tests.support.examples import examples, long_but
from tests.support.unchecked import set_unchecked

Change = Callable[[Table, DataFrame], Any]
Unchanged = Callable[[], AbstractContextManager[None]]

FOLDER = "a lake, 100% [ünïcode]"
GOOD = ("id", "double(id) as price", "'there' as place")
CHANGES: dict[str, Change] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows, "id < 3"),
    "upsert": lambda table, rows: table.upsert(rows),
    "merge": lambda table, rows: table.merge(
        rows, "id", lakebed.when_matched_update(), lakebed.when_not_matched_insert()
    ),
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lakebed.connect(tmp_path / FOLDER, author="ada") as lake:
        lake.catalog().create_namespace("sales")
        yield lake


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return lake.catalog()


@pytest.fixture
def orders(main: Catalog) -> Table:
    """Ten rows in two files, of which one has a deleted row too."""
    columns = [Field("id", "long", required=True), Field("price", "double"), Field("place", "string")]
    no_inline = {"write.inline-bytes": "0"}
    table = main.create_table("sales.orders", Schema(columns), primary_key=["id"], properties=no_inline)
    for ids in (range(5), range(5, 11)):
        table.append(arrow(ids))
    table.delete("id = 10")
    return table


def arrow(ids: range) -> pyarrow.Table:
    form = pyarrow.schema(
        [
            pyarrow.field("id", pyarrow.int64(), nullable=False),
            pyarrow.field("price", pyarrow.float64()),
            pyarrow.field("place", pyarrow.string()),
        ]
    )
    return pyarrow.Table.from_pylist([{"id": one, "price": float(one), "place": "here"} for one in ids], form)


@pytest.fixture
def unchanged(main: Catalog, orders: Table, tmp_path: Path) -> Unchanged:
    """What happens inside leaves the commits and the table's files as they were, and none of a failed job."""

    def state() -> object:
        found = (path for path in (tmp_path / FOLDER / "tables").rglob("*") if path.is_file())
        return len(main.log()), orders.properties, {path: path.read_bytes() for path in found}

    @contextmanager
    def unchanged() -> Iterator[None]:
        before = state()
        yield
        for _ in range(100):  # Spark does not wait for the other tasks of a job that failed, and each removes its file
            if state() == before:
                break
            sleep(0.1)
        assert state() == before

    return unchanged


def rows(spark: SparkSession, *columns: str) -> DataFrame:
    return spark.range(3, 8, 1, 2).selectExpr(*columns)


def told(unchanged: Unchanged, kind: type[LakebedError], do: Callable[[], Any], expected: str) -> None:
    """What is done fails with an error that says this, in one line and of this table, and changes nothing."""
    with unchanged(), pytest.raises(kind) as caught:
        do()
    said = str(caught.value)
    assert "sales.orders" in caught.value.subject, said
    assert "\n" not in said, said
    assert re.search(expected, said), said


ADVICE = "Select, rename or cast"
MISFITS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "a wrong type": (
        ("id", "string(id) as price", "'there' as place"),
        {
            "": f"price is string instead of double.*{ADVICE}",
            "merge": "column 'price'.*expected double, found .*of type string.*Use CAST",
        },
    ),
    "a missing column": (
        ("double(id) as price", "'there' as place"),
        {"": f"id is required, and missing.*{ADVICE}", "merge": "source.id.*no such column"},
    ),
    "an extra column": ((*GOOD, "1 as other"), {"": f"other is not a column of the table.*{ADVICE}", "merge": ""}),
    "a column twice": (
        (*GOOD, "id as ID"),
        {"": f"id comes twice.*{ADVICE}", "merge": "two columns have the same name"},
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_columns_that_do_not_fit_are_named(
    spark: SparkSession, orders: Table, unchanged: Unchanged, misfit: str
) -> None:
    columns, expected = MISFITS[misfit]
    for name, change in CHANGES.items():
        said = expected.get(name, expected[""])
        if said:  # a merge may have columns for its conditions that the table lacks
            told(unchanged, Invalid, lambda do=change: do(orders, rows(spark, *columns)), said)


def test_nulls_in_a_required_column_are_counted(spark: SparkSession, orders: Table, unchanged: Unchanged) -> None:
    given = rows(spark, "if(id > 4, null, id) as id", *GOOD[1:])
    column = "id: a required column has a null .*found nulls in 3 of the rows.*Fill or drop"
    key = "column 'id': a key has a null .*found 3 rows without a value.*Fill or drop"
    said = {"append": column, "overwrite": column, "upsert": key, "merge": key}
    for name, change in CHANGES.items():
        told(unchanged, Invalid, lambda do=change: do(orders, given), said[name])


def test_keys_that_come_twice_are_counted_and_one_is_shown(
    spark: SparkSession, orders: Table, unchanged: Unchanged
) -> None:
    given = rows(spark, "id div 2 as id", *GOOD[1:])
    told(
        unchanged,
        Invalid,
        lambda: orders.upsert(given),
        r"id = \d: a key comes twice.*found 2 repeated keys.*Keep one row",
    )
    merged = r"id = \d: a row of the table is matched by more than one.*found 2, and 2 such rows.*Keep one row"
    told(unchanged, Invalid, lambda: CHANGES["merge"](orders, given), merged)
    orders.set_properties({"write.check-keys": "true"})
    twice = r"id = \d: a primary key comes twice.*found 2 such keys.*Use upsert"
    told(unchanged, Invalid, lambda: orders.append(given), twice)
    there = r"id = \d: a primary key is in the table already.*found 5 such keys.*Use upsert"
    told(unchanged, Invalid, lambda: orders.append(rows(spark, *GOOD)), there)


def test_rows_that_break_a_check_are_counted_and_one_is_shown(
    spark: SparkSession, orders: Table, unchanged: Unchanged
) -> None:
    orders.set_properties({"check.price": "price >= 0"})
    given = rows(spark, "id", "double(if(id % 2 = 1, -id, id)) as price", "'there' as place")
    said = (
        r'check\.price: .*expected price >= 0, found 3 rows, such as {"id":\d,"price":-\d.0,"place":"there"}\)'
        r"\. Nothing was written\. Fix"
    )
    for change in list(CHANGES.values())[:: examples(3, 1)]:
        told(unchanged, Invalid, lambda do=change: do(orders, given), said)
    told(
        unchanged,
        Invalid,
        lambda: orders.update({"price": "-1 - price"}, "id < 4", spark),
        r'found 4 rows, such as {"id":\d,"price":-\d.0,"place":"here"}\)',
    )
    set_unchecked(orders, {"check.price": "cost >= 0"})
    unreadable = r"check\.price: a check .* can't be evaluated .*`cost` cannot be resolved.*Fix the property"
    told(unchanged, Invalid, lambda: orders.append(rows(spark, *GOOD)), unreadable)
    set_unchecked(orders, {"check.price": "reflect('java.lang.System', 'getenv', 'HOME') = 'x'"})
    harmful = (
        r"check\.price: a check runs with the rights of whoever uses it.*which runs any Java code.*Fix the property"
    )
    told(unchanged, Forbidden, lambda: orders.append(rows(spark, *GOOD)), harmful)


def test_a_column_that_is_not_there_is_named(
    spark: SparkSession, orders: Table, lake: Lake, unchanged: Unchanged, capfd: pytest.CaptureFixture[str]
) -> None:
    given = rows(spark, *GOOD)
    calls: list[Callable[[], Any]] = [
        lambda: orders.read(spark, where="cost = 1"),
        lambda: orders.read(spark, columns=["cost"]),
        lambda: orders.delete("cost = 1", spark),
        lambda: orders.update({"price": "1"}, "cost = 1", spark),
        lambda: orders.update({"price": "cost"}, None, spark),
        lambda: orders.update({"cost": "1"}, None, spark),
        lambda: orders.overwrite(given, "cost = 1"),
        lambda: orders.upsert(given, on="cost"),
        lambda: orders.merge(given, "cost", lakebed.when_matched_update()),
        lambda: orders.merge(given, "id", lakebed.when_matched_delete("target.cost = 1")),
        lambda: orders.compact(spark, where="cost = 1"),
        lambda: orders.compact(spark, sort_by=["cost"]),
        lambda: lake.sql(spark, "delete from sales.orders where cost = 1"),
    ]
    for call in calls:
        told(unchanged, Invalid, call, r"cost\b.*there is no such column.*expected one .*price")
    shown = capfd.readouterr()
    assert "Exception" not in shown.out + shown.err


def test_a_stream_is_sent_to_its_batches(spark: SparkSession, orders: Table, unchanged: Unchanged) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value as id", "double(value) as price", "'x' as place")
    for change in CHANGES.values():
        told(unchanged, Invalid, lambda do=change: do(orders, stream), "a streaming DataFrame.*foreachBatch")


@pytest.fixture
def stopped(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session as `stop` would leave it; a real one is stopped in test_cluster.py, since all tests share this."""
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    return spark


def test_a_session_that_was_stopped_is_said_to_be(
    spark: SparkSession, orders: Table, lake: Lake, unchanged: Unchanged, request: pytest.FixtureRequest
) -> None:
    given = rows(spark, *GOOD)
    stopped = request.getfixturevalue("stopped")
    calls: list[Callable[[], Any]] = [
        *(lambda do=one: do(orders, given) for one in CHANGES.values()),
        lambda: orders.read(stopped),
        lambda: orders.delete("id = 3", stopped),
        lambda: orders.update({"price": "1"}, None, stopped),
        lambda: orders.compact(stopped),
        lambda: lake.sql(stopped, "delete from sales.orders where id = 3"),
    ]
    for call in calls:
        told(unchanged, Invalid, call, "the Spark session was stopped.*Start another")


Spoil = Callable[[Path], object]


def flip(path: Path) -> None:
    """Other bytes in all columns; the footer is whole."""
    content = bytearray(path.read_bytes())
    for at in range(4, len(content) // 3):
        content[at] ^= 0xFF
    path.write_bytes(content)


DAMAGE: dict[str, tuple[Spoil, str]] = {
    "is gone": (Path.unlink, "found no file"),
    "is cut short": (lambda path: os.truncate(path, 100), "found 100 bytes"),
    "has other bytes": (flip, "the data file is damaged"),
    "has another footer": (
        lambda path: path.write_bytes(path.read_bytes().replace(b"schema", b"schemb")),
        "the data file is damaged: its footer",
    ),
    "is no Parquet": (lambda path: path.write_bytes(bytes(path.stat().st_size)), "the data file is damaged"),
}


@pytest.mark.parametrize("damage", long_but(DAMAGE, ["has other bytes"]))
def test_a_data_file_that_can_not_be_read_is_named(
    spark: SparkSession, orders: Table, unchanged: Unchanged, damage: str
) -> None:
    spoil, said = DAMAGE[damage]
    path = Path(orders.scan("id = 3").files()[0])
    spoil(path)
    given = rows(spark, *GOOD)
    calls: list[Callable[[], Any]] = [
        lambda: orders.delete("price = 3 or place = 'there'", spark),
        lambda: orders.update({"price": "1"}, "price = 3", spark),
        lambda: orders.overwrite(given, "price = 3"),
        lambda: orders.upsert(given),
        lambda: CHANGES["merge"](orders, given),
        lambda: orders.compact(spark),
    ]
    for call in calls:
        told(unchanged, Corrupt, call, f"{re.escape(path.name)}: .*{said}.*Restore it from a copy")
    with unchanged(), pytest.raises(Exception, match=re.escape(path.name)):
        orders.read(spark).collect()
    if damage in ("is gone", "is cut short", "has another footer"):
        told(unchanged, Corrupt, lambda: orders.read(spark), said)
    orders.append(rows(spark, *GOOD))  # which looks at no other file


def test_a_flipped_bit_is_found_and_no_wrong_value_is_read(
    spark: SparkSession, orders: Table, unchanged: Unchanged, tmp_path: Path
) -> None:
    orders.overwrite(spark.range(0, 1000, 1, 1).selectExpr("id", "hash(id) / 7D as price", "'x' as place"))
    [name] = orders.scan().files()
    right = orders.scan().to_arrow()["price"].to_pylist()
    page = pyarrow.parquet.read_metadata(name).row_group(0).column(1)
    content = bytearray(Path(name).read_bytes())
    content[page.data_page_offset + page.total_compressed_size // 2] ^= 1
    Path(name).write_bytes(content)
    copy = tmp_path / "plain.parquet"
    copy.write_bytes(content)
    plain = spark.read.parquet(str(copy)).toArrow()["price"].to_pylist()
    assert plain != right  # without a word
    with unchanged(), pytest.raises(Exception, match="CRC checksum verification failed"):
        orders.read(spark, columns=["price"]).toArrow()
    said = "the data file is damaged .*CRC checksum verification failed.*Restore it from a copy"
    told(unchanged, Corrupt, lambda: orders.delete("price = 1", spark), said)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place]).returncode:
        pytest.skip("a small disk needs the right to mount one: run as root")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)  # Spark may still hold a file of its failed job


@pytest.mark.long
def test_a_full_disk_stops_an_upsert_and_a_compaction(spark: SparkSession, small_disk: Path) -> None:
    words = "sha2(string(id), 512) as word"
    with lakebed.connect(small_disk / "lake") as lake:
        lake.catalog().create_namespace("sales")
        table = lake.catalog().create_table("sales.orders", {"id": "long", "word": "string"})
        for start in (0, 25_000):  # 3.4 MB
            table.append(spark.range(start, start + 25_000, 1, 1).selectExpr("id", words))
        before = set(small_disk.rglob("*.parquet"))
        full = r"table sales\.orders, .*the disk is full .*Free space"
        (small_disk / "filler").write_bytes(bytes(2 << 20))
        with pytest.raises(Unavailable, match=full):
            table.compact(spark)
        with pytest.raises(Unavailable, match=full):
            table.upsert(spark.range(10, 200_000, 1, 1).selectExpr("id", words), on="id")
        assert set(small_disk.rglob("*.parquet")) == before
        assert (len(table.history()), table.scan().count()) == (3, 50_000)
