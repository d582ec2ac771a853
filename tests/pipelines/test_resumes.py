"""A run that stopped goes on as it began: with its parameters, steps and windows, whatever the day is."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.pipelines.records import journal
from lakebed.pipelines.records.tables import opened
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]


def stopping(stops: list[int], **params: Any) -> lp.Pipeline:
    """A pipeline of two steps, of which the second fails while there is a reason."""
    shop = lp.Pipeline("shop", namespace="sales", params=params)

    @shop.table(version="1")
    def first(day: date, rows: Any = lp.read("raw.orders")) -> Any:
        return rows.selectExpr("id", f"DATE '{day}' day")

    @shop.table(version="1")
    def second(first: Any) -> Any:
        if stops and first.count():
            raise ValueError("stopped")
        return first

    @shop.table(version="1")
    def other(rows: Any = lp.read("raw.orders")) -> Any:
        return rows.select("id")

    return shop


def test_a_resumed_run_has_the_parameters_and_the_steps_that_it_began_with(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    """What it did: it took today's: steps that were done were made again with other parameters, and more of them."""
    stops = [1]
    shop = stopping(stops, day=date(2026, 11, 1))
    run = shop.run(lake, spark, params={"day": date(2026, 10, 5)}, select="+second")
    assert run.status == "step_failed"
    stops.clear()
    resumed = shop.run(lake, spark, resume=True).raise_for_status()
    assert [(step.name, step.reason) for step in resumed.steps] == [
        ("sales.first", "done before"),
        ("sales.second", "new"),
    ]
    assert {day for _, day in rows("sales.second")} == {date(2026, 10, 5)}


