"""TPC-H: all 22 queries have the same answers on the lake as on a copy in DuckDB, whatever was done to both."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from duckdb import DuckDBPyConnection
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from lakebed import Catalog, Lake, Table, lit, when_matched_update, when_not_matched_insert
from tests.support.scans import opened_files

SCALE = 0.01  # 60,175 lines: at less, half of the queries find nothing
MONTHS = 84  # in which lines were shipped

LAYOUTS: dict[str, dict[str, Any]] = {
    "region": {},
    "nation": {"primary_key": ["n_nationkey"]},
    "supplier": {"primary_key": ["s_suppkey"]},
    "part": {"sort_by": ["p_size desc", "p_partkey"]},
    "partsupp": {"partition_by": ["bucket(3, ps_partkey)"], "sort_by": ["ps_suppkey"]},
    "customer": {
        "partition_by": ["c_mktsegment"],
        "primary_key": ["c_mktsegment", "c_custkey"],
        "properties": {"write.row-changes": "copy-on-write"},
    },
    "orders": {"primary_key": ["o_orderkey"], "properties": {"write.bloom.columns": "o_orderkey"}},
    "lineitem": {"sort_by": ["l_orderkey", "l_linenumber"]},
}

ORDERS: dict[int, tuple[str, ...]] = {
    1: ("l_returnflag", "l_linestatus"),
    2: ("s_acctbal", "n_name", "s_name", "p_partkey"),
    3: ("revenue", "o_orderdate"),
    4: ("o_orderpriority",),
    5: ("revenue",),
    7: ("supp_nation", "cust_nation", "l_year"),
    8: ("o_year",),
    9: ("nation", "o_year"),
    10: ("revenue",),
    11: ("value",),
    12: ("l_shipmode",),
    13: ("custdist", "c_count"),
    15: ("s_suppkey",),
    16: ("supplier_cnt", "p_brand", "p_type", "p_size"),
    18: ("o_totalprice", "o_orderdate"),
    20: ("s_name",),
    21: ("numwait", "s_name"),
    22: ("cntrycode",),
}
"""What the queries order by: rows that are equal in it may come either way. The others have one row."""

FLOATS = 2e-6
"""Averages and quotients of decimals have six digits in Spark, and are floats in DuckDB. All else is equal exactly."""

Answer = list[dict[str, Any]]


def _queries() -> dict[int, str]:
    spec = spec_from_file_location("tpch_queries", Path(__file__).parents[2] / "tpch" / "queries.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[int, str] = module.QUERIES
    return found


QUERIES = _queries()


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The raw files, one for each table."""
    folder = tmp_path_factory.mktemp("tpch") / "raw"
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([generator, "parquet", "-s", str(SCALE), "-o", folder, "--quiet"], check=True)
    return folder


@dataclass(frozen=True, slots=True)
class Both:
    """The lake, and the copy in DuckDB to which the same is done by other means."""

    lake: Lake
    spark: SparkSession
    copy: DuckDBPyConnection
    raw: Path
    lines_by: str = "year(l_shipdate)"
    """How lines are partitioned: by year is quick, by month makes Spark write 84 files at a time."""

    @property
    def main(self) -> Catalog:
        return self.lake.catalog()

    def table(self, name: str) -> Table:
        return self.main.table(f"tpch.{name}")

    def sql(self, text: str) -> None:
        """A change of the lake and of the copy, in words that both know."""
        self.lake.sql(self.spark, text)
        self.copy.execute(text)

    def arrow(self, text: str) -> pyarrow.Table:
        """Rows that the copy makes up, for both."""
        return self.copy.sql(text).to_arrow_table()

    def frame(self, rows: pyarrow.Table) -> DataFrame:
        return self.spark.createDataFrame(rows)

    def replace(self, name: str, rows: pyarrow.Table, *key: str) -> None:
        """What an upsert does, in the copy."""
        self.copy.register("given", rows)
        self.copy.execute(f"delete from tpch.{name} where ({', '.join(key)}) in (select ({', '.join(key)}) from given)")
        self.insert(name, rows)

    def insert(self, name: str, rows: pyarrow.Table) -> None:
        """What an append does, in the copy."""
        self.copy.register("given", rows)
        self.copy.execute(f"insert into tpch.{name} by name from given")


