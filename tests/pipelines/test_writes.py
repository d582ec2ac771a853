"""What becomes of a step's rows: expectations, contracts, windows, versions of rows."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from lakebed import pipelines as lp
from lakebed.errors import Forbidden, Invalid
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]


def single(step: Callable[..., Any], **options: Any) -> lp.Pipeline:
    shop = lp.Pipeline("shop", namespace="sales")
    shop.table("out", **options)(step)
    return shop


def copied(rows: Any = lp.read("raw.orders")) -> Any:
    return rows.select("id", "item", "price", "at")


def test_rows_that_fail_are_counted_dropped_and_kept_aside_once(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    expectations = [
        lp.expect("price > 2", or_="quarantine", name="dear"),
        lp.expect("item <> 'jam'", or_="drop"),
        lp.expect("id < 3", or_="warn"),
        lp.expect("id < 100", up_to=1),
    ]
    raw.append([order(200, None, 9.0)], cast=True)  # of a null nobody knows whether it is jam: it fails
    run = single(copied, expect=expectations).run(lake, spark).raise_for_status()
    assert rows("sales.out", "id") == [(3,)]
    assert rows("sales.out__quarantine", "id", "_errors", "_run") == [(1, ["dear"], "1")]
    found = {check.name: (check.failed, check.passed, check.severity) for check in run.checks}
    assert found == {
        "dear": (1, False, "warn"),
        "item <> 'jam'": (2, False, "warn"),
        "id < 3": (2, False, "warn"),
        "id < 100": (1, True, "error"),
    }
    assert [(step.rows, step.dropped, step.quarantined) for step in run.steps] == [(1, 2, 1)]


@pytest.mark.long
def test_a_resumed_step_quarantines_its_rows_once(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    shop = single(copied, expect=[lp.expect("price > 2", or_="quarantine")])
    shop.check(lp.row_count("sales.out", max=1))
    assert shop.run(lake, spark).status == "check_failed"
    main.branch("run/1").table("raw.orders").delete("id = 3")
    assert shop.run(lake, spark, resume=True).status == "published"
    assert rows("sales.out__quarantine", "id") == [(1,)]


@pytest.mark.long
def test_rows_of_a_step_that_answers_other_rows_each_time_are_in_one_place_only(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    from pyspark.sql import functions as F

    def lottery(spark: Any) -> Any:
        return spark.range(2000).withColumn("luck", F.rand())

    for _ in range(3):
        run = single(lottery, expect=[lp.expect("luck > 0.5", or_="quarantine")]).run(lake, spark).raise_for_status()
        kept = [number for (number,) in rows("sales.out", "id")]
        aside = (
            main.table("sales.out__quarantine").scan(f"_run = '{run.id}'", columns=["id"]).to_arrow()["id"].to_pylist()
        )
        assert sorted(kept + aside) == list(range(2000))


def test_a_contract_is_compared_before_any_row_is_written(lake: Any, spark: Any, main: Any, raw: Any) -> None:
    wrong = {"id": "long", "item": "string", "price": "decimal(10,2)"}
    with pytest.raises(Invalid, match=r"price is double instead of decimal\(10, ?2\); at is not in it|at is not in it"):
        single(copied, schema=wrong).run(lake, spark)
    assert main.inspect("__runs").num_rows == 0


@pytest.mark.long
def test_columns_are_added_and_replaced_only_as_a_step_says(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    single(lambda rows: rows.select("id", "item"), inputs={"rows": "raw.orders"}).run(lake, spark).raise_for_status()
    wider = single(lambda rows: rows.select("id", "item", "price"), inputs={"rows": "raw.orders"})
    assert [str(change) for change in wider.plan(lake, spark).steps[0].columns] == ["+ price double"]
    wider.run(lake, spark).raise_for_status()
    assert main.table("sales.out").schema.names == ("id", "item", "price")

    def narrow(rows: Any) -> Any:
        return rows.selectExpr("cast(id as string) id", "price")

    with pytest.raises(Invalid, match="columns have changed"):
        single(narrow, inputs={"rows": "raw.orders"}).run(lake, spark)
    replaced = single(narrow, inputs={"rows": "raw.orders"}, evolve="replace")
    main.create_view("sales.items", {"spark": "SELECT item FROM sales.out"})
    with pytest.raises(Forbidden, match=r"view sales\.items"):
        replaced.run(lake, spark)
    replaced.run(lake, spark, breaking=True).raise_for_status()
    assert rows("sales.out", "id", "price")[0] == ("1", 2.0)


def windowed(batch: int = 3) -> lp.Pipeline:
    from pyspark.sql import functions as F

    shop = lp.Pipeline("shop", namespace="sales")
    days = lp.daily("at", since="2026-11-01", until="2026-11-05", batch=batch)

    @shop.table(window=days, version="1")
    def daily(window: lp.Window, orders: Any = lp.read("raw.orders")) -> Any:
        day = F.to_date("at").alias("day")
        return orders.where(window.of("at")).groupBy(day).agg(F.sum("price").alias("total"))

    return shop


def test_windows_are_made_once_and_again_where_late_rows_are(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = windowed()
    run = shop.run(lake, spark).raise_for_status()
    assert [row["window"] for row in main.inspect("__windows").to_pylist()] == ["2026-11-01..2026-11-03", "2026-11-04"]
    assert (run.steps[0].rows, len(rows("sales.daily"))) == (3, 3)
    assert shop.run(lake, spark).status == "unchanged"
    raw.append([order(9, price=10.0, day=2)], cast=True)
    raw.update({"price": "price + 1"}, where="id = 3")
    raw.compact()
    [planned] = shop.plan(lake).steps
    assert (planned.windows, planned.decision.reason) == (
        ("2026-11-02", "2026-11-03"),
        "late rows in 2026-11-02, 2026-11-03",
    )
    shop.run(lake, spark).raise_for_status()
    assert [total for _, total in rows("sales.daily")] == [2.0, 13.0, 5.0]


def test_late_windows_that_were_not_asked_for_stay_to_be_made(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = windowed(batch=1)
    shop.run(lake, spark).raise_for_status()
    raw.append([order(8, price=10.0, day=2), order(9, price=10.0, day=3)], cast=True)
    shop.run(lake, spark, from_="2026-11-03", to="2026-11-03").raise_for_status()
    assert shop.plan(lake).steps[0].windows == ("2026-11-02",)
    shop.run(lake, spark).raise_for_status()
    assert [total for _, total in rows("sales.daily")] == [2.0, 13.0, 14.0]
    assert len(shop.plan(lake, full_refresh="daily").steps[0].windows) == 4


@pytest.mark.long
def test_every_version_of_a_row_is_kept_with_its_times_in_whatever_order_they_come(
    lake: Any, spark: Any, main: Any, rows: Rows
) -> None:
    main.create_namespace("raw")
    people = main.create_table("raw.people", {"id": "long", "city": "string", "at": "timestamp"})
    shop = single(
        lambda new: new.select("id", "city", "at", "_change_type"),
        inputs={"new": lp.changes("raw.people")},
        write=lp.scd2("id", "at"),
    )

    def came(*given: tuple[int, str, int]) -> None:
        people.append(
            [{"id": one, "city": city, "at": f"2026-11-{day:02}T00:00:00"} for one, city, day in given], cast=True
        )
        shop.run(lake, spark).raise_for_status()

    came((1, "Rome", 1), (2, "Bonn", 1))
    came((1, "Oslo", 5))
    came((1, "Rome", 3), (1, "Oslo", 7), (2, "Bonn", 9))
    day = {number: datetime(2026, 11, number) for number in (1, 5)}
    found = rows("sales.out", "id", "city", "valid_from", "valid_to", "is_current")
    assert found == [
        (1, "Oslo", day[5], None, True),
        (1, "Rome", day[1], day[5], False),
        (2, "Bonn", day[1], None, True),
    ]


def quarantined(write: str = "append", **options: Any) -> lp.Pipeline:
    def appended(new: Any = lp.appended("raw.orders")) -> Any:
        return new.select("id", "item", "price")

    return single(appended, write=write, expect=[lp.expect("price > 2", or_="quarantine")], **options)


def test_repaired_rows_of_a_quarantine_are_fed_again_and_the_others_stay_in_it(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = quarantined()
    raw.append([order(4, "oil", 1.0)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert (rows("sales.out", "id"), rows("sales.out__quarantine", "id")) == ([(2,), (3,)], [(1,), (4,)])
    main.table("sales.out__quarantine").update({"price": "5.0"}, where="id = 4")
    raw.append([order(5, "pie", 7.0)], cast=True)
    run = shop.run(lake, spark, retry="sales.out").raise_for_status()
    assert [(step.reason, step.rows, step.quarantined) for step in run.steps] == [
        ("rows of its quarantine again", 2, 1)
    ]
    assert rows("sales.out") == [(2, "jam", 3.0), (3, "tea", 4.0), (4, "oil", 5.0), (5, "pie", 7.0)]
    assert rows("sales.out__quarantine", "id", "_run") == [(1, "2")]


def test_a_retry_that_is_not_published_leaves_the_quarantine_and_is_resumed(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = quarantined("upsert", primary_key=["id"])
    shop.run(lake, spark).raise_for_status()
    main.table("sales.out__quarantine").update({"price": "5.0"})
    shop.check(lp.row_count("sales.out", max=2))
    run = shop.run(lake, spark, retry=["sales.out"])
    assert run.status == "check_failed"
    assert (rows("sales.out", "id"), rows("sales.out__quarantine", "id")) == ([(2,), (3,)], [(1,)])
    branch = main.branch(run.branch)
    assert branch.table("sales.out__quarantine").scan().count() == 0
    branch.table("raw.orders").append([order(9, "pie", 9.0)], cast=True)  # the step runs again, from the fork
    shop.run(lake, spark, retry=["sales.out"], resume=True, no_checks=True).raise_for_status()
    assert rows("sales.out") == [(1, "tea", 5.0), (2, "jam", 3.0), (3, "tea", 4.0), (9, "pie", 9.0)]
    assert main.table("sales.out__quarantine").scan().count() == 0


@pytest.mark.parametrize("write", ["replace", "partitions"])
def test_a_step_that_makes_its_rows_again_gets_none_from_its_quarantine(lake: Any, spark: Any, write: str) -> None:
    with pytest.raises(Invalid, match="Repair the rows of its input"):
        single(copied, write=write).run(lake, spark, retry="sales.out")


def test_rows_that_a_step_makes_again_are_once_in_its_quarantine(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    """What it did: each run of a step that replaces its table added the same rows to the quarantine."""
    shop = single(copied, expect=[lp.expect("price > 2", or_="quarantine")])
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, "oil", 1.0)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out__quarantine", "id", "_run") == [(1, "2"), (4, "2")]
    raw.update({"price": "9.0"}, where="true")
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out__quarantine", "id") == []


def test_a_window_that_is_made_again_has_its_rows_once_in_the_quarantine(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    def daily(window: lp.Window, new: Any = lp.read("raw.orders")) -> Any:
        return new.where(window.of("at")).select("id", "price", "at")

    days = lp.daily("at", since="2026-11-01", until="2026-11-04")
    shop = single(daily, window=days, expect=[lp.expect("price > 3", or_="quarantine")])
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out__quarantine", "id", "_run") == [(1, "1"), (2, "1")]
    raw.append([order(4, "oil", 1.0, 2)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out__quarantine", "id", "_run") == [(1, "1"), (2, "2"), (4, "2")]


def test_rows_of_a_table_that_no_pipeline_made_stay(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    """What it did: the first run of a step that appends emptied a table that was there."""
    main.create_namespace("sales")
    columns = {"id": "long", "item": "string", "price": "double"}
    main.create_table("sales.out", columns).append([{"id": 77, "item": "old", "price": 7.0}])
    shop = quarantined()
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.out", "id") == [(2,), (3,), (77,)]


def test_a_step_with_windows_does_not_read_a_view_of_the_lake(lake: Any, main: Any, raw: Any) -> None:
    """What it did: late rows behind the view were never found, and the plan said that no input had changed."""
    main.create_view("raw.teas", "SELECT * FROM raw.orders WHERE item = 'tea'")
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(window=lp.daily("at", since="2026-11-01", until="2026-11-05"))
    def daily(window: lp.Window, teas: Any = lp.read("raw.teas")) -> Any:
        return teas.where(window.of("at"))

    [planned] = shop.plan(lake).steps
    assert isinstance(planned.problem, Invalid) and "input raw.teas" in str(planned.problem)


def test_a_table_without_the_column_of_the_windows_makes_none_of_them_again_and_the_plan_says_so(
    lake: Any, spark: Any, main: Any, raw: Any
) -> None:
    """What it did: the plan said that no input had changed."""
    items = main.create_table("raw.items", {"item": "string", "kind": "string"})
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(window=lp.daily("at", since="2026-11-01", until="2026-11-03", batch=2), version="1")
    def daily(window: lp.Window, orders: Any = lp.read("raw.orders"), kinds: Any = lp.read("raw.items")) -> Any:
        return orders.where(window.of("at")).join(kinds, "item", "left").select("id", "at", "kind")

    shop.run(lake, spark).raise_for_status()
    items.append([{"item": "tea", "kind": "dry"}])
    reason = "all windows are made; raw.items changed, without a column at"
    assert [(step.action, step.decision.reason) for step in shop.plan(lake).steps] == [("skip", reason)]


def test_two_runs_at_once_of_a_step_with_windows_are_published_once(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = windowed(batch=1)
    first = shop.run(lake, spark, publish=False, from_="2026-11-01", to="2026-11-01")
    second = shop.run(lake, spark, publish=False, from_="2026-11-02", to="2026-11-02")
    assert shop.run(lake, spark, resume=first.id).status == "published"
    assert shop.run(lake, spark, resume=second.id).status == "conflict"
    assert [total for _, total in rows("sales.daily")] == [2.0]
    assert shop.plan(lake).steps[0].windows == ("2026-11-02", "2026-11-03", "2026-11-04")
