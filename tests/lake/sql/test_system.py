"""Queries on what a lake has besides its tables' columns: system tables, metadata columns, other catalogs, moments."""

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Lake
from lakebed.errors import Invalid, NotFound


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with lakebed.connect(tmp_path_factory.mktemp("system") / "lake") as lake:
        for catalog in (lake.catalog(), lake.create_catalog("other")):
            catalog.create_namespace("s")
            table = catalog.create_table("s.t", {"id": "long"}, properties={"write.inline-bytes": "0"})
            table.append(pyarrow.table({"id": [1, 2]}), message="two")
        table.append(pyarrow.table({"id": [3]}))
        lake.catalog().create_table("s.u", {"id": "long"})
        dev = lake.catalog().create_branch("dev")
        dev.table("s.t").append(pyarrow.table({"id": [9]}))
        yield lake


def rows(lake: Lake, spark: SparkSession, text: str, **options: Any) -> list[tuple[Any, ...]]:
    frame = lake.sql(spark, text, **options)
    assert isinstance(frame, DataFrame)
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_system_tables_are_read_by_name(lake: Lake, spark: SparkSession) -> None:
    for text, expected in (
        ("SELECT count(*), sum(record_count) FROM s.t.files", [(1, 2)]),
        ("SELECT sum(record_count) FROM s.t.files@dev f", [(3,)]),
        ("SELECT operation FROM s.t.snapshots", [("APPEND",), ("CREATE",)]),
        ("SELECT message FROM s.t.history WHERE message IS NOT NULL", [("two",)]),
        ("SELECT table_name FROM __tables WHERE namespace = 's'", [("s.t",), ("s.u",)]),
        ("SELECT name FROM __branches", [("dev",), ("main",)]),
        ("SELECT t.table_name FROM __tables t JOIN s.t.files f USING (table_uuid)", [("s.t",)]),
        ("WITH __tables AS (SELECT 1 AS n) SELECT n FROM __tables", [(1,)]),
    ):
        assert rows(lake, spark, text) == expected, text
    with pytest.raises(NotFound, match=r"s\.nope\.files"):
        lake.sql(spark, "SELECT * FROM s.nope.files")


def test_metadata_columns_are_there_if_they_are_named(lake: Lake, spark: SparkSession) -> None:
    found = rows(lake, spark, "SELECT _row_id, id, _file LIKE '%parquet' FROM s.t WHERE _row_id >= 0")
    assert [(id, is_file) for _, id, is_file in found] == [(1, True), (2, True)]
    assert len({row_id for row_id, _, _ in found}) == 2
    frame = lake.sql(spark, "SELECT * FROM s.t")
    assert isinstance(frame, DataFrame) and frame.columns == ["id"]


def test_a_star_does_not_show_metadata_columns_that_the_query_names(lake: Lake, spark: SparkSession) -> None:
    for text, columns in (
        ("SELECT * FROM s.t WHERE _row_id >= 0 AND _pos >= 0", ["id"]),
        ("SELECT *, _row_id FROM s.t", ["id", "_row_id"]),
        ("SELECT s.t.*, t._row_id FROM s.t ORDER BY _row_id", ["id", "_row_id"]),
        ("SELECT * FROM s.t a JOIN s.t b ON a._row_id = b._row_id", ["id", "id"]),
        ("SELECT b.*, a._row_id r FROM s.t a JOIN s.t b ON a._row_id = b._row_id", ["id", "r"]),
        ("SELECT count(*) n, struct(*) FROM s.t WHERE _row_id >= 0 GROUP BY ALL", ["n", "struct(id)"]),
        ("SELECT * EXCEPT (id), _file, 2 * _pos x FROM s.t", ["_file", "x"]),
        ("SELECT * FROM (SELECT *, _row_id FROM s.t) q, (SELECT * FROM s.t WHERE _pos >= 0)", ["id", "_row_id", "id"]),
        ("WITH t AS (SELECT *, _row_id AS own FROM s.t) SELECT * FROM t UNION SELECT *, _pos FROM s.t", ["id", "own"]),
    ):
        frame = lake.sql(spark, text)
        assert isinstance(frame, DataFrame) and frame.columns == columns, text
    assert rows(lake, spark, "EXPLAIN SELECT * FROM s.t WHERE _row_id >= 0")
    with pytest.raises(Invalid, match=r"column 22: NATURAL JOIN would compare the metadata columns too.*USING"):
        lake.sql(spark, "SELECT id FROM s.t a NATURAL JOIN s.t b WHERE a._row_id > 0")


