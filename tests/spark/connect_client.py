"""What `test_connect` runs in a process of its own: PySpark has one kind of session in a process, by its environment.

It takes the folder of a lake, and `SPARK_REMOTE` names the server. An assertion that fails ends it with a trace.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Table
from lakebed import pipelines as lp
from lakebed.errors import Forbidden, Invalid, NotFound
from lakebed.spark import detach, session
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS


def agree(spark: SparkSession, table: Table, where: str | None = None) -> list[dict[str, Any]]:
    """The rows, as both engines show them."""
    columns = [*table.schema.names, *(one.name for one in METADATA_COLUMNS)]
    here = sorted(table.scan(where=where, columns=columns).to_arrow().to_pylist(), key=repr)
    found = table.read(spark, where=where, columns=columns).toArrow().to_pylist()
    assert sorted(found, key=repr) == here, (found, here)
    return here


def reads_and_appends(spark: SparkSession, main: Catalog) -> None:
    table = main.create_table("plain", {"id": "long", "name": "string"})
    table.append(pyarrow.table({"id": [1, 2], "name": ["inline", "inline"]}))
    table.append(spark.range(3, 20).selectExpr("id", "'spark' as name").repartition(2))
    table.delete("id in (1, 5)")
    table.update({"name": "'again'"}, "id = 7")
    with table.evolve() as change:
        change.rename_column("name", "Ünï çødé.with `dots`")
        change.add_column("later", "int", default=7)
    assert len(agree(spark, table)) == 17
    assert len(agree(spark, table, where="id > 4 and later = 7")) == 14
    frame = table.read(spark)
    frame.createOrReplaceTempView("plain_view")
    assert spark.sql("select count(*), sum(later) from plain_view where id > 2").collect() == [(16, 112)]
    with main.transaction() as change:
        change.table("plain").append(spark.range(100, 102))
        assert change.table("plain").read(spark).count() == 19
    assert table.read(spark).count() == 19
    assert frame.count() == 17, "a frame shows the table as it was when it was made"


def changes_rows(spark: SparkSession, main: Catalog) -> None:
    table = main.create_table("keyed", {"id": "long", "name": "string"}, primary_key=["id"])
    table.append(spark.range(0, 20).selectExpr("id", "'first' as name"))
    table.upsert(spark.range(18, 23).selectExpr("id", "'second' as name"))
    table.delete("id % 5 = 0", spark=spark)
    table.update({"name": "upper(name)"}, "id = 1", spark=spark)
    found = {one["id"]: one["name"] for one in agree(spark, table)}
    expected = dict.fromkeys(range(18), "first") | dict.fromkeys(range(18, 23), "second") | {1: "FIRST"}
    assert found == {id: name for id, name in expected.items() if id % 5}


def runs_sql(spark: SparkSession, lake: lakebed.Lake) -> None:
    """Statements are cut by rules: Spark's parser is out of reach."""
    lake.sql(spark, "CREATE NAMESPACE s; CREATE TABLE s.t (id BIGINT, at TIMESTAMP, n INT DEFAULT 7)")
    lake.sql(spark, "WITH q AS (SELECT count(*) AS c FROM range(3)) INSERT INTO s.t (id) SELECT c FROM q")
    lake.sql(spark, "INSERT INTO s.t VALUES (1, now(), DEFAULT), (:id, NULL, 2)", args={"id": 2})
    lake.sql(spark, "UPDATE s.t SET at = now(), n = DEFAULT WHERE id = 2")
    lake.sql(
        spark,
        "MERGE INTO s.t t USING (SELECT explode(array(1L, 9L)) AS id) s ON t.id = s.id "
        "WHEN MATCHED AND t.at <= now() THEN DELETE WHEN NOT MATCHED THEN INSERT (at, id) VALUES (now(), s.id)",
    )
    lake.sql(spark, "DELETE FROM s.t o WHERE EXISTS (SELECT 1 FROM s.t i WHERE i.id = o.id + 7)")
    found = lake.sql(spark, "SELECT id, at IS NULL AS is_null, n FROM s.t")
    assert sorted(map(tuple, found.collect())) == [(3, True, 7), (9, False, 7)]  # type: ignore[union-attr]
    assert lake.sql(spark, "SELECT count(*) FROM s.t.history").collect()[0][0] == 6  # type: ignore[union-attr]


