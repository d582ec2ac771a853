"""The words that look at runs of pipelines: runs, lineage."""

import json
from pathlib import Path
from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.commands.pipeline import loaded, show_end
from lakebed.cli.run_lines import shown
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.errors import Invalid, NotFound
from lakebed.pipelines.records.journal import found as find_run
from lakebed.pipelines.records.lineage import made_of, walked
from lakebed.pipelines.running.ended import check_complete, discard, publish_ready, waiting

LISTED = ("id", "pipeline", "status", "into", "base", "published", "started", "ended", "error")


@word(
    "lakebed runs",
    "lakebed runs show 42",
    "lakebed runs show 42 --step sales.daily --rows -n 5",
    "lakebed runs resume 42",
    "lakebed runs publish 42",
    "lakebed runs discard 42",
    "lakebed runs --failed -n 5",
)
@click.argument("action", required=False, type=click.Choice(["show", "resume", "publish", "discard"]))
@click.argument("run", required=False, type=int, metavar="RUN")
@click.option("--failed", is_flag=True, help="Only runs that were not published.")
@click.option("--table", "-t", metavar="TABLE", help="Only runs with a step that makes this table.")
@click.option("--step", metavar="STEP", help="With show: only this step, with its inputs, windows and lineage.")
@click.option("--rows", is_flag=True, help="With show: some rows of what its steps made, as the run has them.")
@arguments.limit(20, "runs, or rows of each table,")
@with_session
def runs_word(
    session: Session,
    action: str | None,
    run: int | None,
    failed: bool,
    table: str | None,
    step: str | None,
    rows: bool,
    limit: int,
) -> int | None:
    """List the runs of pipelines, show one, go on with one that stopped, or give one up.

    `resume` and `publish` load the run's pipeline from its file, make what is left, and run the checks again.
    """
    if action is None:
        _list(session, failed, table, limit)
        return None
    if run is None:
        raise click.UsageError(f"Name the run: lakebed runs {action} 42")
    if action == "show":
        _show(session, run, step)
        if rows:
            _show_rows(session, run, step, limit)
        return None
    if action == "discard":
        journal = find_run(session.lake, run)
        session.output.confirm(f"Drop {journal.row['branch']} and give run {run} up?")
        discard(session.lake, journal)
        session.output.note(f"discarded run {run}")
        return None
    return _resume(session, run, action)


@word(
    "lakebed lineage sales.top",
    "lakebed lineage sales.top.total --hops 1",
    "lakebed lineage raw.orders --down",
    "lakebed lineage sales.top --at 184",
)
@click.argument("name", metavar="TABLE[.COLUMN]")
@click.option("--up/--down", "up", default=True, help="What it was made from, or what was made from it.")
@click.option("--hops", type=click.IntRange(1), metavar="N", help="How far to go; all the way, if it is not given.")
@with_session
def lineage_word(session: Session, name: str, up: bool, hops: int | None) -> None:
    """Show what a table or a column was made from, and what that was made from, as the runs noted that made them.

    A row without a column is about what decided which rows there are: filters, joins, groups.
    """
    rows, _ = made_of(session.line)
    found = list(walked(rows, name, down=not up, hops=hops))
    if not found:
        raise NotFound(
            "no run that made a table of this branch has noted this table or column",
            subject=name,
            advice="`lakebed inspect __lineage` lists what all runs have noted.",
        )
    columns = ("table", "column", "input_table", "input_column", "input_version", "run", "hop")
    session.output.rows(columns, [[row[column] or None for column in columns] for row in found])


def _resume(session: Session, number: int, action: str) -> int:
    """Go on with a run by its pipeline's file. One that no file makes is published as its checks saw it, or refused."""
    journal = find_run(session.lake, number)
    row = journal.row
    if action == "publish":
        check_complete(journal)
    if row["file"] is None:
        if action == "resume":
            raise Invalid(
                "no file makes the run's pipeline",
                subject=f"run {number} of {row['pipeline']}",
                advice=f"Resume it in the program that has its pipeline: resume={number}.",
            )
        run = publish_ready(session.lake, journal)
        for hook in waiting(journal):
            session.output.note(f"{hook} waits for the pipeline's next run")
        return show_end(session, run)
    if not Path(row["file"]).is_file():
        raise NotFound(
            "the file that makes the run's pipeline is not there any more",
            subject=f"run {number}, {row['file']}",
            advice=f"Name the one that makes it now: `lakebed run etl.py --resume {number}`",
        )
    with loaded(session, row["file"], row["into"], needs_spark=True, called=row["pipeline"]) as (pipeline, spark):
        assert spark is not None
        with shown(session.output, session.lake) as listener:
            run = pipeline.run(session.lake, spark, resume=number, listener=listener)
    return show_end(session, run)