def test_a_name_may_begin_with_a_catalog(lake: Lake, spark: SparkSession) -> None:
    assert rows(lake, spark, "SELECT max(o.id), max(t.id) FROM other.s.t o, default.s.t t") == [(3, 2)]
    assert rows(lake, spark, "SELECT max(id) FROM default.s.t", ref="dev") == [(9,)]
    assert rows(lake, spark, "SELECT max(id) FROM default.s.t@main", ref="dev") == [(2,)]
    lake.sql(spark, "INSERT INTO other.s.t VALUES (4); DELETE FROM other.s.t WHERE t.id = 1")
    assert rows(lake, spark, "SELECT id FROM Other.s.t") == [(2,), (3,), (4,)]
    lake.catalog().create_namespace("other")
    try:
        with pytest.raises(NotFound):
            lake.sql(spark, "SELECT * FROM other.s.t")
    finally:
        lake.catalog().drop_namespace("other")


def test_a_version_may_be_a_branch(lake: Lake, spark: SparkSession) -> None:
    lake.catalog().create_tag("q4")
    text = "SELECT (SELECT max(id) FROM s.t VERSION AS OF 'dev'), (SELECT max(id) FROM s.t FOR VERSION AS OF 'q4')"
    assert rows(lake, spark, text) == [(9, 2)]
    with pytest.raises(NotFound, match="nope"):
        lake.sql(spark, "SELECT * FROM s.t VERSION AS OF 'nope'")


def test_a_misspelt_name_is_followed_by_the_nearest(lake: Lake, spark: SparkSession) -> None:
    lake.catalog().create_namespace("shop")
    lake.catalog().create_table("shop.orders", {"id": "long"})
    for text, advice in (
        ("SELECT * FROM shop.order", "Is shop.orders meant?"),
        ("SELECT * FROM shopp.orders", "Is shop.orders meant?"),
        ("DELETE FROM shop.ordrs WHERE id = 1", "Is shop.orders meant?"),
        ("SELECT * FROM elsewhere.nothing", "make a temporary view"),
    ):
        with pytest.raises(NotFound) as missing:
            lake.sql(spark, text)
        assert advice in missing.value.advice, text


def test_a_view_that_is_taken_for_a_table_is_not_said_to_be_meant(lake: Lake, spark: SparkSession) -> None:
    lake.catalog().create_view("s.seen", "SELECT 1 AS x")
    for text in ("DROP TABLE s.seen", "DELETE FROM s.seen WHERE x = 1", "INSERT INTO s.seen VALUES (1)"):
        with pytest.raises(NotFound, match="found a view") as missing:
            lake.sql(spark, text)
        assert "meant" not in missing.value.advice, text


def test_a_table_that_was_not_there_yet_is_not_taken_for_one_of_the_session(lake: Lake, spark: SparkSession) -> None:
    before = lake.catalog().version
    lake.catalog().create_table("s.later", {"id": "long"})
    with pytest.raises(NotFound, match="had no such table or view at that moment") as missing:
        lake.sql(spark, f"SELECT * FROM s.later VERSION AS OF {before}")
    assert "DESCRIBE HISTORY" in missing.value.advice and "line 1, column 15" in missing.value.subject


def test_a_change_on_a_ref_that_is_not_there_is_pointed_at(lake: Lake, spark: SparkSession) -> None:
    for text in (
        "INSERT INTO s.t@nope VALUES (1)",
        "DROP TABLE s.t@nope",
        "CREATE TABLE s.u@nope (id INT)",
        "CREATE VIEW s.v@nope AS SELECT 1 AS x",
    ):
        with pytest.raises(NotFound) as missing:
            lake.sql(spark, text)
        assert missing.value.subject == f"line 1, column {text.index('s.') + 1}: nope", text


def test_a_misspelt_clause_is_pointed_at(lake: Lake, spark: SparkSession) -> None:
    for text, problem in (
        ("UPDATE s.t SET id = 1\nWERE id = 1", "line 2, column 1: Spark can't read this statement from here on"),
        ("DELETE FROM s.t WHERE id = 1 AN id = 2", "Spark can't read this statement from here on"),
        ("UPDATE s.t SET id = = 1", "line 1, column 21"),
    ):
        with pytest.raises(Invalid) as refused:
            lake.sql(spark, text)
        assert problem in str(refused.value), text
