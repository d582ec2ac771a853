"""Statements as they are executed: their clauses, and the session that they are for."""

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Lake, Table

FILES = {"write.inline-bytes": "0"}


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_namespace("s")
        yield lake


def made(lake: Lake, name: str, **columns: list[int]) -> Table:
    table = lake.catalog().create_table(name, dict.fromkeys(columns, "long"), properties=FILES)
    table.append(pa.table(columns))
    return table


def held(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def test_a_query_in_a_clause_for_rows_without_a_match_compared_each_row_with_itself(lake, spark):
    table, _ = made(lake, "s.t", id=[1, 2, 3]), made(lake, "s.retired", id=[3])
    lake.sql(
        spark,
        "merge into s.t using (select 1L as id) u on t.id = u.id "
        "when not matched by source and id in (select id from s.retired) then delete",
    )
    assert held(table) == [(1,), (2,)]


def test_a_delete_took_other_rows_than_a_select_had_shown_in_a_session_with_a_zone(
    lake, spark: SparkSession, setting: Callable[[dict[str, str]], AbstractContextManager[None]]
):
    zone = datetime.UTC
    table = lake.catalog().create_table("s.t", {"id": "long", "at": "timestamptz"}, properties=FILES)
    times = [datetime.datetime(2024, 1, 1, hour, tzinfo=zone) for hour in (2, 9)]
    table.append(pa.table({"id": [1, 2], "at": pa.array(times, pa.timestamp("us", "UTC"))}))
    where = "at < '2024-01-01 00:00:00' and id < 5"
    with setting({"spark.sql.session.timeZone": "America/New_York"}):
        assert [row.id for row in lake.sql(spark, f"select id from s.t where {where}").collect()] == [1]
        lake.sql(spark, f"update s.t set id = 4 where {where}")
        lake.sql(spark, f"insert into s.t replace where {where} select 3L, timestamp '2024-01-02 00:00:00'")
        lake.sql(spark, "delete from s.t where at > timestamp '2024-01-01 04:00:00'")
    assert table.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 2}]