@pytest.fixture
def both(lake: Lake, spark: SparkSession, raw: Path) -> Iterator[Both]:
    with duckdb.connect() as copy:
        copy.execute("create schema tpch")
        for name in LAYOUTS:
            copy.execute(f"create table tpch.{name} as from '{raw / name}.parquet'")
        yield Both(lake, spark, copy, raw)


def load(both: Both) -> None:
    """Raw files to tables: most by Spark, the two largest in halves by both engines, the smallest ones locally."""
    both.main.create_namespace("tpch")
    for name, layout in LAYOUTS.items():
        frame = both.spark.read.parquet(str(both.raw / f"{name}.parquet"))
        partitions = {"partition_by": [both.lines_by]} if name == "lineitem" else {}
        table = both.main.create_table(f"tpch.{name}", frame.schema, **layout, **partitions)
        if name in ("region", "nation", "supplier"):
            table.append(parquet.read_table(both.raw / f"{name}.parquet"))
        elif name == "orders":
            table.append(frame.where("o_orderkey % 2 = 0"))
            table.append(both.arrow("from tpch.orders where o_orderkey % 2 = 1"))
        elif name == "lineitem":
            table.append(frame.where("l_shipdate < date '1996-01-15'"))
            table.append(both.arrow("from tpch.lineitem where l_shipdate >= '1996-01-15'"))
        else:
            table.append(frame)


def delete(both: Both) -> None:
    """Some rows of every file by Spark, whole partitions and some rows locally, others by a statement."""
    for name, where, spark in (
        ("lineitem", "l_orderkey % 50 in (1, 7)", both.spark),
        ("orders", "o_orderkey % 50 = 7", both.spark),
        ("orders", "o_orderkey between 40000 and 41500", None),
        ("lineitem", "l_shipdate < date '1992-03-01' or l_shipmode = 'RAIL' and l_quantity > 48", None),
        ("customer", "c_custkey between 700 and 720", both.spark),
        ("partsupp", "ps_availqty < 200", None),
    ):
        both.table(name).delete(where, spark)
        both.copy.execute(f"delete from tpch.{name} where {where}")
    parts = "select p_partkey from tpch.part where p_brand = 'Brand#23' and p_size < 3"
    both.sql(f"delete from tpch.lineitem where l_partkey in ({parts})")


def merge(both: Both) -> None:
    """New and changed rows, as the benchmark's refreshes bring them: upserts, merges and updates of both engines."""
    _upsert_orders(both)
    _merge_lines(both)
    _merge_costs(both)
    _upsert_customers(both)
    both.sql("update tpch.supplier set s_acctbal = s_acctbal + 1.5, s_nationkey = 3 where s_suppkey % 9 = 0")
    both.table("part").update({"p_container": lit("MED BOX"), "p_size": "p_size + 1"}, "p_partkey between 300 and 350")
    both.copy.execute(
        "update tpch.part set p_container = 'MED BOX', p_size = p_size + 1 where p_partkey between 300 and 350"
    )


def _upsert_orders(both: Both) -> None:
    changed = "select * replace ('F' as o_orderstatus, '1-URGENT' as o_orderpriority) from tpch.orders"
    new = "select * replace (o_orderkey + 1000000 as o_orderkey, 17 as o_custkey) from tpch.orders"
    where = "where o_orderkey % 50 ="
    rows = both.arrow(f"({changed} {where} 3) union all ({new} {where} 4)")
    both.table("orders").upsert(both.frame(rows))
    both.replace("orders", rows, "o_orderkey")


