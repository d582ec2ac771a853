"""Pipelines from the command line: plans, graphs, runs and what they noted; exit codes for Airflow and cron."""

import re
import signal
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lakebed.cli.advice import in_words
from lakebed.cli.run_board import Board
from lakebed.lake.lake import Lake
from lakebed.pipelines.files import load_pipeline
from lakebed.pipelines.records import journal
from lakebed.pipelines.running.lock import held
from lakebed.pipelines.running.run import CheckRun, Run, StepRun
from lakebed.pipelines.running.runner import Event
from lakebed.pipelines.running.step import WindowMade
from lakebed.pipelines.windows import Schedule, window_of
from lakebed.spark.jobs.jobs import Counts
from lakebed.spark.jobs.progress import Goal
from tests.cli.conftest import Cli

ETL = """
from lakebed import pipelines as lp

shop = lp.Pipeline("shop", namespace="marts", params={"least": 0})


@shop.table(tags=["core"])
def kept(least, rows=lp.read("sales.orders")):
    if least > 5:
        raise ValueError("too much")
    return rows.where(f"id >= {least}")


@shop.table
def counted(kept):
    return kept.groupBy().count()


shop.check(lp.row_count("marts.kept", max=100))
"""

HOOK = """

@shop.after_publish
def tell(run):
    with open("told", "a") as told:
        told.write(f"{run.id} ")
"""


@pytest.fixture
def etl(folder: Path) -> str:
    (folder / "etl_of_cli.py").write_text(ETL)
    return "etl_of_cli.py"


def test_a_plan_says_what_would_run_and_changes_nothing(cli: Cli, lake: Lake, etl: str) -> None:
    before = lake.catalog().version
    lines = cli("plan", etl, "--json").json
    assert [(line["step"], line["action"], line["reason"]) for line in lines] == [
        ("marts.kept", "create", "new"),
        ("marts.counted", "create", "new"),
    ]
    assert [line["step"] for line in cli("plan", etl, "--select", "tag:core", "--json").json] == ["marts.kept"]
    assert lake.catalog().version == before


def test_a_graph_is_text_or_a_picture(cli: Cli, lake: Lake, etl: str, folder: Path) -> None:
    assert cli("graph", etl).lines[0] == "graph LR"
    assert cli("graph", etl, "--svg", "graph.svg").code == 0
    assert (folder / "graph.svg").read_text().startswith("<svg")


def test_a_run_is_published_or_ends_with_the_code_of_what_went_wrong(
    cli: Cli, lake: Lake, etl: str, spark: Any
) -> None:
    events = cli("run", etl, "--json").json
    assert [event["event"] for event in events] == [
        "begin",
        "step",
        "done",
        "step",
        "done",
        "check",
        "checked",
        "publish",
        "end",
    ]
    assert (events[-1]["status"], events[2]["rows"] > 0) == ("published", True)
    assert lake.catalog().table("marts.counted").scan().count() == 1
    assert (cli("run", etl).code, cli("run", etl).lines[-1]) == (0, "nothing to do")
    failed = cli("run", etl, "--param", "least=6")
    assert (failed.code, "Traceback" in failed.err, "too much" in failed.err) == (4, False, True)
    listed = cli("runs", "--json").json
    assert [row["status"] for row in listed] == ["step_failed", "unchanged", "unchanged", "published"]
    shown = cli("runs", "show", "1", "--json").json[0]
    assert [step["status"] for step in shown["steps"]] == ["done", "done"]
    assert cli("lineage", "marts.kept.id").lines[1].split("\t")[:4] == ["marts.kept", "id", "sales.orders", "id"]
    assert cli("runs", "show", "9").code == 7


def test_the_pipeline_that_init_writes_runs_as_it_is(cli: Cli, folder: Path, spark: Any) -> None:
    assert cli("init", "--pipeline").code == 0
    assert cli("run", "etl.py").code == 0
    assert cli("count", "sales.orders", "--json").json[0]["rows"] == 857
    assert len(cli("quarantine", "sales.orders", "-n", "5").lines) == 6
    assert cli("init", "other", "--pipeline").code == 8


def test_a_run_that_stopped_is_given_up(cli: Cli, lake: Lake, etl: str) -> None:
    main = lake.catalog()
    begun = journal.begin(lake, main, {"pipeline": "shop"})
    main.create_branch(f"run/{begun.number}")
    assert cli("runs", "discard", str(begun.number)).code == 9  # nobody can answer here
    assert cli("runs", "discard", str(begun.number), "--yes").code == 0
    assert not main.branch_exists(f"run/{begun.number}")
    assert cli("runs", "--failed", "--json").json[0]["status"] == "discarded"