def test_what_a_resume_says_itself_counts(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    stops = [1]
    shop = stopping(stops, day=date(2026, 11, 1))
    shop.run(lake, spark, params={"day": date(2026, 10, 5)}, select="+second")
    stops.clear()
    shop.run(lake, spark, resume=True, params={"day": date(2026, 10, 6)}, select="first").raise_for_status()
    assert {day for _, day in rows("sales.first")} == {date(2026, 10, 6)}
    assert not main.table_exists("sales.second")


def windowed(stops: list[str], turns: list[str]) -> lp.Pipeline:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(window=lp.daily("at", since="2026-11-01", until="2026-11-05"), version="1")
    def daily(window: lp.Window, rows: Any = lp.read("raw.orders")) -> Any:
        if rows.sparkSession and rows.take(1):
            if window.label in stops:
                raise ValueError("stopped")
            turns.append(window.label)
        return rows.where(window.of("at")).select("id", "at", "price")

    return shop


def test_windows_that_were_asked_for_are_all_made_although_the_run_stopped_between_them(
    lake: Any, spark: Any, main: Any, raw: Any
) -> None:
    """What it did: those that had been made by an earlier run were taken for done, and the run was published."""
    stops: list[str] = []
    turns: list[str] = []
    shop = windowed(stops, turns)
    shop.run(lake, spark).raise_for_status()
    stops.append("2026-11-02")
    turns.clear()
    assert shop.run(lake, spark, from_="2026-11-01", to="2026-11-03").status == "step_failed"
    stops.clear()
    shop.run(lake, spark, resume=True).raise_for_status()
    assert turns == ["2026-11-01", "2026-11-02", "2026-11-03"]


def test_checks_of_a_resumed_run_see_the_windows_that_were_made_before_it_stopped(
    lake: Any, spark: Any, main: Any, raw: Any
) -> None:
    """What it did: they saw those that the resume made."""
    stops = ["2026-11-03"]
    shop = windowed(stops, [])
    shop.check(lp.accepted("sales.daily", "price", [3.0, 4.0]))  # of the first day it is 2.0
    assert shop.run(lake, spark).status == "step_failed"
    stops.clear()
    assert shop.run(lake, spark, resume=True).status == "check_failed"


def test_a_resume_makes_the_windows_of_the_day_on_which_the_run_began(
    lake: Any, spark: Any, main: Any, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, stops = lp.Pipeline("shop", namespace="sales"), [1]
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)

    @shop.table(window=lp.daily("at", since=today - timedelta(1)), version="1")
    def daily(window: lp.Window, rows: Any = lp.read("raw.orders")) -> Any:
        if stops and rows.take(1):
            raise ValueError("stopped")
        return rows.where(window.of("at")).select("id", "at")

    shop.run(lake, spark)
    stops.clear()
    own = journal.found(lake, 1)
    own.change(started=own.row["started"] - timedelta(1))  # as if it were tomorrow
    shop.run(lake, spark, resume=True).raise_for_status()
    made = [row["window"] for row in main.inspect("__windows").to_pylist()]
    assert made == [str((today - timedelta(1)).date())]


def test_a_step_that_ends_python_has_failed(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: `sys.exit(0)` in a step ended the run with the exit code of success."""
    shop = lp.Pipeline("shop")

    @shop.table("out", version="1")
    def out(rows: Any = lp.read("raw.orders")) -> Any:
        if rows.take(1):
            raise SystemExit(0)
        return rows

    run = shop.run(lake, spark)
    assert (run.status, "SystemExit" in str(run.error)) == ("step_failed", True)


def test_what_earlier_runs_left_is_tidied_by_the_next(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did: branches of runs stayed for ever, and runs whose process had died were listed as running."""
    shop.check(lp.row_count("sales.sums", min=10))
    assert [shop.run(lake, spark).status for _ in range(3)] == ["check_failed"] * 3
    kept, old, died = (journal.found(lake, number) for number in (1, 2, 3))
    old.change(ended=old.row["ended"] - timedelta(15))
    died.change(status="running", process=f"{died.row['process'].partition('/')[0]}/4194305")
    assert shop.run(lake, spark, no_checks=True).status == "published"
    assert [branch.ref for branch in main.branches()] == ["main", "run/1", "run/3"]
    status = {row["id"]: row["status"] for row in main.inspect("__runs").to_pylist()}
    assert status == {1: "check_failed", 2: "discarded", 3: "interrupted", 4: "published"}
    assert kept.row["branch"] == "run/1"


def test_a_lake_whose_runs_an_older_lakebed_noted_goes_on(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    shop.run(lake, spark).raise_for_status()
    runs = opened(lake)
    assert runs is not None
    with runs.table("runs").evolve() as change:
        for name in ("asked", "file", "revision", "process"):
            change.drop_column(name)
    assert main.inspect("__runs").to_pylist()[0]["file"] is None
    raw.append([order(4)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert [row["asked"] for row in main.inspect("__runs").to_pylist()] == [None, "{}"]


def test_the_commit_of_a_run_says_what_it_read_and_made(lake: Any, spark: Any, main: Any, raw: Any, shop: Any) -> None:
    """What it did: the versions of its inputs and the lineage of columns were in the catalog of runs alone."""
    import json

    shop.check(lp.unique("sales.orders", "id"))
    version = raw.version
    run = shop.run(lake, spark).raise_for_status()
    [facts] = [operation.summary for operation in run.published.operations if operation.summary]
    assert json.loads(facts["pipeline.inputs"])["raw.orders"] == str(version)
    assert json.loads(facts["pipeline.lineage"])["sales.sums"]["total"] == ["sales.orders.price"]
    assert json.loads(facts["pipeline.checks"]) == {"sales.orders: unique(id)": True}
    assert len(facts["pipeline.revision"].removesuffix("-dirty")) == 40  # these tests are in a repository


def test_a_lake_in_a_folder_with_odd_letters_is_locked(tmp_path: Path, spark: Any) -> None:
    """What it did: it looked for the folder under the name that the lake's URL has."""
    shop = lp.Pipeline("a shop/of things")

    @shop.table("out", version="1")
    def out(spark: Any) -> Any:
        return spark.range(2)

    with lakebed.connect(tmp_path / "a b%20c#d") as lake:
        shop.run(lake, spark).raise_for_status()


def test_a_run_that_an_older_lakebed_began_is_resumed(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: the columns of a newer Lakebed were added when a run began, and a resume could not write them."""
    shop = lp.Pipeline("shop", namespace="sales")
    shop.table("out", inputs={"rows": "raw.orders"})(lambda rows: rows.select("id"))
    run = shop.run(lake, spark, publish=False)
    with lake.catalog("_runs").table("runs").evolve() as change:
        change.drop_column("checked")
        change.drop_column("process")
    assert shop.run(lake, spark, resume=run.id).raise_for_status().status == "published"