def _merge_lines(both: Both) -> None:
    """By a statement; some lines get another date, and so another partition; the new ones are for query 17."""
    changed = "select * replace (l_shipdate + interval 40 day as l_shipdate, 1 as l_quantity) from tpch.lineitem"
    new = "select * replace (l_orderkey + 1000000 as l_orderkey, l_quantity / 10 as l_quantity) from tpch.lineitem"
    where = "where l_orderkey % 50 ="
    rows = both.arrow(f"({changed} {where} 3) union all ({new} {where} 4)").cast(_types(both, "lineitem"))
    both.frame(rows).createOrReplaceTempView("refresh")
    both.lake.sql(
        both.spark,
        """
        merge into tpch.lineitem t using refresh s on t.l_orderkey = s.l_orderkey and t.l_linenumber = s.l_linenumber
        when matched and s.l_linenumber = 5 then delete
        when matched then update set *
        when not matched and s.l_linenumber < 6 then insert *
        """,
    )
    both.spark.catalog.dropTempView("refresh")
    both.replace("lineitem", rows, "l_orderkey", "l_linenumber")
    both.copy.execute(
        """
        delete from tpch.lineitem where (l_orderkey, l_linenumber) in (select (l_orderkey, l_linenumber) from given)
        and (l_linenumber = 5 and l_orderkey < 1000000 or l_linenumber >= 6 and l_orderkey >= 1000000)
        """
    )


def _merge_costs(both: Both) -> None:
    """Locally, by two columns."""
    rows = both.arrow(
        "select * replace (ps_supplycost / 2 as ps_supplycost) from tpch.partsupp where ps_partkey % 7 = 0"
    )
    rows = rows.cast(_types(both, "partsupp"))
    clauses = when_matched_update({"ps_supplycost": "source.ps_supplycost"}), when_not_matched_insert()
    both.table("partsupp").merge(rows, ["ps_partkey", "ps_suppkey"], *clauses)
    both.replace("partsupp", rows, "ps_partkey", "ps_suppkey")


def _upsert_customers(both: Both) -> None:
    """Locally, into a table that is copied on write."""
    new = "select * replace (c_custkey + 1000000 as c_custkey, c_acctbal + 9000 as c_acctbal) from tpch.customer"
    rows = both.arrow(f"{new} where c_custkey % 30 = 0 union all from tpch.customer where c_custkey % 30 = 1")
    rows = rows.cast(_types(both, "customer"))
    both.table("customer").upsert(rows)
    both.replace("customer", rows, "c_mktsegment", "c_custkey")


def _types(both: Both, name: str) -> pyarrow.Schema:
    return both.arrow(f"from tpch.{name} limit 0").schema


def compact(both: Both) -> None:
    """All that lies badly, by both engines; no row is deleted in a file after it."""
    months = "l_shipdate between date '1995-01-01' and date '1995-05-31'"  # jobs of Spark for each take their time
    assert both.table("lineitem").compact(both.spark, where=months) is not None
    assert both.table("lineitem").compact() is not None
    assert both.table("orders").compact() is not None
    assert both.table("partsupp").compact(both.spark, strategy="sort", sort_by=["ps_supplycost desc"]) is not None
    assert both.table("customer").compact(both.spark) is not None
    assert both.table("supplier").compact() is not None
    assert both.table("lineitem").compact() is None
    assert len(opened_files(both.table("lineitem").scan())) <= MONTHS


def evolve(both: Both) -> None:
    """Columns come, go, widen and change their names, once and back again, with rows that are written meanwhile."""
    _change_lines(both)
    _rename_and_back(both)
    with both.table("orders").evolve() as change:
        change.widen_column("o_shippriority", "long")
        change.widen_column("o_totalprice", "decimal(20, 2)")
        change.move_column("o_comment", first=True)
    with both.table("part").evolve() as change:
        change.drop_column("p_comment")
        change.widen_column("p_size", "long")
    with both.table("partsupp").evolve() as change:
        change.drop_column("ps_comment")
    with both.table("partsupp").evolve() as change:
        change.add_column("ps_comment", "string")
        change.partition_by(["ps_suppkey"])
    for text in (
        "alter table tpch.orders alter o_shippriority type bigint",
        "alter table tpch.orders alter o_totalprice type decimal(20, 2)",
        "alter table tpch.part drop column p_comment",
        "alter table tpch.part alter p_size type bigint",
        "alter table tpch.partsupp drop column ps_comment",
        "alter table tpch.partsupp add column ps_comment varchar",
    ):
        both.copy.execute(text)
    both.sql("update tpch.partsupp set ps_comment = 'new', ps_availqty = ps_availqty + 1 where ps_partkey % 100 = 8")