def test_words_of_pipelines_are_used_as_they_say(cli: Cli, lake: Lake, etl: str) -> None:
    assert cli("plan", "missing.py").code == 7
    assert cli("plan", etl, "--param", "least=x").code == 2
    assert cli("plan", etl, "--select", "nothing").code == 9
    assert cli("runs", "show").code == 2
    assert cli("quarantine", "sales.orders").code == 7


def test_a_project_of_spark_is_run_by_its_spec_or_its_folder(cli: Cli, lake: Lake, folder: Path, spark: Any) -> None:
    """The file stays as Spark's own runner takes it."""
    (folder / "project").mkdir()
    (folder / "project" / "spark-pipeline.yml").write_text(
        "name: marts\nstorage: file:///x\ndatabase: marts\nlibraries: [{glob: {include: kept.sql}}]"
    )
    (folder / "project" / "kept.sql").write_text(
        "CREATE MATERIALIZED VIEW kept USING delta AS SELECT * FROM sales.orders WHERE id > 1"
    )
    assert cli("graph", "project").lines[-1].strip() == "n0 --> n1"
    [step] = cli("plan", "project/spark-pipeline.yml", "--types", "--json").json
    assert (step["step"], step["action"], step["problem"]) == ("marts.kept", "create", None)
    ran = cli("run", "project")
    assert (ran.code, lake.catalog().table("marts.kept").scan().count()) == (0, 2)
    assert "format delta is ignored" in ran.err
    assert cli("run", "project", "--dry-run").code == 0
    number = str(cli("runs", "--json").json[0]["id"])
    [newest] = cli("runs", "show", number, "--json").json
    assert (newest["pipeline"], Path(newest["file"]).name) == ("marts", "spark-pipeline.yml")
    assert cli("run", "project", "--force", "--no-publish").code == 0
    published = cli("runs", "publish", str(newest["id"] + 1))
    assert (published.code, "published as #" in published.out) == (0, True), published
    (folder / "project" / "kept.sql").write_text("CREATE MATERIALIZED VIEW kept AS SELECT * FROM sales.orderz")
    wrong = cli("run", "project")
    assert (wrong.code, "kept.sql:1" in wrong.err, "Did you mean sales.orders?" in wrong.err) == (9, True, True)
    assert "Traceback" not in wrong.err


def test_events_say_what_steps_and_checks_found(cli: Cli, lake: Lake, etl: str, spark: Any) -> None:
    """What it did: `checked` did not say whether the check had passed, nor `done` what was left out."""
    events = cli("run", etl, "--json").json
    by_kind = {event["event"]: event for event in events}
    assert {name: by_kind["checked"][name] for name in ("table", "passed", "value", "severity", "message")} == {
        "table": "marts.kept",
        "passed": True,
        "value": "3",
        "severity": "error",
        "message": "3 rows",
    }
    assert {"dropped", "quarantined", "seconds", "action", "error"} <= by_kind["done"].keys()
    assert by_kind["begin"]["steps"] == ["marts.kept", "marts.counted"]
    end = by_kind["end"]
    assert (end["tables"], end["rows_added"], end["rows_removed"], end["files_added"] > 1) == (2, 4, 0, True)


def test_a_dry_run_answers_as_a_plan_does(cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any) -> None:
    """What it did: with --json it was text, and any problem ended with 9."""
    lines = cli("run", etl, "--dry-run", "--json").json
    assert [(line["step"], line["action"]) for line in lines] == [("marts.kept", "create"), ("marts.counted", "create")]
    (folder / etl).write_text(ETL.replace('"sales.orders"', '"sales.orderz"'))
    assert cli("run", etl, "--dry-run").code == cli("plan", etl).code == 7


def test_a_run_says_in_lines_what_its_steps_and_checks_found(cli: Cli, lake: Lake, etl: str, spark: Any) -> None:
    lines = cli("run", etl).lines
    head, kept, counted, check, end = (line.strip() for line in lines)
    assert head == "shop  run 1 on run/1 from main #4"
    assert (kept.split()[:4], counted.split()[:4]) == (
        ["✓", "marts.kept", "3", "rows"],
        ["✓", "marts.counted", "1", "rows"],
    )
    assert check == "✓ marts.kept  row_count(max=100)  3 rows"
    assert re.fullmatch(r"published as #\d+: 2 tables, \d files, \+4 rows · 0:\d\d", end)


