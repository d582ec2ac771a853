"""Contracts: what a step has to make, how its table follows, and who reads what would go."""

from collections.abc import Callable
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.errors import CheckFailed, Forbidden, Invalid
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]


def single(step: Callable[..., Any], name: str = "shop", table: str = "sales.out", **options: Any) -> lp.Pipeline:
    shop = lp.Pipeline(name)
    shop.table(table, **options)(step)
    return shop


def taken(*columns: str) -> Callable[..., Any]:
    def step(rows: Any = lp.read("raw.orders")) -> Any:
        return rows.selectExpr(*columns)

    return step


@pytest.mark.parametrize("evolve", ["add", "replace"])
def test_a_column_gets_a_wider_type_with_all_its_values(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows, evolve: Any
) -> None:
    """What it did: with evolve=replace the column was dropped and made again: old rows had null in it."""
    main.create_table("raw.numbers", {"v": "int"}).append([{"v": 1}])
    shop = single(
        lambda new: new, inputs={"new": lp.appended("raw.numbers")}, write="append", evolve=evolve, version="1"
    )
    shop.run(lake, spark).raise_for_status()
    with main.table("raw.numbers").evolve() as change:
        change.widen_column("v", "long")
    main.table("raw.numbers").append([{"v": 5_000_000_000}])
    assert [str(change) for change in shop.plan(lake, spark).steps[0].columns] == ["~ v int -> long"]
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out") == [(1,), (5_000_000_000,)]


def test_rows_that_stay_never_lose_the_values_of_a_column(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    def step(kind: str) -> lp.Pipeline:
        taken = lp.Pipeline("shop", params={"kind": kind})

        @taken.table("sales.out", write="append", evolve="replace", version="1")
        def out(spark: Any, new: Any = lp.appended("raw.orders")) -> Any:
            return new.selectExpr(f"cast(id as {kind}) id")

        return taken

    step("long").run(lake, spark).raise_for_status()
    raw.append([order(4)], cast=True)
    run = step("string").run(lake, spark)
    assert run.status == "step_failed"
    with pytest.raises(Invalid, match="old rows would lose their values"):
        run.raise_for_status()
    step("string").run(lake, spark, full_refresh="out").raise_for_status()
    assert rows("sales.out") == [("1",), ("2",), ("3",), ("4",)]


def test_a_required_column_of_a_contract_is_never_null(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    """What it did: nothing, where the table was there before the contract."""
    single(taken("id", "item")).run(lake, spark).raise_for_status()
    exact = [lakebed.Field("id", "long", required=True), lakebed.Field("item", "string", required=True)]
    shop = single(taken("id", "item"), schema=exact)
    raw.append([order(4, None)], cast=True)
    run = shop.run(lake, spark)
    with pytest.raises(CheckFailed, match="item is required: 1 of 4 rows failed"):
        run.raise_for_status()
    assert run.failures[0].examples[0]["id"] == 4
    assert len(rows("sales.out")) == 3


def test_a_step_of_several_tables_has_a_contract_and_a_key_for_each(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.tables("teas", "sums", schema={"sums": {"item": "string", "n": "long"}}, primary_key={"teas": "id"})
    def split(new: Any = lp.read("raw.orders")) -> Any:
        return [lp.rows("sums", new.groupBy("item").count().withColumnRenamed("count", "n")), lp.rows("teas", new)]

    shop.run(lake, spark).raise_for_status()
    assert (main.table("sales.teas").primary_key, main.table("sales.sums").primary_key) == (("id",), ())
    assert rows("sales.sums") == [("jam", 1), ("tea", 2)]


@pytest.mark.parametrize("answer", [lambda new: new, lambda new: [lp.rows("sales.teas", new)], lambda new: []])
def test_a_step_that_makes_other_tables_than_it_says_is_refused_before_any_job(
    lake: Any, spark: Any, main: Any, raw: Any, answer: Any
) -> None:
    shop = lp.Pipeline("shop", namespace="sales")
    shop.tables("teas", "others", inputs={"new": "raw.orders"})(answer)
    with pytest.raises(Invalid, match=r"yields lp\.rows"):
        shop.run(lake, spark)
    assert main.inspect("__runs").num_rows == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"expect": [lp.expect("prce > 0")]}, "prce"),
        ({"partition_by": ["day(att)"]}, "att"),
        ({"sort_by": ["nothing"]}, "nothing"),
        ({"primary_key": ["key"]}, "key"),
        ({"write": lp.scd2("id", "since")}, "since"),
    ],
)
def test_what_a_step_names_and_does_not_make_is_refused_before_any_job(
    lake: Any, spark: Any, main: Any, raw: Any, options: Any, problem: str
) -> None:
    """What it did: it failed in the middle of the run."""
    with pytest.raises(Invalid, match=problem):
        single(taken("id", "at", "price"), **options).run(lake, spark)
    assert main.inspect("__runs").num_rows == 0