def _change_lines(both: Both) -> None:
    lines = both.table("lineitem")
    with lines.evolve() as change:
        change.rename_column("l_comment", "l_note")
        change.add_column("l_comment", "int", default=7, after="l_tax")
        change.widen_column("l_extendedprice", "decimal(18, 2)")
        change.partition_by(["year(l_shipdate)", "l_returnflag"])
    for text in (
        "alter table tpch.lineitem rename l_comment to l_note",
        "alter table tpch.lineitem add column l_comment int default 7",
        "alter table tpch.lineitem alter l_extendedprice type decimal(18, 2)",
    ):
        both.copy.execute(text)
    new = "select * replace (l_orderkey + 2000000 as l_orderkey, 8 as l_comment) from tpch.lineitem"
    rows = both.arrow(f"{new} where l_orderkey % 99 = 5")
    lines.append(both.frame(rows))
    both.insert("lineitem", rows)
    both.sql("delete from tpch.lineitem where l_comment = 7 and l_orderkey % 60 = 2")


def _rename_and_back(both: Both) -> None:
    """Two columns swap their names; rows are deleted by them and changed; then they swap back."""
    _swap(both.table("lineitem"))
    both.table("lineitem").delete(
        "datediff(l_commitdate, date '1995-06-01') = 0 or l_commitdate = date '1995-06-02'", both.spark
    )
    both.table("lineitem").update({"l_commitdate": lit(date(1995, 7, 1))}, "l_commitdate = date '1995-07-02'")
    _swap(both.table("lineitem"))
    both.copy.execute("delete from tpch.lineitem where l_receiptdate in (date '1995-06-01', date '1995-06-02')")
    both.copy.execute("update tpch.lineitem set l_receiptdate = '1995-07-01' where l_receiptdate = date '1995-07-02'")


def _swap(table: Table) -> None:
    with table.evolve() as change:
        change.rename_column("l_commitdate", "l_other")
        change.rename_column("l_receiptdate", "l_commitdate")
        change.rename_column("l_other", "l_receiptdate")


def merge_branch(both: Both) -> None:
    """Rows, columns and a compaction of a branch come to the trunk, which went on meanwhile in other rows."""
    dev = both.main.create_branch("dev")
    both.lake.sql(both.spark, "delete from tpch.lineitem@dev where l_shipdate between '1995-02-01' and '1995-02-10'")
    dev.table("tpch.lineitem").compact(both.spark, where="l_shipdate < date '1993-01-01'")
    orders = both.arrow(
        "select * replace (o_totalprice * 2 as o_totalprice) from tpch.orders where o_orderkey % 80 = 5"
    )
    orders = orders.cast(_types(both, "orders"))
    dev.table("tpch.orders").upsert(orders)
    with dev.table("tpch.supplier").evolve() as change:
        change.rename_column("s_comment", "s_words")
        change.add_column("s_comment", "string", default="none")

    lines = both.arrow(
        "select * replace (l_orderkey + 9000000 as l_orderkey) from tpch.lineitem where l_orderkey % 90 = 6"
    )
    both.table("lineitem").append(both.frame(lines))
    both.insert("lineitem", lines)
    both.sql("update tpch.customer set c_acctbal = c_acctbal - 5 where c_nationkey = 7")
    check(both, (1, 16))  # the trunk has nothing of the branch's yet

    assert both.main.merge(dev).commit is not None
    gone = "l_shipdate between '1995-02-01' and '1995-02-10' and l_orderkey < 9000000"  # not what came meanwhile
    both.copy.execute(f"delete from tpch.lineitem where {gone}")
    both.replace("orders", orders, "o_orderkey")
    both.copy.execute("alter table tpch.supplier rename s_comment to s_words")
    both.copy.execute("alter table tpch.supplier add column s_comment varchar default 'none'")


Stage = Callable[[Both], None]

