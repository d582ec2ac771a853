"""`table.write_stream`: each batch is one commit, however often Spark delivers it."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed import Catalog, Table
from lakebed.errors import Invalid
from tests.support.streams import ids, numbered


@pytest.fixture
def clean(main: Catalog, orders: Table[Any]) -> Table[Any]:
    return main.create_table("sales.clean", {"id": "long", "item": "string"}, primary_key=["id"])


def rows_of(table: Table[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_arrow().to_pylist())


def test_a_chain_of_tables_has_every_row_once(
    spark: SparkSession, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    for first in (0, 3):
        orders.append(numbered(first, first + 3))
        stream = orders.read_stream(spark).where("id <> 4")
        clean.write_stream(stream, tmp_path / "c", trigger="availableNow").awaitTermination()
    assert ids(rows_of(clean)) == [0, 1, 2, 3, 5]
    assert [commit.message.partition(" of ")[0] for commit in clean.history()][:2] == ["batch 1", "batch 0"]


def test_a_batch_that_spark_delivers_again_is_one_commit(
    spark: SparkSession, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    orders.append(numbered(0, 3))
    clean.write_stream(orders.read_stream(spark), tmp_path / "c", trigger="availableNow").awaitTermination()
    (tmp_path / "c" / "commits" / "0").unlink()  # as if the driver had died before Spark noted the batch
    (tmp_path / "c" / "commits" / ".0.crc").unlink()
    orders.append(numbered(3, 4))
    clean.write_stream(orders.read_stream(spark), tmp_path / "c", trigger="availableNow").awaitTermination()
    assert ids(rows_of(clean)) == [0, 1, 2, 3]


def test_upserts_take_the_last_change_of_each_key(
    spark: SparkSession, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    def copy() -> None:
        changes = orders.read_stream(spark, changes=True)
        clean.write_stream(changes, tmp_path / "c", mode="upsert", trigger="availableNow").awaitTermination()
        assert rows_of(clean) == rows_of(orders)

    orders.append(numbered(0, 5))
    copy()
    orders.update({"item": "'jam'"}, where="id = 1")
    orders.update({"id": "id + 10"}, where="id = 2")
    orders.delete("id in (1, 3)")
    orders.append(numbered(3, 4, "milk"))
    orders.upsert([{"id": 4, "item": "honey"}])
    copy()


def test_aggregates_are_upserted_as_they_change(
    spark: SparkSession, main: Catalog, orders: Table[Any], tmp_path: Path
) -> None:
    counts = main.create_table("sales.counts", {"item": "string", "n": "long"}, primary_key=["item"])
    for first in (0, 2):
        orders.append(numbered(first, first + 2))
        stream = orders.read_stream(spark).groupBy("item").agg(F.count("*").alias("n"))
        counts.write_stream(stream, tmp_path / "c", mode="upsert", trigger="availableNow").awaitTermination()
    assert rows_of(counts) == [("tea", 4)]


def test_a_function_writes_a_batch_to_many_tables_in_one_commit(
    spark: SparkSession, main: Catalog, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    main.create_table("sales.batches", {"n": "long"})
    calls = []

    def write(batch: DataFrame, tx: Any) -> None:
        calls.append(1)
        tx.table("sales.clean").append(batch)
        tx.table("sales.batches").append([{"n": batch.count()}])

    orders.append(numbered(0, 3))
    for _ in range(2):
        stream = orders.read_stream(spark)
        clean.write_stream(stream, tmp_path / "c", mode=write, trigger="availableNow").awaitTermination()
        for left in (tmp_path / "c" / "commits").iterdir():
            left.unlink()
    assert calls == [1]
    assert ids(rows_of(clean)) == [0, 1, 2]
    assert rows_of(main.table("sales.batches")) == [(3,)]


def test_an_error_in_a_function_leaves_nothing_and_the_batch_comes_again(
    spark: SparkSession, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    orders.append(numbered(0, 3))

    def write(batch: DataFrame, tx: Any) -> None:
        tx.table("sales.clean").append(batch)
        if broken:
            raise ValueError("a bug")

    for broken in (True, False):
        query = clean.write_stream(orders.read_stream(spark), tmp_path / "c", mode=write, trigger="availableNow")
        if broken:
            with pytest.raises(StreamingQueryException, match="a bug"):
                query.awaitTermination()
            assert rows_of(clean) == []
        else:
            query.awaitTermination()
    assert ids(rows_of(clean)) == [0, 1, 2]


def test_what_can_not_be_written_as_a_stream(
    spark: SparkSession, main: Catalog, orders: Table[Any], clean: Table[Any], tmp_path: Path
) -> None:
    stream = orders.read_stream(spark)
    plain = main.create_table("sales.plain", {"id": "long"})
    for frame, mode, trigger, message in (
        (spark.range(1), "append", None, "not a stream"),
        ([{"id": 1}], "append", None, "not a DataFrame"),
        (stream, "overwrite", None, "found 'overwrite'"),
        (stream, "append", 5, "not a trigger"),
    ):
        with pytest.raises(Invalid, match=message):
            clean.write_stream(frame, tmp_path / "c", mode=mode, trigger=trigger)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="primary key"):
        plain.write_stream(stream, tmp_path / "c", mode="upsert")
    with pytest.raises(Invalid, match="checkpoint"):
        clean.write_stream(stream, "")
