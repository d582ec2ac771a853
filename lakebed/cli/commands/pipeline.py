"""The words that work on pipelines: plan, run, graph, quarantine."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli import arguments
from lakebed.cli.advice import in_words
from lakebed.cli.failures import exit_code
from lakebed.cli.run_lines import end_line, run_fields, shown
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.errors import Invalid
from lakebed.pipelines.declarative.spec import read_spec, spec_path
from lakebed.pipelines.expectations import QUARANTINE
from lakebed.pipelines.files import is_project, load_pipeline, spark_pipeline
from lakebed.pipelines.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.pipelines.plan import Plan
    from lakebed.pipelines.running.run import Run


def _selecting(function: Any) -> Any:
    """What `plan` and `run` take."""
    for option in (
        click.option("--force", is_flag=True, help="Run steps although nothing changed."),
        click.option("--full-refresh", multiple=True, metavar="STEP", help="Make it from all rows, not from new ones."),
        click.option("--to", "last", metavar="TIME", help="The last window to make."),
        click.option("--from", "first", metavar="TIME", help="The first window to make."),
        click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the pipeline."),
        click.option("--into", default="main", show_default=True, metavar="BRANCH", help="Where to publish."),
        click.option("--changed", is_flag=True, help="Only steps whose code changed, and what reads them."),
        click.option("--exclude", metavar="STEPS", help="Leave these out."),
        click.option(
            "--select", metavar="STEPS", help="Steps, patterns, tag:x; +x with what it reads, x+ with readers."
        ),
    ):
        function = option(function)
    return function


@word(
    "lakebed plan etl.py",
    "lakebed plan etl.py --select '+sales.daily'",
    "lakebed plan etl.py --types",
    "lakebed plan spark-pipeline.yml",
)
@click.argument("file", metavar="FILE")
@click.option("--types", is_flag=True, help="Start Spark, and check types and contracts of the whole graph.")
@_selecting
@with_session
def plan_word(session: Session, file: str, types: bool, **asked: Any) -> int:
    """Show what a run of a pipeline would do, and why. Nothing is changed.

    FILE is Python, or the spec or the folder of a project of Spark Declarative Pipelines: then Spark is started.
    """
    with loaded(session, file, asked["into"], needs_spark=types) as (pipeline, spark):
        found = pipeline.plan(session.lake, spark if types else None, **_asked(pipeline, asked))
    return _show_plan(session, found)


def _show_plan(session: Session, found: "Plan") -> int:
    """What a run would do, and the exit code of what would keep it from being published."""
    if session.output.is_json:
        for step in found.steps:
            session.output.json(
                {
                    "step": step.name,
                    "action": step.action,
                    "reason": step.decision.reason,
                    "inputs": list(step.inputs),
                    "windows": list(step.windows),
                    "columns": list(map(str, step.columns)),
                    "readers": list(step.readers),
                    "problem": None if step.problem is None else str(step.problem),
                    "doubt": step.doubt,
                }
            )
    else:
        session.output.text(str(found))
    return 0 if found.ok else exit_code(next((step.problem for step in found.steps if step.problem), Invalid("")))


@word(
    "lakebed run etl.py",
    "lakebed run etl.py --select 'orders+ tag:core' --no-publish",
    "lakebed run etl.py --resume 42",
    "lakebed run spark-pipeline.yml --full-refresh sales.orders",
)
@click.argument("file", metavar="FILE")
@_selecting
@click.option("--no-publish", is_flag=True, help="Leave the branch for a look; `lakebed runs publish` publishes it.")
@click.option("--no-checks", is_flag=False, flag_value="*", metavar="[NAME]", help="Leave all checks out, or one.")
@click.option(
    "--resume", is_flag=False, flag_value="last", metavar="[RUN]", help="Go on with the last run, or another."
)
@click.option("--retry", multiple=True, metavar="STEP", help="Give it the rows of its quarantine again.")
@click.option("--breaking", is_flag=True, help="Publish although columns go that somebody reads.")
@click.option("--serializable", is_flag=True, help="Run again if others change an input before it is published.")
@click.option("--wait", is_flag=True, help="Wait while another run of the pipeline goes on.")
@click.option("--openlineage", metavar="URL|FILE", help="Send OpenLineage's events to a server or a file.")
@click.option("--dry-run", is_flag=True, help="Only plan, with types.")
@click.pass_context
@with_session
def run_word(
    session: Session,
    context: click.Context,
    file: str,
    no_publish: bool,
    no_checks: str | None,
    resume: str | None,
    retry: tuple[str, ...],
    breaking: bool,
    serializable: bool,
    wait: bool,
    openlineage: str | None,
    dry_run: bool,
    **asked: Any,
) -> int:
    """Run a pipeline on a branch, check what it made, and publish it by one merge; or leave the branch and say why.

    FILE is Python, or the spec or the folder of a project of Spark Declarative Pipelines.
    """
    with loaded(session, file, asked["into"], needs_spark=True) as (pipeline, spark):
        if dry_run:
            return _show_plan(session, pipeline.plan(session.lake, spark, **_asked(pipeline, asked)))
        assert spark is not None
        with shown(session.output, session.lake) as listener:
            run = pipeline.run(
                session.lake,
                spark,
                **_asked(pipeline, asked),
                resume=True if resume == "last" else None if resume is None else _number(resume),
                publish=not no_publish,
                retry=list(retry) or None,
                isolation="serializable" if serializable else "snapshot",
                no_checks=True if no_checks == "*" else no_checks,
                breaking=breaking,
                wait=wait,
                listener=listener,
                openlineage=openlineage,
            )
    return show_end(session, run)


@word("lakebed graph etl.py", "lakebed graph etl.py --svg graph.svg")
@click.argument("file", metavar="FILE")
@click.option("--svg", metavar="FILE", help="Write it as a picture.")
@with_session
def graph_word(session: Session, file: str, svg: str | None) -> None:
    """Show which step of a pipeline reads which: as Mermaid's text, or as a picture."""
    with loaded(session, file, "main", needs_spark=False) as (pipeline, _):
        found = pipeline.graph()
    if svg is not None:
        Path(svg).write_text(found._repr_svg_(), encoding="utf-8")
        session.output.note(f"wrote {svg}")
    else:
        session.output.text(found.mermaid())


