"""Checks see whole tables before they are published; one that can't run is a failure, one of nothing is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.errors import Invalid, Unavailable
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]


def one_step() -> lp.Pipeline:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table
    def out(rows: Any = lp.read("raw.orders")) -> Any:
        return rows.select("id", "item", "at")

    return shop


def test_a_check_of_a_table_that_nobody_has_is_refused(lake: Any, raw: Any) -> None:
    """What it did: a check whose table was spelled wrong never ran, and nobody heard of it."""
    shop = one_step()
    shop.check(lp.unique("sales.oout", "id"))
    with pytest.raises(Invalid, match=r"Did you mean sales\.out"):
        shop.plan(lake)


@pytest.mark.parametrize(
    ("check", "found"),
    [
        (lp.unique("sales.out", "idd"), "idd"),
        (lp.accepted("sales.out", "itm", ["tea"]), "itm"),
        (lp.references("sales.out", "key", "raw.orders", "id"), "key"),
    ],
)
def test_a_check_of_a_column_that_is_missing_is_refused_before_any_job(
    lake: Any, spark: Any, main: Any, raw: Any, check: Any, found: str
) -> None:
    shop = one_step()
    shop.check(check)
    with pytest.raises(Invalid, match=f"found {found}"):
        shop.run(lake, spark)
    assert main.inspect("__runs").num_rows == 0


def test_a_parameter_of_a_check_or_a_hook_that_nobody_fills_is_refused_with_the_nearest_name(
    lake: Any, raw: Any
) -> None:
    """What it did: the run failed when all its steps had ended; of a hook it was only noted."""
    checked, hooked = one_step(), one_step()

    @checked.check(on="out")
    def wrong(outt: Any) -> bool:
        return True

    @hooked.after_publish
    def tell(rnu: Any) -> None: ...

    with pytest.raises(Invalid, match="Did you mean out"):
        checked.plan(lake)
    with pytest.raises(Invalid, match="nothing is called 'rnu'"):
        hooked.plan(lake)


def test_a_check_that_raises_has_failed(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: its error came through to the caller, and the run was listed as running for ever."""
    shop = one_step()

    @shop.check(on="out")
    def broken(out: Any) -> bool:
        raise ValueError("no such luck")

    @shop.check(on="out", severity="warn")
    def odd(out: Any) -> Any:
        return "yes"

    run = shop.run(lake, spark)
    assert run.status == "check_failed"
    assert [(check.name, check.passed, check.message[:24]) for check in run.checks] == [
        ("broken", False, "ValueError: no such luck"),
        ("odd", False, "Invalid: check odd: a ch"),
    ]
    assert not main.table_exists("sales.out")
    assert main.inspect("__runs").to_pylist()[0]["status"] == "check_failed"


def test_a_check_that_can_not_reach_the_lake_says_nothing_about_its_table(lake: Any, spark: Any, raw: Any) -> None:
    shop = one_step()

    @shop.check(on="out", severity="warn")
    def far(out: Any) -> bool:
        raise Unavailable("the store does not answer")

    run = shop.run(lake, spark)
    assert (run.status, str(run.error)) == ("step_failed", "the store does not answer")


def test_checks_read_views_of_the_pipeline_and_bad_rows_are_kept(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    shop = one_step()

    @shop.view
    def teas(out: Any) -> Any:
        return out.where("item = 'tea'")

    @shop.check(on="out", severity="warn")
    def no_tea(teas: Any, rows: Any) -> Any:
        assert rows.count() == 3
        return teas.select("id")

    run = shop.run(lake, spark).raise_for_status()
    assert [(check.failed, sorted(row["id"] for row in check.examples)) for check in run.checks] == [(2, [1, 3])]


def test_what_is_old_is_found_although_no_row_has_changed(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: where nothing came any more no step ran, so that nobody looked whether something had come."""
    shop = one_step()
    shop.check(lp.fresh("sales.out", "at", "20000 days"), lp.unique("raw.orders", "id"), lp.unique("sales.out", "id"))
    shop.run(lake, spark).raise_for_status()
    again = shop.run(lake, spark).raise_for_status()
    assert (again.status, [check.table for check in again.checks]) == ("unchanged", ["sales.out", "raw.orders"])
    later = one_step()
    later.check(lp.fresh("sales.out", "at", "1 minute"))
    assert later.run(lake, spark).status == "check_failed"


def test_own_checks_see_the_windows_that_the_run_made(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: only built-in checks did; one of your own failed for rows of last year."""
    shop, seen = lp.Pipeline("shop", namespace="sales"), dict[str, list[int]]()
    days = lp.daily("at", since="2026-11-01", until="2026-11-04", batch=3)

    @shop.table(window=days, version="1")
    def out(window: lp.Window, rows: Any = lp.read("raw.orders")) -> Any:
        return rows.where(window.of("at")).select("id", "at")

    @shop.check(on="out")
    def part(out: Any, before: Any = lp.read("sales.out", at="published")) -> bool:
        seen["part"] = sorted(row.id for row in out.collect())
        seen["before"] = sorted(row.id for row in before.collect())
        return True

    @shop.check(on="out", whole=True)
    def every(out: Any) -> bool:
        seen["every"] = sorted(row.id for row in out.collect())
        return True

    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, day=2)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert seen == {"part": [2, 4], "before": [1, 2, 3], "every": [1, 2, 3, 4]}


def test_two_checks_alike_are_both_noted(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: the second took the place of the first in the run's record, with what it found."""
    shop = one_step()
    shop.check(
        lp.accepted("sales.out", "item", ["tea"], severity="warn"), lp.accepted("sales.out", "item", ["tea", "jam"])
    )
    shop.run(lake, spark).raise_for_status()
    found = {row["check"]: row["passed"] for row in main.inspect("__checks").to_pylist()}
    assert found == {"sales.out: accepted(item)": False, "sales.out: accepted(item) #2": True}


def test_two_expectations_of_one_name_are_refused() -> None:
    """What it did: both had the count of the second."""
    rules = [lp.expect("id > 0", name="good"), lp.expect("item <> ''", name="good")]
    with pytest.raises(Invalid, match="two expectations have one name"):
        lp.Pipeline("shop").table("t", expect=rules)(lambda rows: rows)


def test_a_check_of_a_view_runs_and_keeps_the_run_from_being_published(
    lake: Any, spark: Any, main: Any, raw: Any
) -> None:
    """What it did: checks of views, of the pipeline and of the lake, never ran, and the run was published."""
    main.create_view("raw.dear", "SELECT * FROM raw.orders WHERE price > 2")
    shop = one_step()

    @shop.view
    def teas(out: Any) -> Any:
        return out.where("item = 'tea'")

    @shop.check(on="teas")
    def own(teas: Any) -> bool:
        return bool(teas.count() == 2)

    shop.check(lp.row_count("teas", min=3), lp.row_count("raw.dear", min=3), lp.row_count("teas", change=0.1))
    run = shop.run(lake, spark)
    assert run.status == "check_failed"
    found = [(check.table, check.name, check.passed) for check in run.checks]
    assert found == [
        ("teas", "own", True),
        ("teas", "row_count(min=3)", False),
        ("raw.dear", "row_count(min=3)", False),
        ("teas", "row_count(change=0.1)", True),
    ]
    assert not main.table_exists("sales.out")