def runs_statements_about_objects(spark: SparkSession, lake: lakebed.Lake) -> None:
    lake.sql(spark, "USE s; ALTER TABLE t ADD COLUMN code VARCHAR(3) DEFAULT 'abc' COMMENT 'x' AFTER id")
    lake.sql(spark, "ALTER TABLE t ADD CONSTRAINT few CHECK (id < 100); CREATE OR REPLACE VIEW v AS SELECT id FROM t")
    for text, expected in (
        ("SELECT count(*) FROM v", [(2,)]),
        ("SHOW TABLES", [("s", "t", False)]),
        ("SHOW VIEWS LIKE 'v*'", [("s", "v", False)]),
        ("DESCRIBE v", [("id", "bigint", None)]),
        ("SHOW COLUMNS IN t", [("id",), ("code",), ("at",), ("n",)]),
        ("SHOW CURRENT NAMESPACE", [("default", "s", "main")]),
        ("USE CATALOG default", [("default", "", "main")]),
    ):
        assert [tuple(row) for row in lake.sql(spark, text).collect()] == expected, text  # type: ignore[union-attr]


def reads_nothing_into_names(spark: SparkSession, lake: lakebed.Lake) -> None:
    lake.sql(
        spark, "CREATE TABLE s.odd (`${user.name}` STRING DEFAULT '${env:HOME}', s STRUCT<`${x}`: INT>, `a.b` INT)"
    )
    lake.sql(spark, "INSERT INTO s.odd VALUES ('${user.name}', named_struct('${x}', 1), 2), (DEFAULT, NULL, 3)")
    lake.sql(spark, "UPDATE s.odd SET `a.b` = 4 WHERE concat(`${user.name}`, '') = '${user.name}'")
    table = lake.catalog().table("s.odd")
    table.compact(spark)
    expected = [("${user.name}", {"${x}": 1}, 4), ("${env:HOME}", None, 3)]
    names = ("${user.name}", "s", "a.b")
    found = [{name: row[name] for name in names} for row in agree(spark, table)]
    assert sorted(map(repr, found)) == sorted(repr(dict(zip(names, row, strict=True))) for row in expected), found
    lake.sql(spark, "CREATE TEMP VIEW `${env:HOME}` AS SELECT '${nope}' AS a FROM s.odd")
    assert lake.sql(spark, "SELECT DISTINCT a FROM `${env:HOME}`").collect() == [("${nope}",)]  # type: ignore[union-attr]


def refuses_views_that_reach_out_of_the_lake(spark: SparkSession, lake: lakebed.Lake) -> None:
    """Without Spark's parser, by tokens and sqlglot's tree."""
    main = lake.catalog()
    spark.range(2).createOrReplaceTempView("mine")
    main.set_properties({"views.trusted": "true"})
    harmful = (
        "select * from mine",
        "select reflect('a', 'b')",
        "select * from text.`/etc/passwd`",
        "select ] from s.t",
    )
    for number, text in enumerate(harmful):
        main.create_view(f"s.harmful{number}", text)
    main.unset_properties(["views.trusted"])
    for number, text in enumerate(harmful):
        try:
            lake.sql(spark, f"SELECT * FROM s.harmful{number}")
        except (Forbidden, NotFound):
            main.drop_view(f"s.harmful{number}")
        else:
            raise AssertionError(text)