@word(
    "lakebed quarantine sales.orders",
    "lakebed quarantine sales.orders --retry etl.py",
    "lakebed quarantine sales.orders --clear",
)
@click.argument("table", metavar="TABLE")
@arguments.limit(20)
@click.option("--clear", is_flag=True, help="Delete the rows, after asking.")
@click.option("--retry", "file", metavar="FILE", help="Run the pipeline, and give its step these rows again.")
@with_session
def quarantine_word(session: Session, table: str, limit: int, clear: bool, file: str | None) -> int:
    """Show the rows that a table's step has put aside, with what they failed and the run that found them."""
    kept = session.table(f"{table}{QUARANTINE}")
    if clear:
        session.output.confirm(f"Delete all rows of {table}{QUARANTINE}?")
        session.output.commit(kept.truncate(), f"cleared {table}{QUARANTINE}")
        return 0
    if file is not None:
        with (
            loaded(session, file, session.line.ref, needs_spark=True) as (pipeline, spark),
            shown(session.output, session.lake) as listener,
        ):
            assert spark is not None
            run = pipeline.run(session.lake, spark, into=session.line.ref, retry=table, listener=listener)
        return show_end(session, run)
    rows = kept.scan(limit=limit).to_arrow()
    session.output.data(rows.schema.names, (tuple(row.values()) for row in rows.to_pylist()))
    return 0


def show_end(session: Session, run: "Run") -> int:
    """How a run ended, and its exit code."""
    if session.output.is_json:
        session.output.json(run_fields(session.lake, run))
    elif not session.output.is_quiet:
        said = end_line(session.lake, run)
        if said:
            session.output.text(said)
    if run.error is not None:
        if not session.output.is_json:
            click.echo(f"{run.status.replace('_', ' ')}: {in_words(str(run.error))}", err=True)
            if run.published is None:
                click.echo(f"Look at it: lakebed ls --on {run.branch}; go on: lakebed runs resume {run.id}", err=True)
        return exit_code(run.error)
    return 0


@contextmanager
def loaded(
    session: Session, file: str, into: str, *, needs_spark: bool, called: str | None = None
) -> Iterator[tuple[Pipeline, "SparkSession | None"]]:
    """The pipeline of a file or a project, and Spark if it is needed: a project is known by what Spark says of it.

    Of a file that makes several, `called` says which.
    """
    if not is_project(file):
        pipeline = load_pipeline(file, called)
        if not needs_spark:
            yield pipeline, None
            return
        with _sparks(session, {}, None) as spark:
            yield pipeline, spark
        return
    spec = read_spec(spec_path(Path(file)))
    with _sparks(session, spec.configuration or {}, spec.folder) as spark:
        pipeline = spark_pipeline(spec.path, session.lake, spark, into=into)
        for note in pipeline.notes:
            session.output.note(note)
        yield pipeline, spark


@contextmanager
def _sparks(session: Session, settings: Mapping[str, str], folder: Path | None) -> Iterator["SparkSession"]:
    """A session of Spark: the one that runs here, else a new one that ends with the word."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    spark = running or _spark(session, settings, folder)
    try:
        yield spark
    finally:
        if running is None:
            spark.stop()


def _spark(session: Session, settings: Mapping[str, str], folder: Path | None) -> "SparkSession":
    """A new session, whose relative paths begin at the folder."""
    from lakebed.cli.commands.sql import SETTINGS
    from lakebed.spark import session as spark_session

    before = Path.cwd()
    with session.output.working("starting Spark"):
        try:
            os.chdir(folder or before)
            return spark_session(None, **{**SETTINGS, **settings})
        finally:
            os.chdir(before)


def _asked(pipeline: Pipeline, asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Pipeline.plan` and `run`, as options say them."""
    return {
        "into": asked["into"],
        "select": asked["select"],
        "exclude": asked["exclude"],
        "changed": asked["changed"],
        "params": dict(_param(pipeline, text) for text in asked["params"]),
        "from_": asked["first"],
        "to": asked["last"],
        "full_refresh": list(asked["full_refresh"]) or None,
        "force": asked["force"],
    }


def _param(pipeline: Pipeline, text: str) -> tuple[str, Any]:
    """A parameter, in the type of its value in the pipeline."""
    name, is_given, value = text.partition("=")
    if not is_given:
        raise click.UsageError(f"A parameter is NAME=VALUE, not {text!r}.")
    known = pipeline.params.get(name)
    if known is None or isinstance(known, str):
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        raise click.UsageError(f"{name} is a {type(known).__name__}: {value!r} is not one.") from None


def _number(text: str) -> int:
    if not text.isdigit():
        raise click.UsageError(f"A run is named by its number, not {text!r}.")
    return int(text)
