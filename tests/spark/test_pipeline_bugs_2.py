"""What a review of the pipeline found: each test is called after what it did to whoever met it."""

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Lake, Table
from lakebed.files import LocalFiles
from lakebed.lake.sql.read import Reader
from lakebed.spark.compaction import set_last_updated_bounds
from lakebed.table.expression.conjuncts import qualified
from lakebed.table.manifest.manifest_pb2 import DataFileRef

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


def meanwhile(monkeypatch: pytest.MonkeyPatch, call: str, do: Callable[[], object]) -> None:
    """Let somebody else commit once, behind the first read of a statement's query and before its change."""
    real, left = getattr(Reader, call), [do]

    def read(self, *arguments):
        found = real(self, *arguments)
        while left:
            left.pop()()
        return found

    monkeypatch.setattr(Reader, call, read)


def test_rows_that_came_during_an_overwrite_of_a_table_by_its_own_rows_were_lost(lake, spark, monkeypatch):
    table = made(lake, "s.t", id=[1, 2, 3])
    meanwhile(monkeypatch, "frame", lambda: table.append(pa.table({"id": [9]})))
    commit = lake.sql(spark, "insert overwrite s.t select id from s.t@main where id <> 2", message="without 2")
    assert held(table) == [(1,), (3,), (9,)]
    assert commit.message == "without 2"


def test_rows_that_came_during_a_delete_by_a_query_were_deleted_though_it_had_not_seen_them(lake, spark, monkeypatch):
    table = made(lake, "s.t", id=[1, 1, 2], v=[1, 2, 3])
    meanwhile(monkeypatch, "source", lambda: table.append(pa.table({"id": [7], "v": [70]})))
    lake.sql(spark, "delete from s.t where v not in (select max(v) from s.t group by id)")
    assert held(table) == [(1, 2), (2, 3), (7, 70)]


def test_an_insert_of_what_is_not_there_yet_came_twice(lake, spark, monkeypatch):
    table, text = made(lake, "s.t", id=[1]), "insert into s.t select 2L where 2L not in (select id from s.t)"
    meanwhile(monkeypatch, "frame", lambda: table.append(pa.table({"id": [2]})))
    lake.sql(spark, text)
    assert held(table) == [(1,), (2,)]


def test_a_merge_of_a_table_with_itself_undid_an_update_that_came_meanwhile(lake, spark, monkeypatch):
    table = made(lake, "s.t", id=[1, 2], v=[10, 20])
    meanwhile(monkeypatch, "frame", lambda: table.update({"v": "v + 100"}, "id = 1"))
    text = "merge into s.t using (select id, v + 1 as v from s.t) n on n.id = t.id when matched then update set v = n.v"
    event = "6d3c9f0e-2f1f-4a65-9f0e-0a4a3a6f8a11"
    commit = lake.sql(spark, text, event_id=event)
    assert lake.sql(spark, text, event_id=event).version == commit.version
    assert held(table) == [(1, 111), (2, 21)]


def test_rows_that_came_during_a_replacement_of_a_table_by_its_own_rows_were_lost(lake, spark, monkeypatch):
    table, text = made(lake, "s.t", id=[1, 2]), "create or replace table s.t as select id from s.t"
    meanwhile(monkeypatch, "frame", lambda: table.append(pa.table({"id": [9]})))
    with pytest.raises(lakebed.errors.Conflict):
        lake.sql(spark, text)
    lake.sql(spark, text)
    assert held(lake.catalog().table("s.t")) == [(1,), (2,), (9,)]


def test_other_tables_that_a_statement_reads_may_change_meanwhile(lake, spark, monkeypatch):
    table, other = made(lake, "s.t", id=[1, 2]), made(lake, "s.gone", id=[1])
    before = lake.catalog().version
    meanwhile(monkeypatch, "source", lambda: other.append(pa.table({"id": [2]})))
    commit = lake.sql(spark, "delete from s.t where id in (select id from s.gone)")
    assert held(table) == [(2,)]
    assert commit.version > before


def test_a_query_in_a_clause_for_rows_without_a_match_compared_each_row_with_itself(lake, spark):
    table, _ = made(lake, "s.t", id=[1, 2, 3]), made(lake, "s.retired", id=[3])
    lake.sql(
        spark,
        "merge into s.t using (select 1L as id) u on t.id = u.id "
        "when not matched by source and id in (select id from s.retired) then delete",
    )
    assert held(table) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id in (select id from v) and id > 1", "target.id in (select id from v) and target.id > 1"),
        ("target.source = 1 or target = 2", "target.source = 1 or target.target = 2"),
        ("source.id is null", "source.id is null"),
    ],
)
def test_a_column_called_target_or_source_was_taken_for_a_table(text, expected):
    assert qualified(text, frozenset({"id", "target", "source"}), "target") == expected


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


def test_rows_that_were_new_were_told_to_be_as_old_as_the_others_of_their_file(tmp_path: Path):
    files = LocalFiles(tmp_path)
    pa.parquet.write_table(pa.table({"id": [1, 2], "changed": [5, None]}), tmp_path / "a.parquet")
    entry = DataFileRef(path="a.parquet", num_rows=2)
    set_last_updated_bounds(files, entry)
    assert not entry.statistics
