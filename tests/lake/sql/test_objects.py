"""Statements about objects on a lake: one commit each, what they answer, and where the session stands."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakebed import Catalog, Lake
from lakebed.errors import AlreadyExists, Invalid, LakebedError, NotFound

FILE_PATH = [("col_name", "file_path"), ("data_type", "string"), ("comment", "NULL")]


@pytest.fixture
def sales(main: Catalog) -> Catalog:
    """Orders on two branches, and a view."""
    main.create_namespace("sales")
    columns = {"id": "long", "item": "string", "price": "decimal(10, 2)", "day": "date"}
    orders = main.create_table("sales.orders", columns, partition_by=["day(day)"], primary_key=["id"], comment="all")
    prices = pa.array([Decimal(2), None], pa.decimal128(10, 2))
    days = [datetime.date(2026, 11, day) for day in (1, 2)]
    orders.append(pa.table({"id": [1, 2], "item": ["tea", "jam"], "price": prices, "day": days}))
    main.create_view("sales.counts", "SELECT count(*) AS n FROM sales.orders")
    main.create_branch("dev").table("sales.orders").delete("id = 1")
    return main


def rows(answer: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in answer.collect()]


def test_alter_table_changes_columns_layout_key_and_name_in_one_commit_each(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    orders = sales.table("sales.orders")
    for text in (
        "ALTER TABLE sales.orders ADD COLUMN qty INT NOT NULL DEFAULT 7 COMMENT 'how many' AFTER item",
        "ALTER TABLE sales.orders ADD COLUMNS (point STRUCT<x: INT, y: INT> FIRST, code VARCHAR(3))",
        "ALTER TABLE sales.orders ADD COLUMN point.z DOUBLE AFTER x",
        "ALTER TABLE sales.orders ALTER COLUMN qty TYPE BIGINT, item COMMENT 'what', price SET DEFAULT 1 + 0.5",
        "ALTER TABLE sales.orders ALTER COLUMN qty DROP NOT NULL",
        "ALTER TABLE sales.orders CHANGE COLUMN item name STRING COMMENT 'its name' AFTER id",
        "ALTER TABLE sales.orders DROP COLUMNS IF EXISTS (point, nope)",
        "ALTER TABLE sales.orders ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE sales.orders REPLACE PARTITION FIELD days(day) WITH months(day)",
        "ALTER TABLE sales.orders DROP PARTITION FIELD id_bucket_4",
        "ALTER TABLE sales.orders WRITE ORDERED BY name DESC, id",
        "ALTER TABLE sales.orders DROP IDENTIFIER FIELDS id",
        "ALTER TABLE sales.orders SET TBLPROPERTIES ('owner' = 'ada', 'write.inline-bytes' = '0')",
        "ALTER TABLE sales.orders UNSET TBLPROPERTIES IF EXISTS ('write.inline-bytes', 'nope')",
        "COMMENT ON COLUMN sales.orders.price IS 'each'",
        "COMMENT ON TABLE sales.orders IS NULL",
        "ALTER TABLE sales.orders RENAME TO all_orders",
    ):
        before = len(orders.history())
        commit = lake.sql(spark, text, message=text)
        assert commit == orders.history()[0], text
        assert (len(orders.history()), orders.history()[0].message) == (before + 1, text)
    assert orders.name == "sales.all_orders"
    assert [(field.name, str(field.type), field.comment) for field in orders.schema.fields] == [
        ("id", "long", ""),
        ("name", "string", "its name"),
        ("qty", "long", "how many"),
        ("price", "decimal(10, 2)", "each"),
        ("day", "date", ""),
        ("code", "string", ""),
    ]
    assert (list(orders.spec), list(orders.sort_order)) == (
        ["month(day)"],
        ["name desc nulls last", "id asc nulls first"],
    )
    assert (orders.primary_key, orders.comment) == ((), None)
    assert orders.properties == {"owner": "ada", "check.code-length": "length(code) <= 3"}
    orders.append(pa.table({"id": [3]}))
    assert [row["qty"] for row in orders.scan(where="id in (1, 3)").to_arrow().to_pylist()] == [7, 7]
    assert orders.scan(where="price = 1.5").count() == 1
    with pytest.raises(Invalid, match="there is no such column"):
        lake.sql(spark, "ALTER TABLE sales.all_orders DROP COLUMN nope")


def test_what_may_be_there_already_makes_no_commit(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    orders, version = sales.table("sales.orders"), sales.version
    for text, answer in (
        ("ALTER TABLE sales.orders ADD COLUMN IF NOT EXISTS item STRING", None),
        ("ALTER TABLE sales.orders DROP COLUMN IF EXISTS nope", None),
        ("ALTER TABLE sales.orders DROP CONSTRAINT IF EXISTS nope", None),
        ("CREATE NAMESPACE IF NOT EXISTS sales COMMENT 'other'", sales.namespace("sales")),
        ("CREATE VIEW IF NOT EXISTS sales.counts AS SELECT 1 AS x", sales.view("sales.counts")),
        ("CREATE TABLE IF NOT EXISTS sales.orders LIKE sales.orders", orders),
        ("CREATE BRANCH IF NOT EXISTS dev", sales.branch("dev")),
        ("DROP VIEW IF EXISTS sales.nope", None),
        ("DROP NAMESPACE IF EXISTS nope", None),
        ("DROP TAG IF EXISTS nope", None),
        ("ANALYZE TABLE sales.orders COMPUTE STATISTICS", None),
        ("REFRESH TABLE sales.orders", None),
    ):
        assert lake.sql(spark, text) == answer, text
    assert sales.version == version


def test_a_constraint_is_added_only_if_no_row_breaks_it(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    with pytest.raises(Invalid, match=r"line 1, column 26: dear: a row of the table breaks this constraint.*'id': 1"):
        lake.sql(spark, "ALTER TABLE sales.orders ADD CONSTRAINT dear CHECK (price > 5)")
    assert sales.table("sales.orders").properties == {"comment": "all"}
    lake.sql(spark, "ALTER TABLE sales.orders ADD CONSTRAINT cheap CHECK (price < 5)")
    with pytest.raises(AlreadyExists):
        lake.sql(spark, "ALTER TABLE sales.orders ADD CONSTRAINT cheap CHECK (price < 6)")
    with pytest.raises(Invalid, match="cheap"):
        lake.sql(spark, "INSERT INTO sales.orders (id, price) VALUES (9, 6)")
    lake.sql(spark, "ALTER TABLE sales.orders DROP CONSTRAINT cheap")
    with pytest.raises(NotFound, match="no constraint of this name"):
        lake.sql(spark, "ALTER TABLE sales.orders DROP CONSTRAINT cheap")


def test_a_statement_that_comes_again_with_its_event_id_commits_once(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    for text in (
        "ALTER TABLE sales.orders ADD COLUMN a INT",
        "ALTER TABLE sales.orders ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE sales.orders DROP IDENTIFIER FIELDS id",
        "ALTER TABLE sales.orders ADD CONSTRAINT named CHECK (item <> '')",
        "ALTER TABLE sales.orders DROP CONSTRAINT named",
        "COMMENT ON NAMESPACE sales IS 'x'",
        "CREATE OR REPLACE VIEW sales.counts AS SELECT max(id) AS n FROM sales.orders",
        "ALTER VIEW sales.counts RENAME TO most",
        "CREATE NAMESPACE sales.eu",
        "CREATE TAG q4",
        "CREATE BRANCH fix FROM dev",
        "DROP VIEW sales.most",
        "UNDROP VIEW sales.most",
        "DROP NAMESPACE sales.eu",
        "CREATE TABLE sales.t (a INT)",
        "CREATE OR REPLACE TABLE sales.t (b INT)",
        "CREATE TABLE sales.u AS SELECT id FROM sales.orders",
        "CREATE OR REPLACE TABLE sales.u AS SELECT count(*) AS n FROM sales.u",
        "CREATE OR REPLACE TABLE sales.new AS SELECT 1 AS x",
        "DROP TABLE sales.t",
        "ALTER TABLE sales.orders RENAME TO all_orders",
    ):
        event = uuid4()
        first = lake.sql(spark, text, event_id=event)
        version = lake.catalog().version
        again = lake.sql(spark, text, event_id=event)
        assert (again, lake.catalog().version) == (first, version), text


def test_racing_statements_create_one_object_and_lose_no_column(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    for text, count in (
        ("CREATE TABLE IF NOT EXISTS sales.raced (a INT)", 1),
        ("CREATE NAMESPACE IF NOT EXISTS raced", 1),
        ("CREATE BRANCH IF NOT EXISTS raced", 1),
        ("CREATE OR REPLACE VIEW sales.raced_view AS SELECT 1 AS x", 1),
        ("ALTER TABLE sales.orders ADD COLUMN IF NOT EXISTS raced INT", 1),
        ("CREATE OR REPLACE TABLE sales.replaced (a INT)", 4),
        ("DROP TABLE IF EXISTS sales.raced", 1),
    ):
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _, text=text: lake.sql(spark, text), range(4)))
        made = {getattr(answer, "id", answer) for answer in answers if answer is not None}
        assert len(made) == count, text
    with ThreadPoolExecutor(4) as pool:
        terms = ["bucket(4, id)", "truncate(2, item)", "bucket(8, item)"]
        list(pool.map(lambda term: lake.sql(spark, f"ALTER TABLE sales.orders ADD PARTITION FIELD {term}"), terms))
    assert sorted(sales.table("sales.orders").spec) == sorted(["day(day)", *terms])
    assert sales.table("sales.orders").schema.names.count("raced") == 1


def test_the_statement_that_is_shown_creates_the_same_table_again(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    lake.sql(
        spark,
        r"""CREATE TABLE sales.all_sorts (
            id BIGINT NOT NULL COMMENT 'it\'s the key', `default` STRING DEFAULT 'a\'b\\c', `a b` INT DEFAULT -1,
            price DECIMAL(10, 2) DEFAULT 1.5, day DATE DEFAULT DATE '2026-02-03',
            at TIMESTAMP DEFAULT TIMESTAMP '2026-02-03T04:05:06Z', yes BOOLEAN DEFAULT true, raw BINARY,
            local TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '2026-02-03 04:05:06.5', half DOUBLE DEFAULT 0.5,
            point STRUCT<x: INT NOT NULL, `y z`: ARRAY<MAP<STRING, DECIMAL(5, 1)>>>, code VARCHAR(3),
            PRIMARY KEY (id), CONSTRAINT positive CHECK (price > 0))
        PARTITIONED BY (bucket(4, id), `default`) COMMENT 'all sorts' TBLPROPERTIES ('a.b' = 'it\'s')""",
    )
    lake.sql(spark, "ALTER TABLE sales.all_sorts WRITE ORDERED BY `a b` DESC, day(at)")
    [(text,)] = rows(lake.sql(spark, "SHOW CREATE TABLE sales.all_sorts"))
    old = sales.at(version=sales.version).table("sales.all_sorts")
    sales.drop_table("sales.all_sorts")
    lake.sql(spark, text)
    new = sales.table("sales.all_sorts")
    assert new.id != old.id
    for what in ("schema", "spec", "sort_order", "primary_key", "properties"):
        assert str(getattr(new, what)) == str(getattr(old, what)), what
    [(view,)] = rows(lake.sql(spark, "SHOW CREATE TABLE sales.counts"))
    sales.drop_view("sales.counts")
    lake.sql(spark, view)
    assert rows(lake.sql(spark, "SELECT * FROM sales.counts")) == [(2,)]


def test_a_copy_has_columns_layout_key_and_properties_but_no_rows(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    orders = sales.table("sales.orders")
    with orders.evolve() as change:
        change.rename_column("item", "name")
        change.add_column("item", "int", default=5)
        change.sort_by(["id"])
    copy = lake.sql(spark, "CREATE TABLE sales.copy LIKE sales.orders TBLPROPERTIES ('owner' = 'ada')")
    assert copy == sales.table("sales.copy")
    table = sales.table("sales.copy")
    assert table.schema.names == orders.schema.names
    assert (list(table.spec), list(table.sort_order), table.primary_key) == (
        ["day(day)"],
        ["id asc nulls first"],
        ("id",),
    )
    assert (table.properties, table.scan().count()) == ({"comment": "all", "owner": "ada"}, 0)
    table.append(pa.table({"id": [1], "name": ["x"]}))
    assert table.get(1) == {"id": 1, "name": "x", "price": None, "day": None, "item": 5}


def test_a_view_is_replaced_in_one_commit_and_names_its_tables_in_full(
    lake: Lake, sales: Catalog, spark: SparkSession
) -> None:
    counts = sales.view("sales.counts")
    lake.sql(spark, "USE sales")
    before = len(counts.history())
    replaced = lake.sql(
        spark,
        "CREATE OR REPLACE VIEW counts (k COMMENT 'key', v) COMMENT 'x' AS SELECT id, item FROM orders o",
        message="m",
    )
    assert replaced == counts and len(counts.history()) == before + 1 and counts.comment == "x"
    assert "`sales`.`orders` o" in counts.sql_for()
    lake.sql(spark, "USE CATALOG default")
    assert rows(lake.sql(spark, "SELECT k, v FROM sales.counts ORDER BY k")) == [(1, "tea"), (2, "jam")]
    assert rows(lake.sql(spark, "DESCRIBE sales.counts")) == [("k", "bigint", "key"), ("v", "string", None)]
    assert lake.sql(spark, "ALTER VIEW sales.counts AS SELECT 1 AS one") == counts.history()[0]
    assert rows(lake.sql(spark, "SHOW COLUMNS IN sales.counts")) == [("one",)]
    spark.range(1).createOrReplaceTempView("mine")
    for text in (
        "CREATE VIEW sales.v AS SELECT * FROM mine",
        "ALTER VIEW sales.counts AS SELECT * FROM sales.orders, mine",
    ):
        with pytest.raises(Invalid, match="a view of the lake can't read a table of the session") as refused:
            lake.sql(spark, text)
        assert refused.value.subject == f"line 1, column {text.index('mine') + 1}"
    with pytest.raises(AlreadyExists, match="a table"):
        lake.sql(spark, "CREATE OR REPLACE VIEW sales.orders AS SELECT 1 AS x")
    lake.sql(spark, "CREATE VIEW sales.upon AS SELECT * FROM sales.counts")
    for text in (
        "CREATE OR REPLACE VIEW sales.counts AS SELECT * FROM sales.upon",
        "ALTER VIEW sales.counts AS SELECT * FROM sales.counts",
    ):  # both views could not be read any more
        with pytest.raises(Invalid, match="a view is made of itself"):
            lake.sql(spark, text)
    assert rows(lake.sql(spark, "DROP VIEW IF EXISTS nothing; SELECT * FROM sales.upon")) == [(1,)]
    lake.sql(spark, "DROP VIEW sales.upon")
    version = sales.version
    assert lake.sql(spark, "DROP VIEW mine") is None and lake.sql(spark, "DROP VIEW IF EXISTS mine") is None
    with pytest.raises(NotFound, match="line 1, column 11: mine: there is no temporary view of this name"):
        lake.sql(spark, "DROP VIEW mine")
    lake.sql(spark, "USE sales; CREATE OR REPLACE TEMPORARY VIEW counts AS SELECT 1 AS x; DROP VIEW counts")
    assert sales.version == version and sales.view_exists("sales.counts")
    assert lake.sql(spark, "DROP VIEW counts") == sales.log(1)[0]
    assert not sales.view_exists("sales.v")


def test_use_is_where_later_statements_start(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    def found(text: str, **given: Any) -> Any:
        [(value,)] = rows(lake.sql(spark, text, **given))
        return value

    other = spark.newSession()
    spark.catalog.dropTempView("orders")
    assert rows(lake.sql(spark, "USE sales")) == [("default", "sales", "main")]
    assert found("SELECT count(*) FROM orders") == 2
    assert rows(lake.sql(spark, "USE REFERENCE dev")) == [("default", "sales", "dev")]
    assert found("SELECT count(*) FROM orders") == 1
    assert found("SELECT count(*) FROM orders@main") == 2
    assert found("SELECT count(*) FROM orders", ref="main") == 2
    assert [tuple(row) for row in sales.sql(spark, "SELECT count(*) FROM orders").collect()] == [(2,)]  # type: ignore[union-attr]
    assert found("WITH orders AS (SELECT * FROM orders WHERE id = 7) SELECT count(*) FROM orders") == 0
    assert found("SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE p.id = o.id)") == 1
    assert found("SELECT orders.item FROM orders") == "jam"
    lake.sql(spark, "INSERT INTO orders (id) VALUES (5)")
    lake.sql(spark, "DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE id = 5)")
    assert (sales.branch("dev").table("sales.orders").scan().count(), found("SELECT count(*) FROM orders")) == (1, 1)
    spark.range(9).createOrReplaceTempView("orders")
    assert found("SELECT count(*) FROM orders") == 9
    for text in ("DELETE FROM orders", "DROP TABLE orders", "ALTER TABLE orders RENAME TO x"):
        with pytest.raises(Invalid, match="a temporary view of the session has this name"):
            lake.sql(spark, text)
    spark.catalog.dropTempView("orders")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql(other, "SELECT count(*) FROM orders")
    assert rows(lake.sql(spark, "SHOW TABLES")) == [("sales", "orders", False)]
    assert rows(lake.sql(spark, "SHOW CURRENT NAMESPACE")) == [("default", "sales", "dev")]
    with pytest.raises(NotFound, match="there is no namespace, catalog, branch or tag"):
        lake.sql(spark, "USE nope")
    lake.sql(spark, "DROP BRANCH dev")
    with pytest.raises(NotFound, match="USE REFERENCE main"):
        lake.sql(spark, "SELECT 1")
    assert rows(lake.sql(spark, "USE REFERENCE main", ref="main")) == [("default", "sales", "main")]
    made = lake.create_catalog("other").create_namespace("eu")
    assert rows(lake.sql(spark, "USE other.eu")) == [("other", "eu", "main")]
    assert lake.sql(spark, "CREATE TABLE t (a INT)") == lake.catalog("other").table("eu.t")
    assert made.name == "eu"
    assert rows(lake.sql(spark, "USE CATALOG other")) == [("other", "", "main")]
    assert rows(lake.sql(spark, "SHOW TABLES")) == [("eu", "t", False)]
    assert rows(lake.sql(spark, "USE default; USE sales; SELECT count(*) FROM orders")) == [(2,)]
    assert rows(lake.sql(spark, "SET CATALOG default")) == [("default", "", "main")]
    with pytest.raises(Invalid, match="a query makes no commit"):
        lake.sql(spark, "USE sales", message="m")


def test_branches_and_tags_are_created_merged_and_dropped(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    version = sales.version
    fix = lake.sql(spark, "CREATE BRANCH fix FROM dev")
    assert fix == sales.branch("fix") and sales.branch("fix").table("sales.orders").scan().count() == 1
    assert lake.sql(spark, f"CREATE TAG `2026-q4` AT {version}") == sales.tag("2026-q4")
    assert lake.sql(spark, "CREATE TAG d IN default FROM dev") == sales.tag("d")
    listed = rows(lake.sql(spark, "LIST REFERENCES"))
    assert [(kind, name) for kind, name, _ in listed] == [
        ("Branch", "main"),
        ("Branch", "dev"),
        ("Branch", "fix"),
        ("Tag", "2026-q4"),
        ("Tag", "d"),
    ]
    assert rows(lake.sql(spark, "SHOW TAGS LIKE '2026*'")) == [("Tag", "2026-q4", int(version))]
    merged = lake.sql(spark, "MERGE BRANCH fix INTO main", message="bring it")
    assert merged.commit.message == "bring it" and sales.table("sales.orders").scan().count() == 1  # type: ignore[union-attr]
    assert lake.sql(spark, "MERGE BRANCH fix").commit is None  # type: ignore[union-attr]
    assert rows(lake.sql(spark, "SHOW LOG LIMIT 1"))[0][3] == "bring it"
    lake.sql(spark, "DROP BRANCH fix")
    lake.sql(spark, "UNDROP BRANCH fix AS repaired")
    assert sales.branch_exists("repaired") and not sales.branch_exists("fix")
    lake.sql(spark, "RESTORE TABLE sales.orders TO VERSION AS OF '2026-q4'")
    assert sales.table("sales.orders").scan().count() == 2
    lake.sql(spark, "DROP TAG d")
    with pytest.raises(LakebedError, match="line 1, column 10: d: there is no tag of this name"):
        lake.sql(spark, "DROP TAG d")


def test_statements_about_objects_are_part_of_a_transaction(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    version = sales.version
    with pytest.raises(ZeroDivisionError), sales.transaction("undone") as tx:
        tx.sql(spark, "ALTER TABLE sales.orders ADD COLUMN x INT")
        tx.sql(spark, "CREATE VIEW sales.v AS SELECT x FROM sales.orders")
        raise ZeroDivisionError
    assert sales.version == version
    with sales.transaction("all of it") as tx:
        assert tx.sql(spark, "CREATE NAMESPACE sales.eu") == tx.namespace("sales.eu")
        assert tx.sql(spark, "ALTER TABLE sales.orders ADD COLUMN x INT DEFAULT 3") is None
        tx.sql(spark, "CREATE TABLE sales.eu.orders LIKE sales.orders")
        tx.sql(spark, "CREATE VIEW sales.v AS SELECT x FROM sales.orders")
        tx.sql(spark, "ALTER TABLE sales.orders ADD CONSTRAINT three CHECK (x = 3)")
        tx.sql(spark, "DROP VIEW sales.counts")
        assert rows(tx.sql(spark, "SELECT x FROM sales.v")) == [(3,), (3,)]
        assert rows(tx.sql(spark, "SHOW TABLES")) == [("sales", "orders", False), ("sales.eu", "orders", False)]
        assert rows(tx.sql(spark, "SHOW VIEWS IN sales")) == [("sales", "v", False)]
        for text in (
            "CREATE BRANCH b",
            "DROP BRANCH dev",
            "CREATE TAG t",
            "MERGE BRANCH dev INTO main",
            "USE REFERENCE dev",
            "RESTORE TABLE sales.orders TO VERSION AS OF 3",
        ):
            with pytest.raises(Invalid, match="a transaction can't"):
                tx.sql(spark, text)
        with pytest.raises(Invalid, match="a transaction can only change its own branch"):
            tx.sql(spark, "ALTER TABLE sales.orders@dev ADD COLUMN y INT")
    assert tx.committed is not None and sales.log(1)[0] == tx.committed
    assert sales.table("sales.eu.orders").schema.names[-1] == "x"


def test_show_and_describe_answer_spark_s_columns(lake: Lake, sales: Catalog, spark: SparkSession) -> None:
    sales.create_namespace("sales.eu", properties={"owner": "ada"}, comment="here")
    sales.table("sales.orders").set_properties({"owner": "ada"})
    with sales.table("sales.orders").evolve() as change:
        change.set_comment("item", "what")
    for text, columns, expected in (
        ("SHOW TABLES IN sales LIKE 'ORD*|x'", "namespace tableName isTemporary", [("sales", "orders", False)]),
        ("SHOW TABLES IN sales LIKE 'x%'", "namespace tableName isTemporary", []),
        ("SHOW VIEWS IN sales@dev", "namespace viewName isTemporary", [("sales", "counts", False)]),
        ("SHOW NAMESPACES", "namespace", [("sales",)]),
        ("SHOW SCHEMAS IN sales", "namespace", [("sales.eu",)]),
        ("SHOW CATALOGS", "catalog", [("default",)]),
        (
            "SELECT DISTINCT CAST(partition_values AS STRING) AS partition_values FROM sales.orders.files ORDER BY 1",
            "partition_values",
            [('{"day_day": "2026-11-01"}',), ('{"day_day": "2026-11-02"}',)],
        ),
        ("DESCRIBE sales.orders.files file_path", "info_name info_value", FILE_PATH),
        ("SHOW COLUMNS IN sales.orders", "col_name", [("id",), ("item",), ("price",), ("day",)]),
        ("SHOW TBLPROPERTIES sales.orders", "key value", [("comment", "all"), ("owner", "ada")]),
        ("SHOW TBLPROPERTIES sales.orders ('owner')", "key value", [("owner", "ada")]),
        (
            "DESCRIBE sales.orders item",
            "info_name info_value",
            [("col_name", "item"), ("data_type", "string"), ("comment", "what")],
        ),
        (
            "DESCRIBE NAMESPACE EXTENDED sales.eu",
            "info_name info_value",
            [
                ("Catalog Name", "default"),
                ("Namespace Name", "sales.eu"),
                ("Comment", "here"),
                ("Location", lake.catalog().namespace("sales.eu").location),
                ("Owner", "ada"),
                ("Properties", "((owner,ada))"),
            ],
        ),
        (
            "DESCRIBE sales.orders",
            "col_name data_type comment",
            [
                ("id", "bigint", None),
                ("item", "string", "what"),
                ("price", "decimal(10,2)", None),
                ("day", "date", None),
                ("", "", ""),
                ("# Partitioning", "", ""),
                ("Part 0", "day(day)", ""),
            ],
        ),
    ):
        answer: Any = lake.sql(spark, text)
        assert (answer.columns, rows(answer)) == (columns.split(), expected), text
    extended = {row[0]: row[1] for row in rows(lake.sql(spark, "DESCRIBE EXTENDED sales.orders"))}
    assert (extended["Name"], extended["Primary Key"], extended["Table Properties"]) == (
        "sales.orders",
        "id",
        "[owner=ada]",
    )
    history: Any = lake.sql(spark, "DESCRIBE HISTORY sales.orders")
    assert history.columns[:4] == ["version", "timestamp", "userName", "operation"]
    assert [row.operation for row in history.collect()] == ["retype column", "set properties", "insert", "create"]
    detail: Any = lake.sql(spark, "DESCRIBE DETAIL sales.orders").collect()[0]  # type: ignore[union-attr]
    assert (detail.name, detail.partitionColumns, detail.properties["owner"]) == ("sales.orders", ["day(day)"], "ada")
    with pytest.raises(NotFound, match="line 1, column 16: nope"):
        lake.sql(spark, "SHOW TABLES IN nope")


def test_sql_says_where_tables_go_and_who_owns_them(lake, spark):
    """LOCATION of a namespace was refused, and so was a change of a table's."""
    for text in (
        "CREATE NAMESPACE placed COMMENT 'here' LOCATION 'warehouse/placed'",
        "CREATE TABLE placed.t (id BIGINT)",
        "ALTER NAMESPACE placed SET LOCATION 'cold'",
        "ALTER NAMESPACE placed SET OWNER TO `grace hopper`",
        "ALTER TABLE placed.t SET LOCATION 'hot'",
        "ALTER TABLE placed.t OWNER TO 'grace'",
        "ALTER TABLE placed.t SET SERDE 'parquet.hive.serde.ParquetHiveSerDe' WITH SERDEPROPERTIES ('a' = '1')",
        "ALTER TABLE placed.t SET SERDEPROPERTIES ('b' = '2')",
    ):
        lake.sql(spark, text)
    placed, table = lake.catalog().namespace("placed"), lake.catalog().table("placed.t")
    assert (placed.location.endswith("/cold"), placed.owner) == (True, "grace hopper")
    storage = table.storage
    assert (storage.location.endswith(f"/hot/{table.id}"), storage.owner) == (True, "grace")
    assert (storage.serde, storage.properties) == ("parquet.hive.serde.ParquetHiveSerDe", {"a": "1", "b": "2"})
    details = dict(row[:2] for row in rows(lake.sql(spark, "DESCRIBE TABLE EXTENDED placed.t")))
    assert (details["Owner"], details["Storage Properties"]) == ("grace", "[a=1, b=2]")
    assert details["Serde Library"] == storage.serde
    with pytest.raises(Invalid, match="serde"):
        lake.sql(spark, "ALTER TABLE placed.t SET SERDE 'org.apache.hadoop.hive.ql.io.orc.OrcSerde'")