def finds_the_lakes_names(spark: SparkSession, main: Catalog) -> None:
    spark.sql("CREATE NAMESPACE sales")
    spark.sql("CREATE TABLE sales.orders (id BIGINT, item STRING)")
    assert spark.sql("INSERT INTO sales.orders VALUES (1, 'tea'), (2, 'jam')").collect() == []
    spark.range(3, 5).selectExpr("id", "'oat' AS item").write.mode("append").saveAsTable("sales.orders")
    spark.range(1).selectExpr("id", "'fig' AS item").writeTo("sales.orders").overwrite("id = 1")
    assert spark.table("sales.orders").count() == spark.read.table("sales.orders").count() == 4
    rows = spark.sql("SELECT id FROM sales.orders WHERE item = {word} AND id < :most", args={"most": 4}, word="oat")
    assert [row.id for row in rows.collect()] == [3]
    assert (spark.catalog.tableExists("sales.orders"), spark.catalog.databaseExists("sales")) == (True, True)
    listed = spark.catalog.listTables("sales")
    assert [table.name for table in listed if not table.isTemporary] == ["orders"], listed
    spark.range(2).createOrReplaceTempView("numbers")
    assert spark.sql("SELECT * FROM numbers JOIN sales.orders USING (id)").count() == 1
    try:
        spark.sql("SELECT * FROM sales.orders JOIN {other} USING (id)", other=spark.range(1))
    except Invalid as error:
        assert "temporary view" in str(error)
    else:
        raise AssertionError("a DataFrame that is gone when it is looked up was taken")
    other = spark.newSession()
    assert not other.catalog.tableExists("sales.orders")
    other.stop()  # or its channel is closed while Python ends, and waits for ever
    detach(spark)
    assert not spark.catalog.tableExists("sales.orders")
    assert type(spark.range(1).write).__name__ == "DataFrameWriter"
    main.drop_namespace("sales", cascade=True)


def runs_a_pipeline(spark: SparkSession, lake: lakebed.Lake) -> None:
    """With a step and a check in SQL: what was analysed when they were made is analysed again when it is written."""
    main = lake.catalog()
    main.create_namespace("pipes")
    raw = main.create_table("pipes.raw", {"id": "long", "item": "string"}, primary_key=["id"])
    raw.append([{"id": 1, "item": "tea"}, {"id": 2, "item": "jam"}, {"id": -3, "item": "tea"}])
    shop = lp.Pipeline("shop", namespace="pipes")

    @shop.table(write="upsert", primary_key=["id"], expect=[lp.expect("id > 0", or_="quarantine")])
    def kept(rows: Any = lp.changes("pipes.raw")) -> Any:
        return rows.select("id", "item", "_change_type")

    shop.sql("odd", "select k.id, '{\"a\": 1}' as text from {kept} k join {pipes.raw} using (id) where k.item = 'jam'")
    shop.check(lp.equal("pipes.odd", "select id from {pipes.odd}", "select 2L as id"), lp.unique("pipes.kept", "id"))
    run = shop.run(lake, spark).raise_for_status()
    assert [(step.rows, step.quarantined) for step in run.steps] == [(2, 1), (1, 0)], run
    assert main.table("pipes.odd").to_arrow().to_pylist() == [{"id": 2, "text": '{"a": 1}'}]
    assert all(check.passed for check in run.checks if check.severity == "error")
    raw.append([{"id": 4, "item": "oat"}])
    shop.run(lake, spark).raise_for_status()
    assert main.table("pipes.kept").scan().count() == 3
    main.drop_namespace("pipes", cascade=True)


def refuses_what_it_can_not_read(spark: SparkSession, place: Path) -> None:
    with lakebed.connect(place / "a [lake]") as lake:
        table = lake.catalog().create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
        table.append(pyarrow.table({"id": [1]}))
        try:
            table.read(spark)
        except Invalid as error:
            assert "pattern" in str(error)
        else:
            raise AssertionError("a path that Spark takes for a pattern was read")
    gone = spark.read.schema("id long").parquet(f"file://{place}/nowhere.parquet")
    try:
        gone.collect()
    except AnalysisException as error:
        assert "PATH_NOT_FOUND" in str(error)
    else:
        raise AssertionError("a server that does not see a file found no rows in it")


def run(place: Path) -> None:
    with lakebed.connect(place / "a lake, 100% ünïcode #1 +~!'()&=@;: \u00a0💧") as lake:
        spark = session(lake)
        assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
        reads_and_appends(spark, lake.catalog())
        changes_rows(spark, lake.catalog())
        runs_sql(spark, lake)
        runs_statements_about_objects(spark, lake)
        reads_nothing_into_names(spark, lake)
        refuses_views_that_reach_out_of_the_lake(spark, lake)
        finds_the_lakes_names(spark, lake.catalog())
        runs_a_pipeline(spark, lake)
        refuses_what_it_can_not_read(spark, place)
        spark.stop()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
