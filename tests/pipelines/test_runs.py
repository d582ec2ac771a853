"""A run is one commit or none; it reads one version; what did not change is skipped; what failed is resumed."""

from collections.abc import Callable
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.errors import CheckFailed, Conflict, Forbidden, Held, Invalid, StepFailed
from lakebed.pipelines.records import journal
from lakebed.pipelines.running.lock import held
from tests.pipelines.conftest import order

Rows = Callable[..., list[tuple[Any, ...]]]
ALL = [(1, "tea", 4.0), (2, "jam", 6.0), (3, "tea", 8.0)]
SUMS = [("jam", 6.0), ("tea", 12.0)]


def test_a_run_is_one_commit_with_its_facts(lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows) -> None:
    before = main.version
    run = shop.run(lake, spark)
    assert run.raise_for_status().status == "published"
    assert (rows("sales.orders"), rows("sales.sums")) == (ALL, SUMS)
    assert [commit.version for commit in main.log(since=None)][1:2] == [before]
    [facts] = [
        operation.summary
        for operation in run.published.operations
        if operation.type == "merge_branch" and operation.summary
    ]
    assert (facts["pipeline.name"], facts["pipeline.run"], facts["pipeline.base"]) == ("shop", "1", str(before))
    assert str(run.published).endswith("shop run 1")
    assert [branch.ref for branch in main.branches()] == ["main"]
    assert main.table("sales.orders").comment == "Orders, cleaned."