STAGES: list[tuple[Stage, tuple[int, ...]]] = [
    (load, (3, 13)),
    (delete, (21,)),
    (merge, (17, 22)),
    (compact, (9,)),
    (evolve, (7, 16)),
    (merge_branch, (1, 5)),
]
"""What is done, and the queries that `make test` asks then: some that read what was changed. The long run asks all."""


def check(both: Both, numbers: Iterable[int]) -> dict[int, Answer]:
    """The answers to some queries, which are those of the copy."""
    answers = {number: ask(both.main, both.spark, QUERIES[number]) for number in numbers}
    for number, answer in answers.items():
        compare(f"query {number}", answer, both.arrow(QUERIES[number]).to_pylist(), ORDERS.get(number, ()))
    return answers


def check_rows(both: Both, since: int) -> None:
    """Both engines show the rows that the copy has, in all tables that were changed after a version."""
    changed = [name for name in LAYOUTS if int(both.table(name).version or 0) > since]
    assert changed
    for name in changed:
        names = ", ".join(both.table(name).schema.names)
        expected = both.arrow(f"select {names} from tpch.{name}")
        for rows in (both.table(name).read(both.spark).toArrow(), both.table(name).scan().to_arrow()):
            assert rows.num_rows == expected.num_rows, name
            assert rows.schema.names == expected.schema.names, name
            both.copy.register("shown", rows)
            held = f"(select {names} from tpch.{name})"
            differing = f"(from shown except all {held}) union all ({held} except all from shown)"
            assert both.copy.sql(f"from ({differing}) limit 3").fetchall() == [], name
            both.copy.unregister("shown")


def ask(place: Catalog, spark: SparkSession, text: str) -> Answer:
    answer = place.sql(spark, text)
    assert isinstance(answer, DataFrame)
    rows: Answer = answer.toArrow().to_pylist()
    return rows


def compare(what: str, found: Answer, expected: Answer, order: tuple[str, ...]) -> None:
    assert len(found) == len(expected), what
    for name in order:
        assert [row[name] for row in found] == [row[name] for row in expected], f"{what}, order of {name}"
    for left, right in zip(_sorted(found), _sorted(expected), strict=True):
        assert left.keys() == right.keys(), what
        assert all(_equal(left[name], right[name]) for name in left), f"{what}: {left} is not {right}"


def _sorted(rows: Answer) -> Answer:
    """By what is compared exactly, which tells the rows of every query apart."""
    return sorted(rows, key=lambda row: [str(one) for one in row.values() if not isinstance(one, float | Decimal)])


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and found is not None:
        return abs(float(found) - expected) <= FLOATS
    return bool(found == expected)


@pytest.mark.long  # the demo asks some of these queries in `make test`
@pytest.mark.timeout(1800)  # some hundred jobs: minutes on a machine of its own, more where others work too
def test_queries_answer_alike_before_and_after_rows_change(both: Both) -> None:
    """The stages up to the compaction; the long test goes on."""
    then, first = ask_at_each_stage(both, dict(STAGES[:4]))[0]
    assert ask(then, both.spark, QUERIES[13]) == first[13]
    past = re.sub(r"(tpch\.\w+)", rf"\1 version as of {then.version}", QUERIES[3])
    assert ask(both.main, both.spark, past) == first[3]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_22_queries_answer_alike_after_each_kind_of_change_and_later_at_its_version(both: Both) -> None:
    both = replace(both, lines_by="month(l_shipdate)")
    for then, answers in ask_at_each_stage(both, dict.fromkeys(dict(STAGES), tuple(QUERIES))):
        assert {number: ask(then, both.spark, text) for number, text in QUERIES.items()} == answers


def ask_at_each_stage(both: Both, numbers: dict[Stage, tuple[int, ...]]) -> list[tuple[Catalog, dict[int, Answer]]]:
    """Go through all stages; after each its queries answer what the copy does. The answers, and where to ask again."""
    asked = []
    for stage in numbers:
        before = int(both.main.version)
        stage(both)
        asked.append((both.main.at(version=both.main.version), check(both, numbers[stage])))
        check_rows(both, before)
    return asked
