"""Statements that read the table which they change, while others change it."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed import Lake, Table
from lakebed.lake.sql.read import Reader

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