def test_what_did_not_change_is_skipped_and_only_new_rows_are_appended(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    shop.run(lake, spark).raise_for_status()
    version = main.version
    again = shop.run(lake, spark)
    assert ([step.status for step in again.steps], again.status) == (["skipped", "skipped"], "unchanged")
    assert main.version == version
    raw.append([order(4, "oil", 5.0)], cast=True)
    assert [step.decision.reason for step in shop.plan(lake).steps] == ["raw.orders changed", "sales.orders changed"]
    more = shop.run(lake, spark)
    assert [step.rows for step in more.steps] == [1, 3]
    assert rows("sales.orders") == sorted([*ALL, (4, "oil", 10.0)], key=repr)


@pytest.mark.long
def test_a_step_whose_input_did_not_change_after_all_is_skipped(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    """Its input was written by an earlier step of the run, with the rows that it had."""
    shop.run(lake, spark).raise_for_status()
    raw.delete("id = 3")
    raw.append([order(3, "tea", 4.0, 3)], cast=True)
    raw.compact()
    run = shop.run(lake, spark, select="sums", force=False)
    assert [(step.name, step.status) for step in run.steps] == [("sales.sums", "skipped")]


@pytest.mark.long
def test_changed_code_makes_a_step_again_from_all_rows(lake: Any, spark: Any, raw: Any, shop: Any, rows: Rows) -> None:
    shop.run(lake, spark).raise_for_status()
    run = shop.run(lake, spark, params={"factor": 3})
    assert [(step.action, step.reason) for step in run.steps] == [
        ("rebuild", "its code changed"),
        ("update", "sales.orders changed"),
    ]
    assert rows("sales.orders") == [(1, "tea", 6.0), (2, "jam", 9.0), (3, "tea", 12.0)]
    refreshed = shop.run(lake, spark, params={"factor": 3}, full_refresh="orders")
    assert refreshed.steps[0].reason == "full refresh"
    assert rows("sales.orders") == [(1, "tea", 6.0), (2, "jam", 9.0), (3, "tea", 12.0)]


@pytest.mark.long
def test_steps_read_what_the_target_had_when_the_run_began(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    @shop.table
    def late(sums: Any, raw_orders: Any = lp.read("raw.orders")) -> Any:
        if main.branch_exists("run/1"):  # not in the dry run
            raw.append([order(100, "oil")], cast=True)
        return raw_orders.select("id")

    run = shop.run(lake, spark)
    assert run.raise_for_status().steps[-1].rows == 3
    assert rows("sales.late") == [(1,), (2,), (3,)]
    assert raw.scan().count() == 4
    assert shop.plan(lake).steps[0].decision.reason == "raw.orders changed"


def test_a_failed_step_publishes_nothing_and_the_run_is_resumed_on_the_version_that_it_began_with(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    fails = [True]

    @shop.table(version="1")
    def broken(sums: Any) -> Any:
        if fails and sums.columns and sums.sparkSession is spark and main.branch_exists("run/1"):
            raise ValueError("no such luck")
        return sums

    run = shop.run(lake, spark)
    assert (run.status, [step.status for step in run.steps]) == ("step_failed", ["done", "done", "failed"])
    with pytest.raises(StepFailed, match="ValueError: no such luck"):
        run.raise_for_status()
    assert not main.table_exists("sales.orders")
    assert rows("sales.orders", ref="run/1") == ALL
    raw.append([order(4)], cast=True)
    fails.clear()
    resumed = shop.run(lake, spark, resume=True)
    assert [step.reason for step in resumed.steps] == ["done before", "done before", "new"]
    assert (resumed.id, rows("sales.orders"), rows("sales.broken")) == (1, ALL, SUMS)
    assert shop.run(lake, spark).raise_for_status().steps[0].rows == 1


@pytest.mark.long
def test_a_step_that_is_repaired_runs_again_on_resume_and_so_does_what_reads_it(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    @shop.check(on="sales.sums")
    def enough(sums: Any) -> Any:
        return lp.Result(sums.where("total > 100").count() > 0, "total", "too little")

    assert shop.run(lake, spark).status == "check_failed"
    resumed = shop.run(lake, spark, resume=1, params={"factor": 100})
    assert [step.action for step in resumed.raise_for_status().steps] == ["create", "create"]
    assert rows("sales.orders") == [(1, "tea", 200.0), (2, "jam", 300.0), (3, "tea", 400.0)]


def test_rows_that_are_repaired_on_the_branch_are_published_with_it(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(expect=[lp.expect("price > 0")])
    def orders(new: Any = lp.read("raw.orders")) -> Any:
        return new.select("id", "price")

    raw.append([order(4, price=-1.0)], cast=True)
    run = shop.run(lake, spark)
    assert run.status == "check_failed"
    main.branch("run/1").table("raw.orders").delete("price < 0")
    assert shop.run(lake, spark, resume=True).raise_for_status().published
    assert (raw.scan().count(), len(rows("sales.orders"))) == (3, 3)


def test_the_branch_of_an_unfinished_run_is_closed_to_others(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    shop.check(lp.row_count("sales.sums", min=10))
    assert shop.run(lake, spark).status == "check_failed"
    branch = main.branch("run/1")
    with pytest.raises(Forbidden, match="run 1 of shop is unfinished"):
        branch.create_branch("mine")
    with pytest.raises(Forbidden, match="closed"):
        main.merge(branch)
    with pytest.raises(Forbidden, match="closed"):
        main.create_branch("other").merge(branch)
    with pytest.raises(Forbidden, match="closed"):  # what it did: it picked them
        main.cherry_pick(branch.log()[0])
    assert branch.create_branch("mine", force=True).table("sales.sums").scan().count() == 2
    assert main.merge(branch, force=True).commit


@pytest.mark.long
def test_a_run_that_is_left_for_a_look_is_published_by_a_resume(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    run = shop.run(lake, spark, publish=False)
    assert (run.status, main.table_exists("sales.orders")) == ("ready", False)
    assert rows("sales.sums", ref=run.branch) == SUMS
    assert shop.run(lake, spark, resume=run.id).raise_for_status().status == "published"
    assert rows("sales.sums") == SUMS


def test_two_runs_at_once_never_append_the_same_rows_twice(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    first = shop.run(lake, spark, publish=False)
    second = shop.run(lake, spark, publish=False)
    assert shop.run(lake, spark, resume=first.id).status == "published"
    late = shop.run(lake, spark, resume=second.id)
    assert late.status == "conflict"
    with pytest.raises(Conflict):
        late.raise_for_status()
    assert rows("sales.orders") == ALL
    assert main.branch_exists(second.branch)


@pytest.mark.long
def test_two_runs_that_read_on_from_one_position_never_append_twice(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, "oil", 5.0)], cast=True)
    first, second = (shop.run(lake, spark, publish=False, select="orders") for _ in range(2))
    assert shop.run(lake, spark, resume=first.id, select="orders").status == "published"
    assert shop.run(lake, spark, resume=second.id, select="orders").status == "conflict"
    assert rows("sales.orders") == sorted([*ALL, (4, "oil", 10.0)], key=repr)


def test_a_second_run_says_that_the_first_goes_on(lake: Any, spark: Any, raw: Any, shop: Any) -> None:
    with held(lake, "shop"), pytest.raises(Held, match="another run of the pipeline goes on"):
        shop.run(lake, spark)
    assert lake.check() == []


@pytest.mark.long
def test_a_reverted_run_is_made_again(lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows) -> None:
    run = shop.run(lake, spark)
    raw.append([order(4, "oil", 5.0)], cast=True)
    second = shop.run(lake, spark)
    main.revert(second.published)
    assert rows("sales.orders") == ALL
    assert shop.run(lake, spark).steps[0].rows == 1
    assert len(rows("sales.orders")) == 4
    assert run.status == "published"


def test_serializable_runs_begin_again_if_an_input_changes_meanwhile(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    shop = lp.Pipeline("shop", namespace="sales")
    turns: list[int] = []

    @shop.table(version="1")
    def copied(rows: Any = lp.read("raw.orders")) -> Any:
        if main.branch_exists("run/1"):
            turns.append(1)
            if len(turns) == 1:
                raw.append([order(4)], cast=True)
        return rows.select("id")

    run = shop.run(lake, spark, isolation="serializable")
    assert (run.raise_for_status().status, len(turns)) == ("published", 2)
    assert rows("sales.copied") == [(1,), (2,), (3,), (4,)]


@pytest.mark.long
def test_a_run_into_a_branch_goes_on_when_that_is_merged(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows
) -> None:
    dev = main.create_branch("dev")
    shop.run(lake, spark, into="dev").raise_for_status()
    assert not main.table_exists("sales.orders")
    main.merge(dev)
    main.drop_branch("dev")
    assert [step.status for step in shop.run(lake, spark).steps] == ["skipped", "skipped"]
    raw.append([order(4, "oil", 5.0)], cast=True)
    assert shop.run(lake, spark).steps[0].rows == 1
    assert len(rows("sales.orders")) == 4


@pytest.mark.long
def test_an_interrupted_run_can_be_resumed(lake: Any, spark: Any, main: Any, raw: Any, shop: Any, rows: Rows) -> None:
    stops = [True]

    @shop.table(version="1")
    def stopped(sums: Any) -> Any:
        if stops and main.branch_exists("run/1"):
            stops.clear()
            raise KeyboardInterrupt
        return sums

    with pytest.raises(KeyboardInterrupt):
        shop.run(lake, spark)
    assert journal.found(lake, 1).row["status"] == "interrupted"
    assert shop.run(lake, spark, resume=True).status == "published"
    assert rows("sales.stopped") == SUMS


def test_a_step_is_tried_again_as_often_as_it_says(
    lake: Any, spark: Any, main: Any, raw: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("lakebed.pipelines.running.step.PAUSE", 0)
    shop, turns = lp.Pipeline("shop"), [1, 2]

    @shop.table("out", retries=2, version="1")
    def flaky(rows: Any = lp.read("raw.orders")) -> Any:
        if turns and main.branch_exists("run/1"):
            raise OSError(f"try {turns.pop()}")
        return rows

    assert shop.run(lake, spark).raise_for_status().steps[0].rows == 3


@pytest.mark.long
def test_a_step_of_several_tables_is_one_commit(lake: Any, spark: Any, main: Any, raw: Any, rows: Rows) -> None:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.tables("teas", "others", expect={"teas": [lp.expect("price > 0")]})
    def split(new: Any = lp.read("raw.orders")) -> Any:
        yield lp.rows("sales.teas", new.where("item = 'tea'"))
        yield lp.rows("sales.others", new.where("item <> 'tea'"))

    shop.run(lake, spark).raise_for_status()
    assert ([row[0] for row in rows("sales.teas")], [row[0] for row in rows("sales.others")]) == ([1, 3], [2])
    assert shop.run(lake, spark).status == "unchanged"


@pytest.mark.long
def test_a_step_that_reads_what_nobody_sees_runs_each_time_unless_it_has_a_version(
    lake: Any, spark: Any, main: Any, rows: Rows
) -> None:
    shop = lp.Pipeline("shop")

    @shop.table("a")
    def unseen(spark: Any) -> Any:
        return spark.range(2)

    @shop.table("b", version="1")
    def versioned(spark: Any) -> Any:
        return spark.range(3)

    shop.run(lake, spark).raise_for_status()
    assert [step.status for step in shop.run(lake, spark).steps] == ["done", "skipped"]


def test_upserts_follow_changed_deleted_and_renamed_keys(
    lake: Any, spark: Any, main: Any, raw: Any, rows: Rows
) -> None:
    shop = lp.Pipeline("shop", namespace="sales")

    @shop.table(write="upsert", primary_key=["id"])
    def orders(new: Any = lp.changes("raw.orders")) -> Any:
        return new.select("id", "item", "_change_type")

    shop.run(lake, spark).raise_for_status()
    raw.update({"item": "'oil'"}, where="id = 1")
    raw.delete("id = 2")
    raw.update({"id": "30"}, where="id = 3")
    raw.append([order(5)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert rows("sales.orders") == [(1, "oil"), (30, "tea"), (5, "tea")]
    assert rows("sales.orders") == rows("raw.orders", "id", "item")


@pytest.mark.long
def test_appended_rows_are_refused_with_the_commit_that_changed_old_ones(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    shop.run(lake, spark).raise_for_status()
    raw.update({"price": "price + 1"}, where="id = 1", message="a correction")
    run = shop.run(lake, spark)
    assert run.status == "step_failed"
    with pytest.raises(Invalid, match="a correction"):
        run.raise_for_status()


def test_a_dry_run_knows_the_types_of_the_whole_graph_and_runs_no_job(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    @shop.table
    def wrong(sums: Any) -> Any:
        return sums.select("no_such_column")

    found = shop.plan(lake, spark)
    assert not found.ok
    assert "no_such_column" in str(found.steps[-1].problem)
    with pytest.raises(Invalid, match="no_such_column"):
        shop.run(lake, spark)
    assert [branch.ref for branch in main.branches()] == ["main"]


@pytest.mark.long
def test_checks_keep_a_run_from_being_published_and_warnings_do_not(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    shop.check(
        lp.unique("sales.orders", "id"),
        lp.not_null("sales.orders", "price"),
        lp.references("sales.orders", "id", "raw.orders"),
        lp.accepted("sales.orders", "item", ["tea", "jam"]),
        lp.row_count("sales.sums", min=1, max=10, change=0.5),
        lp.equal("sales.sums", "select sum(total) s from {sales.sums}", "select sum(price) s from {sales.orders}"),
        lp.accepted("sales.sums", "item", ["tea"], severity="warn"),
    )
    run = shop.run(lake, spark)
    assert run.raise_for_status().status == "published"
    assert [(check.name, check.failed) for check in run.checks if not check.passed] == [("accepted(item)", 1)]
    raw.append([order(4, "lead")], cast=True)
    failed = shop.run(lake, spark)
    with pytest.raises(CheckFailed, match=r"accepted\(item\)"):
        failed.raise_for_status()
    assert failed.failures[0].examples[0]["item"] == "lead"
    assert shop.run(lake, spark, resume=True, no_checks="accepted(item)").status == "published"


def test_runs_are_listed_while_they_go_on_and_a_dead_driver_does_not_hide_what_it_published(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def listen(event: Any) -> None:
        seen.append((event.kind, event.about, main.inspect("__runs").to_pylist()[0]["status"]))

    class Dead(BaseException):
        pass

    def die(*_: Any, **values: Any) -> None:
        if values.get("status") == "published":
            raise Dead

    monkeypatch.setattr(journal.Journal, "change", die)
    with pytest.raises(Dead):
        shop.run(lake, spark, listener=listen)
    assert ("step", "sales.sums", "running") in seen
    [row] = main.inspect("__runs").to_pylist()
    assert (row["status"], main.table_exists("sales.sums")) == ("published", True)
    assert row["published"] == str(main.log(limit=1)[0].version)


@pytest.mark.long
def test_hooks_are_called_after_publishing_until_they_succeed(
    lake: Any, spark: Any, main: Any, raw: Any, shop: Any
) -> None:
    told: list[Any] = []

    @shop.after_publish
    def tell(run: Any, changed: Any = lp.changes("sales.orders")) -> None:
        told.append((run.id, sorted(row.id for row in changed.collect())))
        if len(told) == 1:
            raise OSError("the other system is down")

    run = shop.run(lake, spark)
    assert (run.status, len(told)) == ("published", 1)
    shop.run(lake, spark, resume=run.id)
    raw.append([order(4)], cast=True)
    shop.run(lake, spark).raise_for_status()
    assert told == [(1, [1, 2, 3]), (1, [1, 2, 3]), (2, [4])]


def test_columns_of_tables_know_what_they_were_made_from(lake: Any, spark: Any, main: Any, raw: Any, shop: Any) -> None:
    shop.sql("best", "select item, total * 2 twice from {sums} where total > (select min(price) from {orders})")
    shop.run(lake, spark).raise_for_status()
    found = {
        (row["table"], row["column"], row["input_table"], row["input_column"])
        for row in main.inspect("__lineage").to_pylist()
    }
    assert ("sales.orders", "price", "raw.orders", "price") in found
    assert ("sales.best", "twice", "sales.sums", "total") in found
    assert not any(column == "id" and table == "sales.sums" for table, column, *_ in found)


def test_a_handle_of_a_lake_that_is_read_only_runs_nothing(
    tmp_path: Any, lake: Any, spark: Any, raw: Any, shop: Any
) -> None:
    with lakebed.connect(tmp_path / "lake", read_only=True) as reader, pytest.raises(Forbidden):
        shop.run(reader, spark)