def test_an_interrupted_run_has_an_end_among_its_events(
    cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did: the last event of a run that Ctrl-C stopped was the beginning of a step."""
    (folder / etl).write_text(
        ETL.replace("    if least > 5:\n", "    if rows.count():\n        raise KeyboardInterrupt\n")
    )
    before = signal.getsignal(signal.SIGINT)
    stopped = cli("run", etl, "--json")
    assert signal.getsignal(signal.SIGINT) is before, "Ctrl-C would be ignored for good by whoever runs words inside"
    assert (stopped.code, stopped.json[-1]["event"], stopped.json[-1]["status"]) == (130, "end", "interrupted")
    assert cli("run", etl).lines[-1] == "interrupted; run/2 is kept. Go on: lakebed runs resume 2"


def test_a_run_that_stopped_is_resumed_by_its_number_alone(
    cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any
) -> None:
    assert cli("run", etl, "--param", "least=6").code == 4
    (folder / etl).write_text(ETL.replace("raise ValueError", "str"))
    resumed = cli("runs", "resume", "1")
    assert (resumed.code, resumed.lines[-1].split("#")[0]) == (0, "published as "), resumed
    assert cli("runs", "resume", "9").code == 7
    (folder / etl).unlink()
    assert cli("runs", "resume", "1").code == 7


def test_a_run_is_not_published_after_rows_were_spoiled_on_its_branch(
    cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any
) -> None:
    """What it did: `runs publish` published rows that fail a check, and called no hook."""
    (folder / etl).write_text(ETL.replace("max=100", "max=3") + HOOK)
    assert cli("run", etl, "--no-publish").lines[-1].startswith("complete, not published")
    main = lake.catalog()
    branch = main.branch("run/1")
    branch.table("marts.kept").append([{"id": 9}])
    refused = cli("runs", "publish", "1")
    assert (refused.code, main.table_exists("marts.kept")) == (3, False)
    branch.table("marts.kept").delete("id = 9")
    assert cli("runs", "publish", "1").code == 9  # its checks have failed: it is resumed
    assert cli("runs", "resume", "1").code == 0
    assert (main.table("marts.kept").scan().count(), (folder / "told").read_text()) == (3, "1 ")


def test_a_run_that_no_file_makes_is_published_only_as_its_checks_saw_it(
    cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any
) -> None:
    """What it did: nobody saw that its branch had changed, nor that a hook was not called."""
    told: list[int] = []
    shop = load_pipeline(etl)
    shop.file = None
    shop.after_publish(lambda run: told.append(run.id))
    first = shop.run(lake, spark, publish=False)
    branch = lake.catalog().branch(first.branch)
    branch.table("marts.kept").append([{"id": 9}])
    assert cli("runs", "publish", "1").code == 10
    assert cli("runs", "resume", "1").code == 9
    second = shop.run(lake, spark, publish=False)
    published = cli("runs", "publish", str(second.id))
    assert (published.code, "after_publish: <lambda> waits for the pipeline's next run" in published.err) == (0, True)
    assert told == []
    shop.run(lake, spark).raise_for_status()
    assert told == [second.id]


def test_a_terminal_shows_what_goes_on_and_keeps_what_has_ended() -> None:
    """What it did: a run of an hour was silent until its first step had ended."""
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    board, run = Board(console), Run(42, "shop", "main", "run/42", "184")
    names = ("sales.orders", "sales.daily", "sales.with_a_name_that_is_longer_than_its_column_has_room_for")

    def tell(kind: Any, about: str, detail: Any = None) -> None:
        board.listen(Event(kind, about, run, detail))

    def drawn() -> str:
        with console.capture() as captured:
            console.print(board)
        return captured.get()

    tell("begin", "shop", names)
    tell("step", names[0])
    done = StepRun(names[0], "done", "update", "new", 48_120, 0, 12, timedelta(seconds=69))
    run.checks.append(CheckRun("price >= 0", names[0], "warn", False, 12))
    tell("done", names[0], done)
    tell("step", names[1])
    days = Schedule("day", "at", datetime(2026, 11, 1))
    tell("window", names[1], WindowMade(names[1], window_of(days, range(1, 2), {}), "late", 9, 2, 3))
    board.draw("append", Counts(tasks=4, tasks_done=3, rows_written=1_200_000), Goal(), 4.0)
    going, coming = drawn().splitlines()
    assert "sales.daily" in going and "2 of 3 windows  ━━━━━━━━──  75%  1.20 M rows  0:00" in going
    assert coming.strip() == f"· {names[2]}"
    tell("check", "unique(id)", 2)
    tell("checked", "unique(id)", CheckRun("unique(id)", names[0], "error", False, 3))
    assert "checks 1 of 2" in drawn()
    tell("end", "check_failed")
    assert drawn().strip() == ""
    kept = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert kept == [
        "shop  run 42 on run/42 from main #184",
        f"  ✓ sales.orders{' ' * 12}       48,120 rows   12 quarantined   1:09",
        "    ! sales.orders  price >= 0: 12 rows",
        "  ✗ sales.orders  unique(id): 3 rows",
        "  ✗ 0 of 2 checks passed",
    ]


CHAIN = """
from lakebed import pipelines as lp

shop = lp.Pipeline("shop", namespace="marts")


@shop.table(write="upsert", primary_key=["id"])
def kept(rows=lp.changes("sales.orders")):
    return rows.selectExpr("id", "price", "if(price < 0, 'delete', _change_type) as _change_type")


@shop.table
def doubled(kept):
    return kept.selectExpr("id", "price * {factor} as double").where("id > 0")


shop.check(lp.row_count("marts.doubled", min={least}))
"""


def test_lineage_goes_all_the_way_and_is_that_of_what_was_published(
    cli: Cli, lake: Lake, folder: Path, spark: Any
) -> None:
    """What it did: a run whose check failed was the newest, and `_change_type` was a column."""
    etl = folder / "chain_of_cli.py"

    def run(factor: str, least: int) -> int:
        etl.write_text(CHAIN.replace("{factor}", factor).replace("{least}", str(least)))
        return cli("run", "chain_of_cli.py").code

    assert run("2", 1) == 0
    published = lake.catalog().version
    found = cli("lineage", "marts.doubled.double", "--json").json
    named = [(row["hop"], row["table"], row["column"], row["input_table"], row["input_column"]) for row in found]
    assert named == [
        (1, "marts.doubled", "double", "marts.kept", "price"),
        (2, "marts.kept", "price", "sales.orders", "price"),
    ]
    down = cli("lineage", "sales.orders.price", "--down", "--json").json
    assert [(row["hop"], row["table"], row["column"]) for row in down] == [
        (1, "marts.kept", "price"),
        (2, "marts.doubled", "double"),
    ]
    assert "_change_type" not in cli("lineage", "marts.doubled").out + cli("lineage", "marts.kept").out
    assert len(cli("lineage", "marts.doubled.double", "--hops", "1", "--json").json) == 1
    assert run("id", 99) == 3
    assert [row["run"] for row in cli("lineage", "marts.doubled.double", "--json").json] == [1, 1]
    assert run("id", 1) == 0
    inputs = {row["input_column"] for row in cli("lineage", "marts.doubled.double", "--hops", "1", "--json").json}
    assert inputs == {"id", "price"}
    then = cli("lineage", "marts.doubled.double", "--hops", "1", "--at", str(published), "--json").json
    assert {row["input_column"] for row in then} == {"price"}
    assert cli("lineage", "marts.doubled.nothing").code == 7


def test_a_step_of_a_run_is_shown_with_its_inputs_and_rows(cli: Cli, lake: Lake, etl: str, spark: Any) -> None:
    assert cli("run", etl).code == 0
    shown = cli("runs", "show", "1", "--step", "marts.kept", "--rows", "-n", "2").lines
    assert "input\t  sales.orders #4" in shown
    assert [line.split("\t")[0] for line in shown[-4:]] == ["rows", "id", "1", "2"]
    assert not any("marts.counted" in line for line in shown if line.startswith("step"))
    [only] = cli("runs", "show", "1", "--step", "marts.counted", "--json").json
    assert [step["step"] for step in only["steps"]] == ["marts.counted"]
    assert cli("runs", "show", "1", "--step", "nothing").code == 7


def test_a_plan_says_where_the_code_is_that_changed(cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any) -> None:
    assert cli("run", etl).code == 0
    (folder / etl).write_text(ETL.replace("id >= {least}", "id > {least}"))
    lines = cli("plan", etl).lines
    assert next(line for line in lines if "code changed" in line).endswith("its code changed, etl_of_cli.py:7")


def test_advice_of_pipelines_speaks_of_options(cli: Cli, lake: Lake, etl: str, spark: Any) -> None:
    """What it did: the error about a run that goes on advised wait=True."""
    with held(lake, "shop"):
        met = cli("run", etl)
    assert (met.code, "or use --wait" in met.err, "wait=True" in met.err) == (6, True, False)
    assert "--full-refresh marts.kept" in in_words("Make all rows again: full_refresh='marts.kept'.")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["lines", "json"])
def test_who_reads_a_pipe_sees_what_happens_when_it_happens(
    cli: Cli, lake: Lake, etl: str, folder: Path, spark: Any, form: tuple[str, ...]
) -> None:
    """What it did: all lines came when the run had ended."""
    seen = 'assert b"run/1" in __import__("sys").stdout.buffer.getvalue() or not rows.count()'
    (folder / etl).write_text(ETL.replace("    if least > 5:", f"    {seen}\n    if least > 5:"))
    assert cli("run", etl, "--select", "kept", *form).code == 0
