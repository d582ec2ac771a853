"""What is done with a run that has stopped: it is finished, published after a look, or given up."""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from lakebed.catalog.inspect.runs import STEPS
from lakebed.errors import Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.records.journal import Journal, now, of_pipeline
from lakebed.pipelines.records.process import is_gone
from lakebed.pipelines.running.hooks import PREFIX, run_hooks
from lakebed.pipelines.running.publish import publish, published
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.running.summary import summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = ("step_failed", "check_failed", "conflict", "interrupted", "ready")
"""How a run stands that was not published, and may be resumed."""


def tidy(lake: Lake, spark: "SparkSession", parts: Parts, keep: timedelta) -> None:
    """What earlier runs of a pipeline have left to do, since their driver died: a new run does it before it begins.

    Those that were published are noted, their hooks called and their branches dropped. The branch of one that was not
    is dropped after a while.
    """
    failed: list[str] = []
    for journal in of_pipeline(lake, parts.name):
        row = journal.row
        with suppress(NotFound):  # the branch that it published into is gone
            target = lake.catalog(f"{row['catalog']}@{row['into']}")
            waiting = [one["step"] for one in journal.noted(STEPS) if _waits(one)] if parts.hooks else []
            waiting = [key for key in waiting if key not in failed]
            if not waiting and not target.branch_exists(str(row["branch"])):
                continue
            run = run_of(journal, target)
            if run.published is not None:
                failed += finish(run, parts, target, spark, journal, lake, only=waiting)
            elif row["status"] in FAILED and row["ended"] is not None and now() - row["ended"] > keep:
                discard(lake, journal)
            elif row["status"] == "running" and is_gone(row.get("process")):
                journal.change(status="interrupted", ended=now(), error="its process ended")


def finish(
    run: Run,
    parts: Parts,
    target: Catalog,
    spark: "SparkSession",
    journal: Journal,
    lake: Lake,
    *,
    only: list[str] | None = None,
) -> list[str]:
    """What comes after the merge: it is noted, hooks are called, the branch is dropped. The hooks that failed."""
    version = None if run.published is None else str(run.published.version)
    if journal.row["status"] != "published":
        journal.change(status="published", ended=now(), published=version, error=None)
    run.status = "published"
    failed = run_hooks(parts, target, spark, run, journal, lake, only=only)
    target.drop_branch(run.branch, if_exists=True)
    return failed


def run_of(journal: Journal, target: Catalog) -> Run:
    """The run that a journal is of, and its commit if it is published."""
    row = journal.row
    run = Run(journal.number, str(row["pipeline"]), target.ref, str(row["branch"]), str(row["base"]))
    run.published = published(target, journal.uuid)
    return run


def publish_ready(lake: Lake, journal: Journal, spark: "SparkSession | None" = None) -> Run:
    """Publish a run that is complete, as its branch is now; hooks are not called: resume the run for that."""
    row = journal.row
    if row["status"] not in ("ready", "published", "conflict"):
        raise Invalid(
            "only a run whose steps and checks have ended well can be published",
            subject=f"run {journal.number}",
            found=row["status"],
            advice="Resume it.",
        )
    target = lake.catalog(f"{row['catalog']}@{row['into']}")
    run = run_of(journal, target)
    if run.published is None:
        branch, author = target.branch(str(row["branch"])), str(row["author"] or "")
        message = f"{row['pipeline']} run {journal.number}"
        result = publish(target, branch, spark, message, author, journal.uuid, summary(journal), {})
        run.published = result.commit
    run.status = "published" if run.published is not None else "unchanged"
    version = None if run.published is None else str(run.published.version)
    journal.change(status=run.status, ended=now(), published=version, error=None)
    target.drop_branch(str(row["branch"]), if_exists=True)
    return run


def discard(lake: Lake, journal: Journal) -> None:
    """Give a run up: its branch is dropped, and the run says so."""
    row = journal.row
    target = lake.catalog(f"{row['catalog']}@{row['into']}")
    if published(target, journal.uuid) is not None:
        raise Invalid(
            "the run is published",
            subject=f"run {journal.number}",
            advice="Undo its commit: catalog.revert(…).",
        )
    target.drop_branch(str(row["branch"]), if_exists=True, message=f"run {journal.number} was discarded")
    journal.change(status="discarded", ended=now())


def _waits(step: dict[str, object]) -> bool:
    return str(step["step"]).startswith(PREFIX) and step["status"] != "done"
