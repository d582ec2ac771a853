"""A session that is attached to a lake: Spark's own names find its tables, and everything else stays Spark's."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import partitioning

import lakebed
import lakebed.spark
from lakebed import AlreadyExists, Catalog, Invalid, Lake, NotFound

ROWS = [(1, "tea"), (2, "jam")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with lakebed.connect(tmp_path_factory.mktemp("attached") / "lake") as opened:
        main = opened.catalog()
        main.create_namespace("sales", comment="what was sold")
        yield opened


@pytest.fixture(scope="module")
def attached(spark: SparkSession, lake: Lake) -> Iterator[SparkSession]:
    """A session of its own, since the tests share the other one."""
    own = lakebed.spark.attach(spark.newSession(), lake)
    yield own
    lakebed.spark.detach(own)


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return lake.catalog()


@pytest.fixture
def orders(attached: SparkSession, main: Catalog) -> str:
    """The name of a table with two rows."""
    ids, items = zip(*ROWS, strict=True)
    main.create_or_replace_table("sales.orders", pyarrow.table({"id": ids, "item": items}))
    return "sales.orders"


def found(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_statements_and_reads_find_the_lakes_tables(attached: SparkSession, main: Catalog, orders: str) -> None:
    first = main.table(orders).version
    changed = attached.sql("INSERT INTO sales.orders VALUES (3, 'oat')")
    assert (changed.columns, changed.collect()) == ([], [])
    assert found(attached.table("sales.orders")) == [*ROWS, (3, "oat")]
    assert found(attached.read.table("sales.`orders`")) == [*ROWS, (3, "oat")]
    assert found(attached.sql("SELECT * FROM sales.orders WHERE id > :least", args={"least": 1})) == [
        (2, "jam"),
        (3, "oat"),
    ]
    assert found(attached.read.option("versionAsOf", int(first)).table("sales.orders")) == ROWS
    assert attached.sql("UPDATE sales.orders SET item = 'fig' WHERE id = 1; SELECT 7 AS n").collect()[0].n == 7
    assert main.table(orders).get is not None
    given = attached.createDataFrame([(1,)], "id long")
    assert found(attached.sql("SELECT o.item FROM sales.orders o JOIN {d} ON o.id = {d}.id", d=given)) == [("fig",)]
    assert found(attached.sql("SELECT id FROM sales.orders WHERE item = {word}", word="oat")) == [(3,)]


def test_several_statements_run_in_turn_whoever_they_are_for(attached: SparkSession, orders: str) -> None:
    asked = f"SET x.y = 3; SELECT 1;\n SELECT max(id) AS n, '${{x.y}}' AS y FROM {orders}"
    assert found(attached.sql(asked)) == [(2, "${x.y}")]
    assert found(attached.sql("SET x.y = 3; SELECT '${x.y}' AS y")) == [("3",)]
    assert found(attached.sql("SELECT 1; SELECT 2 AS n")) == [(2,)]
    assert found(attached.sql("BEGIN DECLARE a INT = 5; SELECT a; END")) == [(5,)]


def test_a_query_with_pipes_behind_a_select_finds_its_tables(attached: SparkSession, orders: str) -> None:
    asked = (
        f"SELECT id FROM {orders} |> WHERE id > 1 |> UNION ALL (SELECT 7 FROM {orders} LIMIT 1) |> AGGREGATE sum(id)"
    )
    assert found(attached.sql(asked)) == [(9,)]
    assert found(attached.sql(f"FROM {orders} |> SELECT id |> WHERE id = 2 |> EXTEND id + 1 AS n")) == [(2, 3)]


def test_an_error_of_several_statements_says_which_one_and_where(attached: SparkSession, orders: str) -> None:
    with pytest.raises(Invalid, match=r"statement 2 of 2: line 2, column 2: .*Is SELECT meant"):
        attached.sql(f"SELECT 1;\n selct id FROM {orders}")
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN") as raised:
        attached.sql(f"SELECT 1; SELECT nope FROM {orders}")
    assert "statement 2 of 2" in "".join(raised.value.__notes__)


MISSING: list[tuple[Callable[[SparkSession], object], str]] = [
    (lambda spark: spark.sql("SELECT * FROM sales.ordres"), "no table or view sales.ordres either. Is sales.orders me"),
    (lambda spark: spark.table("salse.orders"), "Is sales.orders meant?"),
    (lambda spark: spark.read.table("nope.orders"), "SHOW TABLES lists what it has."),
    (lambda spark: spark.sql("INSERT INTO sales.orders SELECT * FROM nope.t"), "no table or view nope.t either."),
    (lambda spark: spark.table("sales.orders.branch_dev"), "a ref follows the name: sales.orders@dev."),
    (
        lambda spark: spark.sql("CREATE TABLE nope.t (id INT)"),
        "no namespace nope either. CREATE NAMESPACE nope creates",
    ),
    (lambda spark: spark.range(1).write.saveAsTable("nope.t"), "CREATE NAMESPACE nope creates it there."),
]


@pytest.mark.long
def test_sparks_error_about_a_name_that_nobody_has_says_what_may_be_meant(attached: SparkSession, orders: str) -> None:
    for call, note in MISSING:
        with pytest.raises(AnalysisException) as raised:
            call(attached)
        assert note in "\n".join(raised.value.__notes__)


def test_names_with_their_catalog_and_system_tables_are_found(
    attached: SparkSession, lake: Lake, main: Catalog, orders: str
) -> None:
    listed = attached.catalog.getTable(orders)
    whole = ".".join([listed.catalog, *listed.namespace, listed.name])  # type: ignore[misc, list-item]
    assert whole == "default.sales.orders"
    assert attached.catalog.tableExists(whole)
    assert found(attached.table(whole)) == found(attached.sql(f"SELECT * FROM {whole}")) == ROWS
    attached.range(5, 6).selectExpr("id", "'rye' AS item").write.insertInto(whole)
    assert main.table(orders).scan().count() == 3
    lake.create_catalog("other").create_table("t", {"id": "long"})
    assert attached.table("other.t").count() == attached.sql("SELECT * FROM other.t").count() == 0
    assert attached.table("sales.orders.files").count() == attached.sql("SELECT * FROM sales.orders.files").count() > 0
    assert orders in [row.table_name for row in attached.table("__tables").collect()]
    with pytest.raises(AnalysisException):
        attached.table("default.orders")  # Spark's database


def test_a_tables_name_may_stand_before_its_columns(attached: SparkSession, orders: str) -> None:
    left, right = attached.table(orders), attached.range(2).alias("n")
    joined = left.join(right, F.col("orders.id") == F.col("n.id")).where("orders.item = 'tea'").select("orders.*")
    assert found(joined) == [(1, "tea")]


def test_a_dataframe_shows_the_version_at_which_it_was_made(attached: SparkSession, orders: str) -> None:
    before = attached.table(orders)
    attached.sql("DELETE FROM sales.orders WHERE id = 1")
    assert found(before) == ROWS
    assert found(attached.table(orders)) == [(2, "jam")]


def test_a_ref_is_read_and_written(attached: SparkSession, lake: Lake, main: Catalog, orders: str) -> None:
    dev = main.create_branch("dev")
    attached.createDataFrame([(9, "rye")], "id long, item string").writeTo("sales.orders@dev").append()
    assert found(attached.table("sales.orders@dev")) == [*ROWS, (9, "rye")]
    assert found(attached.read.option("branch", "dev").table(orders)) == [*ROWS, (9, "rye")]
    assert found(attached.table(orders)) == ROWS
    lakebed.spark.attach(attached, lake, ref="dev")
    try:
        attached.sql("INSERT INTO sales.orders VALUES (10, 'oil')")
        assert dev.table(orders).scan().count() == 4
        assert attached.table("sales.orders@main").count() == main.table(orders).scan().count() == 2
    finally:
        lakebed.spark.attach(attached, lake)
    assert attached.table(orders).count() == 2
    with pytest.raises(NotFound):
        lakebed.spark.attach(attached, lake, ref="nowhere")


def test_a_session_whose_branch_is_gone_says_how_to_get_away(attached: SparkSession, lake: Lake, main: Catalog) -> None:
    main.create_branch("gone")
    lakebed.spark.attach(attached, lake, ref="gone")
    try:
        main.drop_branch("gone")
        with pytest.raises(NotFound, match=r"uses default@gone.*lakebed\.spark\.attach"):
            attached.table("sales.orders")
    finally:
        lakebed.spark.attach(attached, lake)
    assert attached.sql("SELECT 1 AS one").collect()[0].one == 1


def test_save_as_table_in_every_mode(attached: SparkSession, main: Catalog, orders: str) -> None:
    table = main.table(orders)
    more = attached.createDataFrame([("oat", 3)], "item string, id int")  # by name, and an int fits a long
    with pytest.raises(AlreadyExists, match=r"mode\(.append.\)"):
        more.write.saveAsTable(orders)
    more.write.mode("ignore").saveAsTable(orders)
    assert table.scan().count() == 2
    more.write.saveAsTable(orders, mode="append", message="by a job")
    assert (table.scan().count(), table.history()[0].message) == (3, "by a job")
    more.write.mode("overwrite").option("replaceWhere", "id = 1").saveAsTable(orders)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 3]
    wider = more.withColumn("price", F.lit(1.5))
    with pytest.raises(Invalid, match="price"):
        wider.write.mode("append").saveAsTable(orders)
    wider.write.mode("append").option("mergeSchema", "true").saveAsTable(orders)
    assert table.schema.names == ("id", "item", "price")
    more.write.mode("overwrite").saveAsTable(orders)
    assert table.scan().to_arrow().to_pylist() == [{"id": 3, "item": "oat", "price": None}]
    more.write.mode("overwrite").option("overwriteSchema", True).partitionBy("item").saveAsTable(orders)
    again = main.table(orders)
    assert (again.id == table.id, again.schema.names, tuple(again.spec)) == (False, ("item", "id"), ("item",))


def test_a_new_table_is_created_in_one_commit(attached: SparkSession, main: Catalog) -> None:
    frame = attached.createDataFrame([(1, "a", "2026-01-05")], "id long, kind string, at string")
    timed = frame.withColumn("at", F.col("at").cast("timestamp_ntz"))
    before = len(main.log())
    timed.write.partitionBy("kind").sortBy("id").format("lakebed").saveAsTable("sales.made")
    assert len(main.log()) == before + 1
    made = main.table("sales.made")
    assert (tuple(made.spec), tuple(made.sort_order), made.schema.field("id").required) == (
        ("kind",),
        ("id asc nulls first",),
        False,
    )
    writer = timed.writeTo("sales.timed").partitionedBy(partitioning.days("at"), partitioning.bucket(4, "id"))
    writer.tableProperty("owner", "ada").using("lakebed").create()
    assert tuple(main.table("sales.timed").spec) == ("day(at)", "bucket(4, id)")
    assert main.table("sales.timed").properties["owner"] == "ada"
    with pytest.raises(AlreadyExists):
        timed.writeTo("sales.timed").create()
    with pytest.raises(NotFound):
        timed.writeTo("sales.nothing").replace()
    timed.write.saveAsTable("top")
    assert found(attached.sql("SELECT id FROM top")) == [(1,)]
    attached.sql("DROP TABLE top")
    assert not main.table_exists("top")


def test_insert_into_goes_by_position_and_casts(attached: SparkSession, main: Catalog, orders: str) -> None:
    rows = attached.createDataFrame([(7, "oat")], "x int, y string")
    rows.write.insertInto(orders)
    assert (7, "oat") in found(attached.table(orders))
    with pytest.raises(Invalid, match="can't be stored"):
        rows.select("y", "x").write.insertInto(orders)
    main.create_table("sales.small", {"n": "int"})
    with pytest.raises(Invalid, match=r"sales\.small"):
        attached.range(1 << 40, (1 << 40) + 1).write.insertInto("sales.small")
    attached.range(1).write.insertInto("sales.small")
    with pytest.raises(Invalid, match="3 columns, but the table 2"):
        rows.withColumn("z", F.lit(1)).write.insertInto(orders)
    rows.write.insertInto(orders, overwrite=True)
    assert found(attached.table(orders)) == [(7, "oat")]


def test_write_to_replaces_rows_and_partitions(attached: SparkSession, main: Catalog) -> None:
    name = "sales.parts"
    main.create_table(name, {"day": "string", "n": "int"}, partition_by=["day"])
    rows = attached.createDataFrame([("mo", 1), ("tu", 2)], "day string, n int")
    rows.writeTo(name).append()
    rows.where("day = 'tu'").withColumn("n", F.lit(5)).writeTo(name).overwritePartitions()
    assert found(attached.table(name)) == [("mo", 1), ("tu", 5)]
    rows.limit(1).withColumn("n", F.lit(7)).writeTo(name).overwrite((F.col("day") == "mo") & (F.col("n") < 3))
    assert found(attached.table(name)) == [("mo", 7), ("tu", 5)]
    rows.writeTo(name).overwrite("n > 5")
    assert found(attached.table(name)) == [("mo", 1), ("tu", 2), ("tu", 5)]
    rows.withColumn("x", F.lit(1)).writeTo(name).createOrReplace()
    assert main.table(name).schema.names == ("day", "n", "x")


def test_the_catalog_shows_the_lakes_objects_beside_sparks(attached: SparkSession, main: Catalog, orders: str) -> None:
    main.create_view("sales.teas", "SELECT * FROM sales.orders WHERE item = 'tea'")
    catalog = attached.catalog
    assert catalog.tableExists(orders)
    assert catalog.tableExists("orders", "sales")
    assert not catalog.tableExists("sales.missing")
    assert catalog.databaseExists("sales")
    assert catalog.databaseExists("default")
    listed = {table.name: table.tableType for table in catalog.listTables("sales", "orders|te*")}
    assert listed == {"orders": "MANAGED", "teas": "VIEW"}
    assert {"sales", "default"} <= {database.name for database in catalog.listDatabases()}
    assert [database.name for database in catalog.listDatabases("sal*")] == ["sales"]
    assert catalog.getDatabase("sales").description == "what was sold"
    assert catalog.getDatabase("sales").locationUri.endswith("/tables")
    table = catalog.getTable(orders)
    assert (table.name, table.catalog, table.namespace, table.isTemporary) == ("orders", "default", ["sales"], False)
    assert [(one.name, one.dataType) for one in catalog.listColumns(orders)] == [("id", "bigint"), ("item", "string")]
    assert found(attached.table("sales.teas")) == [(1, "tea")]
    catalog.refreshTable(orders)
    catalog.createDatabase("shelves", properties={"owner": "ada"})
    attached.sql("CREATE TABLE shelves.books (id INT)")
    attached.sql("CREATE VIEW shelves.all AS SELECT * FROM shelves.books")
    assert main.namespace("shelves").properties == {"owner": "ada"}
    assert [view.name for view in catalog.listViews("shelves")] == ["all"]
    assert catalog.getTableProperties("shelves.books") == {}
    catalog.truncateTable("shelves.books")
    catalog.dropView("shelves.all")
    catalog.dropTable("shelves.books", purge=True)
    catalog.dropDatabase("shelves")
    assert not main.namespace_exists("shelves")
    assert catalog.currentDatabase() == "default"
    catalog.setCurrentDatabase("sales")
    try:
        assert (catalog.currentDatabase(), found(attached.table("orders"))) == ("sales", ROWS)
        assert found(attached.sql("WITH orders AS (SELECT 1 AS one) SELECT * FROM orders")) == [(1,)]
        assert {"orders", "teas"} <= {table.name for table in catalog.listTables()}
    finally:
        catalog.setCurrentDatabase("default")
    with pytest.raises(AnalysisException):
        attached.table("orders")
    main.drop_view("sales.teas")


def test_what_the_lake_does_not_have_is_sparks(attached: SparkSession, spark: SparkSession, orders: str) -> None:
    attached.range(3).createOrReplaceTempView("numbers")
    joined = "SELECT o.item FROM sales.orders o JOIN numbers n ON n.id = o.id"
    assert found(attached.sql(joined)) == [("jam",), ("tea",)]
    attached.sql("CREATE DATABASE spark_catalog.warehouse")
    try:
        attached.sql("CREATE TABLE warehouse.copies USING parquet AS SELECT * FROM sales.orders")
        attached.sql("INSERT INTO warehouse.copies SELECT id + 10, item FROM sales.orders WHERE id = 1")
        both = "SELECT c.id FROM warehouse.copies c LEFT ANTI JOIN sales.orders o ON c.id = o.id"
        assert found(attached.sql(both)) == [(11,)]
        attached.range(1).write.saveAsTable("warehouse.more")
        attached.range(1).write.insertInto("warehouse.more")
        assert found(attached.table("warehouse.more")) == [(0,), (0,)]
        assert attached.catalog.tableExists("warehouse.more")
        assert {"copies", "more"} <= {table.name for table in attached.catalog.listTables("warehouse")}
    finally:
        attached.sql("DROP DATABASE warehouse CASCADE")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        attached.sql("SELECT * FROM sales.missing")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        attached.table("sales.missing")


STATEMENTS = [
    ("CREATE NAMESPACE IF NOT EXISTS books", []),
    ("CREATE TABLE books.copies (id BIGINT, title STRING DEFAULT '-')", []),
    ("ALTER TABLE books.copies ADD COLUMN price DOUBLE", []),
    ("USE books", None),
    ("INSERT INTO copies (id) VALUES (1), (2)", []),
    ("CREATE OR REPLACE VIEW firsts AS SELECT id FROM books.copies WHERE id = 1", None),
    ("SELECT * FROM firsts", [(1,)]),
    ("CREATE OR REPLACE TEMP VIEW held AS SELECT id FROM copies", []),
    ("SELECT count(*) FROM held", [(2,)]),
    ("SELECT id, title FROM copies c WHERE EXISTS (SELECT 1 FROM firsts f WHERE f.id = c.id)", [(1, "-")]),
    ("CREATE BRANCH later", None),
    ("UPDATE books.copies@later SET title = 'new' WHERE id = 2", []),
    ("MERGE BRANCH later INTO main", None),
    ("SELECT title FROM copies WHERE id = 2", [("new",)]),
    ("DELETE FROM copies WHERE id = 2", []),
    ("SELECT count(*) FROM copies", [(1,)]),
    ("USE default", None),
    ("DROP VIEW books.firsts", []),
    ("DROP NAMESPACE books CASCADE", []),
    ("DROP BRANCH later", None),
]


def test_statements_about_the_lakes_objects(attached: SparkSession, main: Catalog) -> None:
    for text, expected in STATEMENTS:
        answer = attached.sql(text)
        assert isinstance(answer, DataFrame), text
        assert expected is None or found(answer) == expected, text
        if text == "USE books":
            assert attached.catalog.currentDatabase() == "books"
            assert "copies" in [row.tableName for row in attached.sql("SHOW TABLES").collect()]
    assert attached.catalog.currentDatabase() == "default"
    assert not main.namespace_exists("books")


def test_a_temporary_view_comes_before_a_table_of_the_lake(attached: SparkSession, main: Catalog) -> None:
    main.create_table("both", {"id": "long"})
    attached.range(4).createOrReplaceTempView("both")
    try:
        assert attached.table("both").count() == attached.sql("SELECT * FROM both").count() == 4
    finally:
        attached.catalog.dropTempView("both")
    assert attached.table("both").count() == attached.sql("SELECT * FROM both").count() == 0


OWN = [
    "SET spark.sql.ansi.enabled",
    "  set  x.y = 'sales.orders' ;",
    "CACHE LAZY TABLE numbers",
    "SELECT 1 -- sales",
    "select '{braces}', \"sales.orders\" as a",
    "CREATE TEMPORARY FUNCTION f AS 'x'",
    "SELECT * FROM parquet.`/a/b.parquet`",
    "SELECT * FROM spark_catalog.default.t",
    "SELECT * FROM default.t VERSION AS OF 3",
    "SELECT sales.x FROM numbers AS sales",
    "DESCRIBE FUNCTION abs",
    "this is not a statement",
    "",
]


@pytest.mark.parametrize("text", OWN)
def test_statements_of_sparks_reach_it_as_they_are_written(attached: SparkSession, lake: Lake, text: str) -> None:
    asked: list[tuple[Any, ...]] = []

    def own(*given: Any, **named: Any) -> DataFrame:
        asked.append((*given, named))
        return attached.range(0)

    session = lake._attached_to(attached, None)
    session.sql(own, text, [F.lit(1)], {"word": 2})
    assert [(one[0], one[2]) for one in asked] == [(text, {"word": 2})]


def test_other_sessions_are_not_touched(attached: SparkSession, spark: SparkSession, orders: str) -> None:
    for other in (spark, attached.newSession()):
        assert not other.catalog.tableExists(orders)
        with pytest.raises(AnalysisException):
            other.table(orders)
        with pytest.raises(AnalysisException):
            other.sql("SELECT * FROM sales.orders")
        assert type(other.range(1).write).__name__ == "DataFrameWriter"


def test_detach_undoes_it_and_may_be_called_again(spark: SparkSession, tmp_path: Path) -> None:
    kinds = type(spark), type(spark.range(0))
    with lakebed.connect(tmp_path / "one") as one, lakebed.connect(tmp_path / "two") as two:
        one.catalog().create_table("t", {"id": "long"})
        session = spark.newSession()
        before = [vars(kind)[name] for kind, name in zip(kinds, ("sql", "write"), strict=True)]
        lakebed.spark.attach(session, one)
        assert session.table("t").count() == 0
        lakebed.spark.attach(session, two)  # replaces the first
        assert not session.catalog.tableExists("t")
        assert lakebed.spark.attach(session, one) is session
        lakebed.spark.detach(session)
        lakebed.spark.detach(session)
        lakebed.spark.detach(spark)
        assert [vars(kind)[name] for kind, name in zip(kinds, ("sql", "write"), strict=True)] == before
        assert not session.catalog.tableExists("t")


def test_a_closed_lake_says_so_and_nothing_lands_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_table("t", {"id": "long"})
        lakebed.spark.attach(session, lake)
    try:
        refused: list[Callable[[], Any]] = [
            lambda: session.range(1).write.saveAsTable("t"),
            lambda: session.range(1).writeTo("t").create(),
            lambda: session.sql("CREATE TABLE t AS SELECT 1 AS id"),
        ]
        for change in refused:
            with pytest.raises(Invalid, match=r"was closed.*lakebed\.spark\.attach"):
                change()
        with pytest.raises(AnalysisException) as caught:
            session.sql("SELECT * FROM t")
        assert "was closed" in "".join(caught.value.__notes__)
        assert session.sql("SELECT 1 AS one").collect()[0].one == 1
        assert not session.catalog.tableExists("t")
    finally:
        lakebed.spark.detach(session)


def test_a_stopped_session_says_so(attached: SparkSession, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["lakebed.spark.session"], "is_stopped", lambda _: True)
    with pytest.raises(Invalid, match="session was stopped"):
        attached.table(orders)


def rates(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


WRONG: dict[str, tuple[Callable[[SparkSession], Any], str]] = {
    "mode": (lambda spark: spark.range(1).write.option("color", 1).saveAsTable("sales.new"), "no such option"),
    "flag": (lambda spark: spark.range(1).write.option("mergeSchema", 1).saveAsTable("sales.new"), "true or false"),
    "format": (lambda spark: spark.range(1).write.format("csv").saveAsTable("sales.orders"), "have one format"),
    "new format": (lambda spark: spark.range(1).write.format("delta").saveAsTable("sales.new"), "have one format"),
    "provider": (lambda spark: spark.range(1).writeTo("sales.new").using("delta"), "have one format"),
    "partitions": (
        lambda spark: spark.range(1).write.mode("append").partitionBy("id").saveAsTable("sales.orders"),
        "other partitions",
    ),
    "option": (lambda spark: spark.read.option("readChangeFeed", True).table("sales.orders"), "no such option"),
    "moments": (
        lambda spark: spark.read.options(versionAsOf=1, tag="x").table("sales.orders"),
        "one moment or ref",
    ),
    "merge": (lambda spark: spark.range(1).mergeInto("sales.orders", F.expr("true")).merge(), "no clause"),
    "merge of nothing": (
        lambda spark: spark.range(1).mergeInto("sales.orders", F.lit(True)).whenNotMatchedBySource().updateAll(),
        "no values to take",
    ),
    "merge of names": (lambda spark: spark.range(1).mergeInto("sales.orders", F.col("nope") == 1), "column of a merge"),
    "merge by a function of a function": (
        lambda spark: spark.range(1).mergeInto(
            "sales.orders", F.exists(F.array(F.lit("a")), lambda x: x == F.col("item"))
        ),
        "MERGE INTO",
    ),
    "right": (lambda spark: spark.sql("GRANT SELECT ON sales.orders TO ada"), r"catalog\.create_share"),
    "identifier": (
        lambda spark: spark.sql("SELECT * FROM IDENTIFIER('sales orders')"),
        "column 26: this is not a name",
    ),
    "extended": (lambda spark: spark.sql("SHOW TABLE EXTENDED IN sales LIKE '*'"), "DESCRIBE EXTENDED"),
    "stream": (lambda spark: spark.readStream.option("startingVersion", 1).table("sales.orders"), "maxFilesPerTrigger"),
    "stream into": (lambda spark: rates(spark).writeStream.format("x").toTable("sales.orders"), "one format"),
    "stream without a checkpoint": (lambda spark: rates(spark).writeStream.toTable("sales.orders"), "checkpoint"),
    "complete stream": (
        lambda spark: rates(spark).writeStream.toTable("sales.orders", outputMode="complete"),
        "append or update",
    ),
    "stream into partitions": (
        lambda spark: rates(spark).writeStream.partitionBy("value").toTable("sales.orders"),
        "partitions of a table",
    ),
    "name": (lambda spark: spark.table("sales orders"), "not a table's name"),
    "statement": (lambda spark: spark.sql("UPDATE sales.orders SET"), "line 1, column"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_table_of_the_lake_can_not_do_is_refused(attached: SparkSession, orders: str, case: str) -> None:
    call, problem = WRONG[case]
    with pytest.raises(Invalid, match=problem):
        call(attached)


def test_streams_of_spark_read_and_write_tables_of_the_lake(
    attached: SparkSession, main: Catalog, orders: str, tmp_path: Path
) -> None:
    copy = main.create_or_replace_table("sales.copied", {"id": "long", "item": "string"})
    for more in ([], [{"id": 7, "item": "oat"}]):
        if more:
            main.table(orders).append(more)
        stream = attached.readStream.option("maxFilesPerTrigger", "5").table(orders).where("id > 1")
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "c")).queryName("copying")
        writer.outputMode("append").trigger(availableNow=True).toTable("sales.copied").awaitTermination()
    assert found(attached.table("sales.copied")) == [(2, "jam"), (7, "oat")]
    assert [commit.message for commit in copy.history()][:2] == ["batch 1 of copying", "batch 0 of copying"]
    main.table(orders).delete("id = 2")
    stream = attached.readStream.options(changes="true").table(f"{orders}@main")
    assert "_change_type" in stream.columns
    with pytest.raises(NotFound, match="Create it first"):
        stream.writeStream.option("checkpointLocation", "x").toTable("sales.nowhere")


def test_merge_into_was_refused(attached: SparkSession, main: Catalog, orders: str) -> None:
    more = attached.createDataFrame([(2, "fig", 7), (9, "it's", 1)], "id long, item string, n int")
    version = main.version
    merger = more.alias("s").mergeInto("sales.orders", F.expr("s.id = orders.id"))
    merger = merger.whenMatched(F.col("orders.item") == "jam").update(
        {"orders.`item`": F.concat(F.col("s.item"), F.lit("'s "), F.col("orders.item"))}
    )
    merger.whenNotMatched(F.col("n") < 5).insert({"id": more.id + 1, "item": F.upper("s.item")}).merge()
    assert found(attached.table(orders)) == [(1, "tea"), (10, "IT'S"), (2, "fig's jam")]
    assert len([commit for commit in main.log() if commit.version > version]) == 1

    kept = more.mergeInto("sales.orders", (F.col("orders.id") == more.id) & (more["n"] > 0))
    kept.withSchemaEvolution().whenMatched().updateAll().whenNotMatchedBySource(F.col("orders.id") > 1).delete().merge()
    assert found(attached.table(orders)) == [(1, "tea", None), (2, "fig", 7)]
    bad = attached.createDataFrame([(1, 2**40)], "id long, big long")
    with pytest.raises(Invalid, match="1099511627776"):
        bad.mergeInto(orders, F.expr("orders.id = big")).whenNotMatched().insert({"n": bad.big}).merge()
    attached.createDataFrame([(1, "x")], "id long, item string").write.saveAsTable("spark_catalog.default.plain")
    try:
        with pytest.raises(PySparkException, match="does not support"):  # Spark's own
            more.mergeInto("spark_catalog.default.plain", F.expr("true")).whenMatched().delete().merge()
    finally:
        attached.sql("DROP TABLE spark_catalog.default.plain")


def test_show_listed_the_lake_alone(attached: SparkSession, main: Catalog, orders: str) -> None:
    def names(text: str) -> set[str]:
        return {row[min(1, len(row) - 1)] for row in attached.sql(text).collect()}

    attached.range(2).createOrReplaceTempView("held")
    attached.sql("CREATE TABLE spark_catalog.default.own USING parquet AS SELECT 1 AS id")
    main.create_view("sales.seen", "SELECT 1 AS one", if_not_exists=True)
    try:
        assert {"orders", "held", "own"} <= names("SHOW TABLES")
        assert {"orders", "held"} <= names("SHOW TABLES IN sales") and "own" not in names("SHOW TABLES IN sales")
        assert names("SHOW TABLES LIKE 'h*|own'") == {"held", "own"}
        assert {"held", "seen"} <= names("SHOW VIEWS")
        assert {"sales", "default"} <= names("SHOW DATABASES") and "default" not in names("SHOW DATABASES IN sales")
        assert {"default", "spark_catalog"} <= names("SHOW CATALOGS")
        temporary = [row for row in attached.sql("SHOW TABLES").collect() if row.isTemporary]
        assert ("", "held") in [(row.namespace, row.tableName) for row in temporary]
        attached.sql("USE sales")
        assert {"orders", "held"} <= names("SHOW TABLES") and "own" not in names("SHOW TABLES")
        assert attached.sql("SHOW CURRENT DATABASE").collect()[0].namespace == "sales"
    finally:
        attached.sql("USE default")
        attached.sql("DROP TABLE spark_catalog.default.own")
        attached.catalog.dropTempView("held")
        main.drop_view("sales.seen")


def test_a_comment_on_a_column_did_not_find_the_lakes_table(attached: SparkSession, main: Catalog, orders: str) -> None:
    attached.sql("COMMENT ON COLUMN sales.orders.item IS 'what'")
    assert main.table(orders).schema.field("item").comment == "what"
    attached.sql("USE sales")
    attached.sql("COMMENT ON COLUMN orders.item IS 'which'")
    attached.sql("USE default")
    assert main.table(orders).schema.field("item").comment == "which"
    main.create_or_replace_table("alone", {"id": "long"})
    attached.sql("COMMENT ON COLUMN alone.id IS 'it'")
    assert main.table("alone").schema.field("id").comment == "it"
    main.drop_table("alone")


def test_a_name_given_as_text_was_looked_for_in_spark_alone(attached: SparkSession, lake: Lake, orders: str) -> None:
    rows = attached.sql("SELECT id FROM IDENTIFIER(:name) WHERE id > :least", args={"name": orders, "least": 1})
    assert found(rows) == [(2,)]
    attached.sql("DELETE FROM IDENTIFIER('sales.orders@main') WHERE IDENTIFIER('id') = 2")
    assert found(attached.table(orders)) == [(1, "tea")]
    rows = cast(
        DataFrame, lake.sql(attached, "SELECT IDENTIFIER(?) FROM IDENTIFIER(?)", args=["item", "sales.`orders`"])
    )
    assert found(rows) == [("tea",)]
    assert attached.sql("SELECT IDENTIFIER('a') FROM VALUES (1) AS t (a)").collect()[0].a == 1
    for text in ("sales.orders; DROP TABLE x", "", "1", "a b"):
        with pytest.raises(Invalid, match="this is not a name"):
            lake.sql(attached, "SELECT * FROM IDENTIFIER(?)", args=[text])


def test_a_note_denied_that_the_lake_has_a_table(attached: SparkSession, orders: str) -> None:
    for text in ("EXECUTE IMMEDIATE 'SELECT * FROM sales.orders'", "BEGIN SELECT * FROM sales.orders; END"):
        with pytest.raises(AnalysisException) as raised:
            attached.sql(text)
        assert "The lake has sales.orders, but Spark runs this statement" in raised.value.__notes__[-1]


def test_only_sessions_and_lakes_are_taken(spark: SparkSession, lake: Lake) -> None:
    with pytest.raises(Invalid, match="not a lake"):
        lakebed.spark.attach(spark, "file:///lake")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="not a Spark session"):
        lakebed.spark.attach("spark", lake)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="not a Spark session"):
        lakebed.spark.detach(None)  # type: ignore[arg-type]


def test_lake_sql_on_an_attached_session_is_as_before(attached: SparkSession, lake: Lake, orders: str) -> None:
    assert found(lake.sql(attached, "SELECT * FROM sales.orders")) == ROWS
    with pytest.raises(NotFound):
        lake.sql(attached, "SELECT * FROM sales.missing")


def test_system_tables_and_other_catalogs_are_found(attached: SparkSession, lake: Lake, orders: str) -> None:
    other = lake.create_catalog("archive")
    other.create_namespace("old")
    assert found(attached.sql("SELECT sum(record_count) FROM sales.orders.files")) == [(2,)]
    assert ("sales.orders",) in found(attached.sql("SELECT table_name FROM __tables"))
    attached.sql("CREATE TABLE archive.old.items AS SELECT * FROM sales.orders")
    assert other.table("old.items").scan().count() == 2
    assert found(attached.sql("SELECT count(*) FROM archive.old.items")) == [(2,)]
    attached.sql("CREATE TABLE default.spark_items USING parquet AS SELECT 1 AS id")
    try:
        assert found(attached.sql("SELECT id FROM default.spark_items")) == [(1,)]
        assert not lake.catalog().table_exists("spark_items")
    finally:
        attached.sql("DROP TABLE default.spark_items")


def test_a_column_behind_the_whole_name_of_a_table_that_stands_without_it_was_not_found(
    attached: SparkSession, orders: str
) -> None:
    namespace, _, own = orders.rpartition(".")
    attached.sql(f"USE {namespace}")
    found = attached.sql(f"SELECT {orders}.id, {own}.id FROM {own} ORDER BY {orders}.id").collect()
    assert [tuple(row) for row in found] == [(row.id, row.id) for row in attached.table(orders).orderBy("id").collect()]
