"""A project's `.sql` files: what each statement defines, and what is refused, where Spark's own parser refuses it."""

from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import Invalid
from lakebed.pipelines.declarative.definitions import Kind
from lakebed.pipelines.declarative.registry import Registry
from lakebed.pipelines.declarative.scope import scope_of
from lakebed.pipelines.declarative.sql_files import read_sql
from lakebed.pipelines.flows import Cdc
from lakebed.spark.sql.tokens import statements_of


def read(text: str) -> Registry:
    registry = Registry(scope_of(None, "default", "sales"), read_sql)
    registry.register_sql(text, Path("transformations/a.sql"))
    return registry


TABLES = """
-- comments; with semicolons
CREATE STREAMING TABLE IF NOT EXISTS orders (id INT NOT NULL, name STRING COMMENT 'a; b') USING delta
    PARTITIONED BY (id) COMMENT 'all; of them' TBLPROPERTIES ('a.b' = 'c', x.y = 3)
    AS SELECT * FROM STREAM raw.orders;
CREATE MATERIALIZED VIEW other.daily CLUSTER BY (a) AS WITH a AS (SELECT 1) SELECT * FROM a;
SET spark.sql.shuffle.partitions = 10; SET TIME ZONE 'UTC';
USE DATABASE marts;
CREATE MATERIALIZED VIEW weekly AS TABLE daily;
CREATE OR REPLACE TEMPORARY VIEW `dear ones` (a COMMENT 'x', b) COMMENT 'y' AS SELECT 1, 2;
CREATE VIEW shown TBLPROPERTIES ('p' = 'q') AS SELECT 1;
CREATE STREAMING TABLE spark_catalog.sales.late;
CREATE FLOW first COMMENT 'c' AS INSERT INTO sales.late BY NAME SELECT * FROM STREAM(a);
CREATE FLOW second AS INSERT INTO sales.late BY NAME SELECT * FROM STREAM b
"""


def test_statements_define_datasets_and_flows() -> None:
    found = read(TABLES)
    assert [(one.name, one.kind, one.place.line) for one in found.datasets.values()] == [
        ("sales.orders", Kind.STREAMING_TABLE, 3),
        ("other.daily", Kind.MATERIALIZED_VIEW, 6),
        ("marts.weekly", Kind.MATERIALIZED_VIEW, 9),
        ("dear ones", Kind.TEMPORARY_VIEW, 10),
        ("marts.shown", Kind.VIEW, 11),
        ("sales.late", Kind.STREAMING_TABLE, 12),
    ]
    orders = next(iter(found.datasets.values()))
    assert orders.schema == "id INT NOT NULL, name STRING COMMENT 'a; b'"
    assert (orders.partition_by, orders.cluster_by, orders.comment) == (("id",), (), "all; of them")
    assert found.datasets["other", "daily"].cluster_by == ("a",)
    assert (orders.properties, orders.format) == ({"a.b": "c", "x.y": "3"}, "delta")
    flows = found.flows_into()
    assert {target: [flow.name for flow in listed] for target, listed in flows.items()} == {
        ("sales", "orders"): ["orders"],
        ("other", "daily"): ["daily"],
        ("marts", "weekly"): ["weekly"],
        ("dear ones",): ["dear ones"],
        ("marts", "shown"): ["shown"],
        ("sales", "late"): ["first", "second"],
    }
    [weekly] = flows["marts", "weekly"]
    assert (weekly.query.code, weekly.scope.database) == ("TABLE daily", ("marts",))
    assert weekly.conf == {"spark.sql.shuffle.partitions": "10", "spark.sql.session.timeZone": "UTC"}
    assert flows["other", "daily"][0].conf == {}


def test_changes_are_applied_by_a_flow_or_by_a_table_of_its_own() -> None:
    found = read(
        """
        CREATE STREAMING TABLE t;
        CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (id, b) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY ts + 1
            COLUMNS * EXCEPT (op, ts) STORED AS SCD TYPE 1;
        CREATE STREAMING TABLE u COMMENT 'c' FLOW AUTO CDC FROM STREAM x.s KEYS (id) SEQUENCE BY struct(ts, id)
            COLUMNS (id, b) STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (b)
        """
    )
    first, second = found.flows
    assert (first.name, first.query.code, second.query.code) == ("f", "s", "x.s")
    assert first.cdc == Cdc(("id", "b"), "ts + 1", "op = 'd'", None, ("op", "ts"))
    assert second.cdc == Cdc(("id",), "struct(ts, id)", None, ("id", "b"), (), 2, None, ("b",))


REFUSED = [
    "SELECT 1",
    "INSERT INTO a SELECT 1",
    "CREATE TABLE a AS SELECT 1",
    "CREATE MATERIALIZED VIEW a SELECT 1",
    "CREATE MATERIALIZED VIEW a",
    "CREATE MATERIALIZED VIEW a OPTIONS (x 'y') AS SELECT 1",
    "CREATE STREAMING TABLE a LOCATION '/x' AS SELECT 1",
    "CREATE FLOW f AS SELECT 1",
    "CREATE FLOW a.f AS INSERT INTO t BY NAME SELECT 1",
    "CREATE FLOW f AS AUTO CDC INTO t FROM s KEYS (id) SEQUENCE BY ts",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY ts STORED AS SCD TYPE 3",
    "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s SEQUENCE BY ts",
    "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1",
    "CREATE TEMPORARY VIEW a.v AS SELECT 1",
    "CREATE MATERIALIZED VIEW other_catalog.a.b AS SELECT 1",
    "SET CATALOG other",
    "SET x",
    "RESET x",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_project_can_not_have_is_refused_with_its_file_and_place(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read("SET a = b;\n" + text)
    assert "a.sql" in caught.value.subject
    assert "line 2" in caught.value.subject or "a.sql:2" in caught.value.subject


def test_two_datasets_or_flows_of_one_name_are_refused_with_both_places() -> None:
    with pytest.raises(Invalid, match=r"a.sql:2: two datasets have one name .*materialized view in a.sql:1"):
        read("CREATE MATERIALIZED VIEW a AS SELECT 1;\nCREATE STREAMING TABLE A")
    with pytest.raises(Invalid, match="two flows into one dataset have one name"):
        flow = "CREATE FLOW f AS INSERT INTO t BY NAME SELECT 1;"
        read(f"CREATE STREAMING TABLE t; {flow} {flow}").flows_into()
    with pytest.raises(Invalid, match=r"nobody defines .*Did you mean sales.target\?"):
        read("CREATE STREAMING TABLE target; CREATE FLOW f AS INSERT INTO targets BY NAME SELECT 1").flows_into()


def test_spark_reads_the_same_statements(spark: Any) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    for words in statements_of(TABLES):
        assert parser.parsePlan(words.own_text) is not None