@pytest.mark.parametrize("write", ["replace", "append", "partitions"])
def test_deleted_rows_are_never_taken_for_rows(lake: Any, spark: Any, main: Any, raw: Any, write: Any) -> None:
    shop = single(lambda new: new, inputs={"new": lp.changes("raw.orders")}, write=write, partition_by=["item"])
    with pytest.raises(Invalid, match="say which rows were deleted"):
        shop.run(lake, spark)


def test_a_table_follows_how_its_step_lays_it_out(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: partitions, order and comment were those of the first run for ever."""

    def made(comment: str, **options: Any) -> lp.Pipeline:
        def step(rows: Any = lp.read("raw.orders")) -> Any:
            return rows

        step.__doc__ = comment
        return single(step, **options)

    made("One.", partition_by=["item"], sort_by=["id"]).run(lake, spark).raise_for_status()
    made("Two.", partition_by=["day(at)"], sort_by=["price desc"]).run(lake, spark, force=True).raise_for_status()
    table = main.table("sales.out")
    assert (list(table.spec), str(table.sort_order), table.comment) == (["day(at)"], "price desc nulls last", "Two.")


def test_columns_that_others_read_go_only_if_somebody_insists(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    """What it did: only views were asked, and by their text; other pipelines failed at their next run."""
    single(taken("id", "item", "price")).run(lake, spark).raise_for_status()
    reader = single(
        lambda out: out.where("item = 'tea'").select("id"), "reader", "marts.teas", inputs={"out": "sales.out"}
    )
    reader.run(lake, spark).raise_for_status()
    main.create_view("sales.items", {"spark": "SELECT item FROM sales.out"})
    main.create_view("sales.counted", {"spark": "SELECT count(*) n, max(id) last FROM sales.out"})
    main.create_share("partners", ["sales.out"])
    narrow = single(taken("id", "price"), evolve="replace")
    [planned] = narrow.plan(lake, spark).steps
    assert sorted(planned.readers) == ["marts.teas of pipeline reader", "share partners", "view sales.items"]
    with pytest.raises(Forbidden, match="columns that somebody reads"):
        narrow.run(lake, spark)
    assert "view sales.items" not in single(taken("id", "item"), evolve="replace").plan(lake, spark).steps[0].readers
    narrow.run(lake, spark, breaking=True).raise_for_status()
    assert main.table("sales.out").schema.names == ("id", "price")


def test_a_step_that_is_left_out_and_reads_a_column_that_goes_is_named(
    lake: Any, spark: Any, main: Any, raw: Any
) -> None:
    def shop(*columns: str) -> lp.Pipeline:
        made = single(taken(*columns), evolve="replace")
        made.sql("sales.items", "select item from {sales.out}")
        return made

    shop("id", "item").run(lake, spark).raise_for_status()
    [planned] = shop("id").plan(lake, spark, select="sales.out").steps
    assert planned.readers == ("step sales.items, which does not run",)
