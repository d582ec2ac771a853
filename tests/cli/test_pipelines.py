"""Pipelines from the command line: plans, graphs, runs and what they noted; exit codes for Airflow and cron."""

from pathlib import Path
from typing import Any

import pytest

from lakebed.lake.lake import Lake
from lakebed.pipelines.records import journal
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
    assert cli("runs", "--json").json[0]["pipeline"] == "marts"
    (folder / "project" / "kept.sql").write_text("CREATE MATERIALIZED VIEW kept AS SELECT * FROM sales.orderz")
    wrong = cli("run", "project")
    assert (wrong.code, "kept.sql:1" in wrong.err, "Did you mean sales.orders?" in wrong.err) == (9, True, True)
    assert "Traceback" not in wrong.err