def _list(session: Session, failed: bool, table: str | None, limit: int) -> None:
    rows = session.line.inspect("__runs").to_pylist()
    if failed:
        rows = [row for row in rows if row["status"] not in ("published", "unchanged", "running")]
    if table is not None:
        made = {row["run"] for row in session.line.inspect("__steps").to_pylist() if row["step"] == table}
        rows = [row for row in rows if row["id"] in made]
    newest = sorted(rows, key=lambda row: row["id"], reverse=True)[:limit]
    session.output.rows(LISTED, [[row[name] for name in LISTED] for row in newest])


def _show(session: Session, run: int, only: str | None) -> None:
    rows = session.line.inspect("__runs", where=f"id = {run}").to_pylist()
    if not rows:
        raise NotFound("there is no such run", subject=f"run {run}", advice="`lakebed runs` lists them.")
    steps, checks, windows = (
        session.line.inspect(name, where=f"run = {run}").to_pylist() for name in ("__steps", "__checks", "__windows")
    )
    if only is not None:
        steps = [step for step in steps if step["step"] == only]
        windows = [window for window in windows if window["step"] == only]
        checks = [check for check in checks if check["table"] == only]
        if not steps:
            raise NotFound("the run has no such step", subject=f"run {run}, step {only}", advice="Leave --step out.")
    if session.output.is_json:
        session.output.json({**rows[0], "steps": steps, "checks": checks, "windows": windows})
        return
    session.output.record({name: value for name, value in rows[0].items() if value is not None and name != "code"})
    for step in steps:
        session.output.line("step", _step_text(step))
        if only is not None:
            for name, state in sorted(json.loads(step["inputs"] or "{}").items()):
                session.output.line("input", f"  {name} #{state['version']}")
    for window in windows if only is not None else ():
        session.output.line("window", f"  {window['window']}: {window['rows']:,} rows  {window['reason']}")
    for check in checks:
        session.output.line("check", _check_text(check))
        for example in json.loads(check["examples"] or "[]")[:3]:
            session.output.line("row", f"  {example}")


def _show_rows(session: Session, run: int, only: str | None, limit: int) -> None:
    """Rows of the tables that the run's steps made: on its branch, or as it published them."""
    row = find_run(session.lake, run).row
    line = session.lake.catalog(f"{row['catalog']}@{row['into']}")
    if row["published"] is not None:
        line = line.at(version=int(row["published"]))
    elif line.branch_exists(str(row["branch"])):
        line = line.branch(str(row["branch"]))
    else:
        raise NotFound("the run was not published, and its branch is gone", subject=f"run {run}", advice="")
    steps = session.line.inspect("__steps", where=f"run = {run}").to_pylist()
    for step in steps:
        if step["status"] == "done" and line.table_exists(step["step"]) and only in (None, step["step"]):
            rows = line.table(step["step"]).scan(limit=limit).to_arrow()
            session.output.line("rows", f"of {step['step']}:")
            session.output.data(rows.schema.names, (tuple(one.values()) for one in rows.to_pylist()))


def _step_text(step: dict[str, Any]) -> str:
    counts = [
        f"{step[name]:,} {what}"
        for name, what in (("rows", "rows"), ("dropped", "dropped"), ("quarantined", "quarantined"))
        if step[name]
    ]
    return "  ".join([f"{step['step']}: {step['status']}", step["reason"] or "", *counts, step["error"] or ""]).strip()


def _check_text(check: dict[str, Any]) -> str:
    sign = "✓" if check["passed"] else "✗"
    failed = f": {check['failed']:,} rows" if check["failed"] else ""
    return f"{sign} {check['check']}{failed} {check['message'] or ''}".rstrip()
