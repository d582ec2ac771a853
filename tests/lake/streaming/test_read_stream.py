"""`table.read_stream`: every row once, whatever happens to its files and to the program."""

from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from lakebed import Catalog, Table
from lakebed.errors import Forbidden, Invalid
from tests.lake.streaming.conftest import Take
from tests.support.streams import as_files, ids, numbered


def test_a_stream_has_what_is_there_and_later_what_came(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    as_files(orders)
    orders.append(numbered(0, 3))
    assert taken(orders.read_stream(spark)) == [(0, "tea"), (1, "tea"), (2, "tea")]
    orders.append(numbered(3, 5))
    assert ids(taken(orders.read_stream(spark))) == [3, 4]
    assert taken(orders.read_stream(spark)) == []


def test_inline_rows_are_streamed_once(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    orders.append(numbered(0, 3))
    assert ids(taken(orders.read_stream(spark))) == [0, 1, 2]
    orders.append(numbered(3, 4))
    orders.append(numbered(4, 5))
    assert ids(taken(orders.read_stream(spark))) == [3, 4]


def test_rows_that_compaction_rewrote_are_not_streamed_again(
    spark: SparkSession, orders: Table[Any], taken: Take
) -> None:
    for start in range(0, 6, 2):
        orders.append(numbered(start, start + 2))
    assert ids(taken(orders.read_stream(spark))) == list(range(6))
    orders.append(numbered(6, 8))
    assert orders.compact() is not None
    orders.append(numbered(8, 9))
    assert ids(taken(orders.read_stream(spark))) == [6, 7, 8]
    assert orders.compact() is not None
    assert taken(orders.read_stream(spark)) == []


def test_a_stream_begins_with_the_rows_that_are_not_deleted(
    spark: SparkSession, orders: Table[Any], taken: Take
) -> None:
    as_files(orders)
    orders.append(numbered(0, 6))
    orders.delete("id < 2")
    orders.update({"item": "'jam'"}, where="id = 5")
    assert taken(orders.read_stream(spark)) == [(2, "tea"), (3, "tea"), (4, "tea"), (5, "jam")]
    orders.append(numbered(6, 7))
    assert taken(orders.read_stream(spark)) == [(6, "tea")]


def test_a_delete_stops_a_stream_and_the_error_names_the_commit(
    spark: SparkSession, orders: Table[Any], taken: Take
) -> None:
    orders.append(numbered(0, 3))
    assert len(taken(orders.read_stream(spark))) == 3
    orders.append(numbered(3, 4))
    gone = orders.delete("id = 1", message="an order that was cancelled")
    orders.append(numbered(4, 5))
    with pytest.raises(StreamingQueryException, match=f"commit {gone.version} .*that was cancelled deleted 1"):
        taken(orders.read_stream(spark))
    assert ids(taken(orders.read_stream(spark, since=gone.version))) == [3, 4]


def test_a_stream_that_ignores_changes_goes_on_with_new_rows_alone(
    spark: SparkSession, orders: Table[Any], taken: Take
) -> None:
    as_files(orders)
    orders.append(numbered(0, 4))
    assert len(taken(orders.read_stream(spark, on_change="ignore"))) == 4
    orders.delete("id = 1")
    orders.upsert([{"id": 2, "item": "jam"}, {"id": 4, "item": "jam"}])
    orders.append(numbered(5, 6))
    assert taken(orders.read_stream(spark, on_change="ignore")) == [(4, "jam"), (5, "tea")]


def test_since_leaves_out_what_was_there(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    orders.append(numbered(0, 3))
    orders.delete("id = 0")
    then = orders.append(numbered(3, 4)).version
    orders.append(numbered(4, 6))
    assert ids(taken(orders.read_stream(spark, since=then))) == [4, 5]
    orders.append(numbered(6, 7))
    assert ids(taken(orders.read_stream(spark, since=then))) == [6]


def test_changes_are_streamed_with_their_kinds(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    first = orders.append(numbered(0, 2))
    rows = taken(orders.read_stream(spark, changes=True))
    assert [(row[0], row[2], int(row[3])) for row in rows] == [
        (0, "insert", int(first.version)),
        (1, "insert", int(first.version)),
    ]
    orders.update({"item": "'jam'"}, where="id = 1")
    orders.delete("id = 0")
    orders.append(numbered(2, 3))
    orders.compact()
    rows = taken(orders.read_stream(spark, changes=True))
    assert [row[:3] for row in rows] == [
        (0, "tea", "delete"),
        (1, "jam", "update_postimage"),
        (1, "tea", "update_preimage"),
        (2, "tea", "insert"),
    ]
    assert taken(orders.read_stream(spark, changes=True)) == []


def test_a_checkpoint_of_rows_is_refused_for_changes(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    orders.append(numbered(0, 2))
    taken(orders.read_stream(spark))
    with pytest.raises(StreamingQueryException, match="this checkpoint is of new rows"):
        taken(orders.read_stream(spark, changes=True))


def test_a_batch_has_at_most_max_files(spark: SparkSession, orders: Table[Any], taken: Take) -> None:
    as_files(orders)
    for start in range(3):
        orders.append(numbered(start, start + 1))
    stream = orders.read_stream(spark, max_files=1)
    seen: list[list[int]] = []
    query = (
        stream.writeStream.foreachBatch(lambda rows, _: seen.append([row.id for row in rows.collect()]))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert seen == [[0], [1], [2]]


def test_new_columns_stop_a_stream_which_then_starts_with_them(
    spark: SparkSession, orders: Table[Any], taken: Take
) -> None:
    orders.append(numbered(0, 2))
    stream = orders.read_stream(spark)
    assert len(taken(stream)) == 2
    orders.append(numbered(2, 3))
    with orders.evolve() as change:
        change.add_column("price", "double", default=1.5)
    orders.append([{"id": 3, "item": "tea", "price": 2.0}])
    with pytest.raises(StreamingQueryException, match="columns changed"):
        taken(stream)
    assert taken(orders.read_stream(spark)) == [(2, "tea", 1.5), (3, "tea", 2.0)]


def test_a_stream_goes_on_from_a_branch_to_what_it_was_merged_into(
    spark: SparkSession, main: Catalog, orders: Table[Any], taken: Take
) -> None:
    orders.append(numbered(0, 2))
    run = main.create_branch("run")
    own = run.table("sales.orders")
    own.append(numbered(2, 4))
    assert ids(taken(own.read_stream(spark))) == [0, 1, 2, 3]
    orders.append(numbered(4, 5))
    main.merge(run)
    orders.append(numbered(5, 6))
    assert ids(taken(orders.read_stream(spark))) == [4, 5]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"on_change": "stop"}, "expected fail or ignore"),
        ({"max_files": 0}, "max_files"),
        ({"max_files": 1, "max_bytes": 1}, "by files or by bytes"),
        ({"since": -1}, "stays the same"),
        ({"since": "1 hour ago"}, "stays the same"),
        ({"changes": "yes"}, "True or False"),
    ],
)
def test_what_a_stream_can_not_be_asked_for(
    spark: SparkSession, orders: Table[Any], asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        orders.read_stream(spark, **asked)


def test_a_stream_follows_a_branch_alone(spark: SparkSession, main: Catalog, orders: Table[Any]) -> None:
    orders.append(numbered(0, 1))
    with pytest.raises(Invalid, match="does not change"):
        orders.at(-1).read_stream(spark)
    with main.transaction() as tx, pytest.raises(Invalid, match="outside of the transaction"):
        tx.table("sales.orders").read_stream(spark)
    main.create_share("shown", ["sales.orders"])
    with pytest.raises(Forbidden):
        main.share("shown").table("sales.orders").read_stream(spark)
