"""Conditions of statements: what Spark makes of them is what files are pruned by."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import pyarrow
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import Invalid
from tests.support.sql_rows import filled, ids, rows


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def main(lake: Lake) -> Catalog:
    main = lake.catalog()
    main.create_namespace("a")
    main.create_namespace("b")
    return main


Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


def test_a_pivot_behind_a_join_was_pruned_by_the_values_before_it(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    filled(main, "a.t", id=[1], v=[5], w=[2])
    main.table("a.t").append(pyarrow.table({"id": [5], "v": [1], "w": [5]}))
    filled(main, "a.n", id=[1, 5])
    text = "select id, n, v from a.t join a.n using (id) unpivot (v for n in (v, w)) where v = 5"
    assert rows(lake, spark, text) == [(1, "v", 5), (5, "w", 5)]


def test_a_text_that_looks_like_a_variable_of_the_session_is_a_text(
    lake: Lake, main: Catalog, spark: SparkSession, setting: Setting
) -> None:
    filled(main, "a.t", id=[1, 2, 3], item=["tea", "jam", "${our_item}"])
    with setting({"our_item": "tea"}):
        assert ids(lake, spark, "select id from a.t where item = '${our_item}'") == [3]
        lake.sql(spark, "delete from a.t where item = '${our_item}'")
    assert ids(lake, spark, "select id from a.t") == [1, 2]


def test_a_column_that_using_shares_was_compared_as_each_side_has_it(
    lake: Lake, main: Catalog, spark: SparkSession
) -> None:
    filled(main, "a.t", id=pyarrow.array([5], "int32"))
    filled(main, "a.u", id=["5"], z=[1])
    main.table("a.u").append(pyarrow.table({"id": ["05"], "z": [2]}))
    for join in ("join a.u using (id)", "natural join a.u"):
        assert rows(lake, spark, f"select id, z from a.t {join} where id = '5'") == [(5, 1), (5, 2)]


def test_times_were_compared_with_texts_as_times_in_a_session_that_does_not(
    lake: Lake, main: Catalog, spark: SparkSession, setting: Setting
) -> None:
    filled(main, "a.t", id=[1], at=pyarrow.array([datetime(2026, 1, 1)], pyarrow.timestamp("us")))
    text = "select id from a.t where at not in ('2026-01-01')"
    assert ids(lake, spark, text) == []
    main.table("a.t").read(spark).createOrReplaceTempView("plain_times")
    with setting({"spark.sql.ansi.enabled": "false"}):
        assert ids(lake, spark, text) == [one.id for one in spark.sql(text.replace("a.t", "plain_times")).collect()]
    spark.catalog.dropTempView("plain_times")


def test_a_comment_that_spark_reads_on_hid_a_condition(lake: Lake, main: Catalog, spark: SparkSession) -> None:
    filled(main, "a.t", id=[1, 2])
    for text in ("select id from a.t -- c:\\\nwhere id = 1", "delete from a.t -- \\\r\nwhere id = 1"):
        with pytest.raises(Invalid, match=r"line 1, column .*: a comment ends with a backslash"):
            lake.sql(spark, text)
    assert ids(lake, spark, "select id from a.t -- c:\\ \nwhere id = 1") == [1]
    assert ids(lake, spark, "select id /* -- \\\n*/ from a.t where id = 1 and '--\\\\\n' <> ''") == [1]


def test_is_distinct_from_was_cut_at_its_from(lake: Lake, main: Catalog, spark: SparkSession) -> None:
    filled(main, "a.t", id=[1, 2], other=[1, 3], differs=pyarrow.array([None, None], pyarrow.bool_()))
    lake.sql(spark, "update a.t set differs = id is distinct from other where id > 0")
    assert rows(lake, spark, "select id, differs from a.t") == [(1, False), (2, True)]
    lake.sql(spark, "insert into a.t replace where id is distinct from 1 select 9L, 9L, false")
    assert ids(lake, spark, "select id from a.t") == [1, 9]


def test_a_merge_on_false_was_looked_for_as_a_column(lake: Lake, main: Catalog, spark: SparkSession) -> None:
    filled(main, "a.t", id=[1])
    lake.sql(spark, "merge into a.t using (select 1L id) s on false when not matched then insert *")
    assert ids(lake, spark, "select id from a.t") == [1, 1]
