"""Editions and staged streams on Spark: names in SQL, an attached session, the data source, and rows by DataFrames."""

import pytest

import lakebed
import lakebed.spark
from lakebed.errors import Conflict


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("editions") / "lake", author="ann") as opened:
        opened.catalog().create_namespace("sales")
        yield opened


@pytest.fixture(scope="module")
def attached(spark, lake):
    own = lakebed.spark.attach(spark.newSession(), lake)
    yield own
    lakebed.spark.detach(own)


def ids(rows):
    return sorted(row[0] for row in rows)


def test_sql_reads_and_writes_editions_by_their_names(spark, attached, lake):
    main = lake.catalog()
    orders = main.create_table("sales.orders", {"id": "long", "name": "string"})
    orders.append([{"id": 1, "name": "a"}])
    orders.create_edition("2", {"id": "long", "title": "string"}, primary_key=["id"])
    lake.sql(spark, "INSERT INTO sales.orders.edition_2 SELECT id + 10, name FROM sales.orders")
    lake.sql(spark, "INSERT INTO sales.orders.edition_2 VALUES (12, 'b'), (13, 'c')")
    lake.sql(spark, "DELETE FROM sales.orders.edition_2 WHERE id = 13")
    union = "SELECT id FROM sales.orders UNION ALL SELECT id FROM sales.orders.edition_2"
    assert ids(lake.sql(spark, union).collect()) == [1, 11, 12]
    orders.activate("2")
    # What is changed and what is read of the same table are two editions.
    lake.sql(spark, "INSERT INTO sales.orders SELECT id + 100, name FROM sales.orders.edition_1")
    assert ids(lake.sql(spark, "SELECT id, title FROM sales.orders").collect()) == [11, 12, 101]
    assert ids(attached.table("sales.orders.edition_1").collect()) == [1]
    assert ids(attached.sql("SELECT id FROM sales.orders.edition_2 WHERE id > 11").collect()) == [12, 101]
    attached.sql("INSERT INTO sales.orders.edition_1 VALUES (2, 'z')")
    assert ids(orders.edition("1").read(spark).collect()) == [1, 2]
    source = attached.read.format("lakebed").option("lake", lake.url)
    assert ids(source.load("sales.orders.edition_1").collect()) == [1, 2]
    assert attached.sql("SELECT state FROM __editions ORDER BY edition").collect()[0][0] == "deprecated"
    # Those of the first one were the table's, those of any other were empty.
    shown = "SELECT count(*), max(total_rows), count(DISTINCT table_name) FROM sales.orders{}.snapshots"
    counts = [tuple(lake.sql(spark, shown.format(name)).collect()[0]) for name in ("", ".edition_2", ".edition_1")]
    assert counts == [(5, 3, 1), (5, 3, 1), (3, 2, 1)]
    levels = "SELECT edition FROM sales.orders.edition_1.{}"
    assert [lake.sql(spark, levels.format(one)).collect() for one in ("editions", "streams")] == [[("1",)], [("1",)]]


def numbers(table, spark):
    """The sequence numbers of the rows' last changes, which both engines read alike."""
    column = "_last_updated_sequence_number"
    found = [row[0] for row in table.read(spark, columns=[column]).collect()]
    assert table.scan(columns=[column]).to_arrow()[column].to_pylist() == found
    return found


def test_spark_fills_editions_and_staged_streams_as_the_local_engine_does(spark, lake):
    main = lake.catalog()
    table = main.create_table(
        "sales.items", {"id": "long", "name": "string"}, primary_key=["id"], properties={"write.inline-bytes": "0"}
    )
    table.append(spark.createDataFrame([(1, "a"), (2, "b")], "id long, name string"))
    edition = table.create_edition("2")
    edition.append(spark.createDataFrame([(5, "e"), (6, "f")], "id long, name string"))
    edition.upsert(spark.createDataFrame([(6, "g"), (7, "h")], "id long, name string"))
    edition.delete("id = 5", spark)
    staged = table.stage_stream()
    staged.append(spark.createDataFrame([(8, "x"), (9, "y")], "id long, name string"))
    staged.upsert(spark.createDataFrame([(9, "z")], "id long, name string"))
    staged.compact(spark)
    local = staged.scan(columns=["id"]).to_arrow()["id"].to_pylist()
    assert ids(staged.read(spark).collect()) == sorted(local) == [8, 9]
    assert (ids(table.read(spark).collect()), ids(edition.read(spark).collect())) == ([1, 2], [6, 7])
    assert numbers(staged, spark) == [None, None]
    staged.commit()
    assert numbers(table, spark) == [table.snapshots()[0].sequence_number] * 2
    assert sorted(map(tuple, table.read(spark).collect())) == [(8, "x"), (9, "z")]
    frame = spark.createDataFrame([(10, "late")], "id long, name string")
    with pytest.raises(Conflict), main.transaction("append") as tx:
        tx.table("sales.items").append(frame)
        table.activate("2")
    assert ids(table.read(spark).collect()) == [6, 7]
    assert lake.check() == []
