"""What a plan knows before anything runs: who owns a table, what is missing, what only rows will tell."""

from collections.abc import Callable
from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.errors import Forbidden, Invalid, NotFound
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]


def appending(name: str) -> lp.Pipeline:
    shop = lp.Pipeline(name, namespace="sales")

    @shop.table(write="append", inputs={"new": lp.appended("raw.orders")})
    def out(new: Any) -> Any:
        return new.selectExpr("id", f"'{name}' who")

    return shop


def test_a_pipeline_never_empties_a_table_that_another_one_fills(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    """What it did: the second took the first's table for its own of older code, and made it again without its rows."""
    appending("one").run(lake, spark).raise_for_status()
    with pytest.raises(Forbidden, match="pipeline one makes this table"):
        appending("two").run(lake, spark)
    assert rows("sales.out") == [(1, "one"), (2, "one"), (3, "one")]
    appending("two").run(lake, spark, full_refresh="out").raise_for_status()
    assert rows("sales.out") == [(1, "two"), (2, "two"), (3, "two")]


def test_a_step_whose_input_is_not_there_says_what_to_select(lake: Any, main: Any, raw: Any, shop: Any) -> None:
    """What it did: the run failed in the step, with a namespace that it could not find."""
    [planned] = shop.plan(lake, select="sums").steps
    assert isinstance(planned.problem, NotFound)
    assert r"Select the step that makes it, too: +sales.sums" in str(planned.problem)
    assert shop.plan(lake, select="+sums").ok


def test_a_step_with_windows_reads_no_changes() -> None:
    """What it did: the first window got all changes, and the others none: their rows were gone."""
    shop = lp.Pipeline("shop")

    @shop.view
    def recent(new: Any = lp.appended("raw.orders")) -> Any: ...

    @shop.table(window=lp.daily("at", since="2026-11-01"))
    def out(window: lp.Window, recent: Any) -> Any: ...

    with pytest.raises(Invalid, match="a step with windows reads whole tables"):
        shop.graph()


def test_a_function_that_looks_at_rows_is_planned_with_a_doubt_and_runs(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    """What it did: over empty frames there is no first row, and the pipeline was refused for ever."""
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table
    def newest(orders: Any = lp.read("raw.orders")) -> Any:
        return orders.where(f"id >= {orders.orderBy('id', ascending=False).first()['id']}").select("id")

    @shop.table
    def after(newest: Any) -> Any:
        return newest.selectExpr("id + 1 id")

    @shop.table
    def beside(orders: Any = lp.read("raw.orders")) -> Any:
        return orders.select("nothing")

    found = shop.plan(lake, spark)
    by_name = {step.name: step for step in found.steps}
    assert not found.ok
    assert "'NoneType' object is not subscriptable" in str(by_name["sales.newest"].doubt)
    assert (by_name["sales.after"].doubt, by_name["sales.after"].problem) == (None, None)
    assert "nothing" in str(by_name["sales.beside"].problem)
    shop.run(lake, spark, select="newest after").raise_for_status()
    assert rows("sales.after") == [(4,)]


def test_a_plan_says_that_windows_depend_on_a_step_before(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    """What it did: it said that the step is skipped, and the run then made its windows again."""
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table
    def orders(rows: Any = lp.read("raw.orders")) -> Any:
        return rows

    @shop.table(window=lp.daily("at", since="2026-11-01", until="2026-11-04", batch=3))
    def daily(window: lp.Window, orders: Any) -> Any:
        return orders.where(window.of("at")).select("id", "at")

    shop.run(lake, spark).raise_for_status()
    raw.append([order(4)], cast=True)
    planned = shop.plan(lake).steps[1]
    assert (planned.action, planned.decision.reason) == ("windows", "those in which sales.orders changes")


def test_functions_are_steps_whatever_kind_they_are_of(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    """What it did: a partial and an object failed for want of a name."""
    from functools import partial

    class Doubled:
        def __call__(self, rows: Any = lp.read("raw.orders")) -> Any:
            return rows.selectExpr("id * 2 id")

    def times(rows: Any, by: int) -> Any:
        """Times."""
        return rows.selectExpr(f"id * {by} id")

    shop = lp.Pipeline("shop", namespace="sales")
    shop.table("doubled")(Doubled())
    shop.table(inputs={"rows": "raw.orders"})(partial(times, by=3))
    shop.run(lake, spark).raise_for_status()
    assert (rows("sales.doubled"), rows("sales.times")) == ([(2,), (4,), (6,)], [(3,), (6,), (9,)])
    assert main.table("sales.times").comment == "Times."
