"""Spark's CHANGES clause, and `spark.read.changes` of an attached session, with Spark's defaults."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Commit, Invalid, Lake, NotFound


@pytest.fixture(scope="module")
def commits() -> list[Commit]:
    return []


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, commits: list[Commit]) -> Iterator[Lake]:
    """A table with two rows, of which one is updated and then one is deleted."""
    with lakebed.connect(tmp_path_factory.mktemp("feeds") / "lake") as lake:
        main = lake.catalog()
        main.create_namespace("s")
        table = main.create_table("s.t", {"id": "long", "v": "string"})
        commits.append(table.append([{"id": 1, "v": "a"}, {"id": 2, "v": "a"}]))
        commits.append(table.update({"v": "'b'"}, "id = 2"))
        main.create_tag("updated")
        commits.append(table.delete("id = 1"))
        main.create_view("s.v", "select * from s.t")
        yield lake


def rows(lake: Lake, spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.sql(spark, text).collect()))  # type: ignore[union-attr]


UPDATED, DELETED = [(2, "a", "delete"), (2, "b", "insert")], [(1, "a", "delete")]
IMAGES = [(2, "a", "update_preimage"), (2, "b", "update_postimage")]


def test_the_clause_means_what_it_means_in_spark(lake: Lake, spark: SparkSession, commits: list[Commit]) -> None:
    _, update, delete = commits
    first, last = update.version, delete.version
    at, later = update.time.isoformat(), delete.time.isoformat()
    for clause, expected in (
        (f"FROM VERSION {first}", [*DELETED, *UPDATED]),
        (f"from version '{first}' exclusive", DELETED),
        (f"FROM VERSION {first} INCLUSIVE TO VERSION {last} EXCLUSIVE", UPDATED),
        (f"FROM VERSION {first} TO VERSION {first}", UPDATED),
        ("FROM VERSION 'updated' EXCLUSIVE", DELETED),
        (f"FROM VERSION {first} TO VERSION {first} WITH (computeUpdates = true)", IMAGES),
        (f"FROM VERSION {first} WITH (deduplicationMode = 'netChanges', computeUpdates = 'true')", [*DELETED, *IMAGES]),
        (f"FROM TIMESTAMP '{at}'", [*DELETED, *UPDATED]),
        (f"FROM TIMESTAMP '{at}' EXCLUSIVE TO TIMESTAMP '{later}'", DELETED),
        (f"FROM TIMESTAMP '{at}' TO TIMESTAMP '{later}' EXCLUSIVE", UPDATED),
        ("FROM TIMESTAMP '2001-01-01' TO TIMESTAMP (current_timestamp())", [*DELETED, (1, "a", "insert"), *UPDATED]),
    ):
        found = rows(lake, spark, f"SELECT c.id, c.v, c._change_type FROM s.t CHANGES {clause} AS c WHERE true")
        extra = [(2, "a", "insert")] if "2001" in clause else []
        assert found == sorted([*expected, *extra]), clause
    star = lake.sql(spark, f"SELECT * FROM s.t CHANGES FROM VERSION {first} WHERE _row_id = 2")
    assert star.columns == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp", "_row_id"]  # type: ignore[union-attr]
    assert rows(lake, spark, "SELECT a changes FROM (SELECT 1 a)") == [(1,)]
    assert rows(lake, spark, f"SELECT count(*) FROM s.t CHANGES FROM VERSION {first} JOIN s.t now USING (id)") == [(2,)]


def test_a_clause_that_can_not_be_meant_is_pointed_at(lake: Lake, spark: SparkSession, commits: list[Commit]) -> None:
    first = commits[0].version
    for text, problem in (
        (f"s.t CHANGES FROM VERSION {first} TO TIMESTAMP '2026-01-01'", "both ends of changes are versions"),
        (f"s.t CHANGES FROM VERSION {first} WITH (net = true)", "changes have no such option"),
        (f"s.t CHANGES FROM VERSION {first} WITH (deduplicationMode = 'none')", "only copied are not changes"),
        (f"s.t CHANGES FROM VERSION {first} WITH (deduplicationMode = 'x')", "there is no such mode"),
        (f"s.t CHANGES FROM VERSION {first} WITH (computeUpdates = 1)", "an option is true or false"),
        (f"s.v CHANGES FROM VERSION {first}", "only tables have changes"),
        (f"s.t CHANGES FROM VERSION {commits[2].version} TO VERSION {first}", "a feed begins before it ends"),
    ):
        with pytest.raises(Invalid, match=problem) as refused:
            lake.sql(spark, f"SELECT * FROM {text}")
        assert "line 1, column" in str(refused.value)
    with pytest.raises(NotFound):
        lake.sql(spark, f"SELECT * FROM s.nothing CHANGES FROM VERSION {first}")
    with pytest.raises(Invalid, match="a query without Spark has no CHANGES clause"):
        lake.query(f"SELECT * FROM s.t CHANGES FROM VERSION {first}")


@pytest.mark.skipif("not hasattr(__import__('pyspark').sql.DataFrameReader, 'changes')", reason="since Spark 4.2")
def test_a_reader_of_an_attached_session_has_changes(lake: Lake, spark: SparkSession, commits: list[Commit]) -> None:
    _, update, delete = commits
    lakebed.spark.attach(spark, lake)
    try:
        read: Callable[[], Any] = lambda: spark.read.option("startingVersion", str(update.version))  # noqa: E731
        found = read().option("computeUpdates", True).changes("s.t")
        assert sorted((row.id, row.v, row._change_type) for row in found.collect()) == [*DELETED, *IMAGES]
        one = (
            read().option("startingBoundInclusive", "false").option("endingVersion", int(delete.version)).changes("s.t")
        )
        assert [(row.id, row._change_type) for row in one.collect()] == [(1, "delete")]
        timed = spark.read.option("startingTimestamp", delete.time.isoformat()).changes("s.t")
        assert timed.count() == 1
        assert spark.sql(f"SELECT * FROM s.t CHANGES FROM VERSION {delete.version}").count() == 1
        for options in ({}, {"endingVersion": 3}, {"startingVersion": 1, "endingTimestamp": "2026-01-01"}):
            with pytest.raises(Invalid, match="changes begin with a version or with a time"):
                spark.read.options(**options).changes("s.t")
    finally:
        lakebed.spark.detach(spark)
