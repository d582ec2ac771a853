"""What is done with a run that has stopped: it is finished, published after a look, or given up."""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from lakebed.catalog.inspect.runs import STEPS
from lakebed.errors import Forbidden, Invalid, NotFound
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
            waits = [key for key in waiting(journal) if key not in failed] if parts.hooks else []
            if not waits and not target.branch_exists(str(row["branch"])):
                continue
            run = run_of(journal, target)
            if run.published is not None:
                failed += finish(run, parts, target, spark, journal, lake, only=waits)
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


def check_complete(journal: Journal) -> None:
    """`Invalid` for a run that has more to do than to be published."""
    if journal.row["status"] not in ("ready", "published", "conflict"):
        raise Invalid(
            "only a run whose steps and checks have ended well can be published",
            subject=f"run {journal.number}",
            found=journal.row["status"],
            advice="Resume it.",
        )


def publish_ready(lake: Lake, journal: Journal, spark: "SparkSession | None" = None) -> Run:
    """Publish a run that is complete, without its pipeline: only if its branch is as its checks saw it.

    Hooks are not called: they wait for the pipeline's next run, or a resume of this one.
    """
    check_complete(journal)
    row = journal.row
    target = lake.catalog(f"{row['catalog']}@{row['into']}")
    run = run_of(journal, target)
    if run.published is None:
        branch, author = target.branch(str(row["branch"])), str(row["author"] or "")
        if str(branch.version) != row.get("checked"):
            raise Forbidden(
                "the branch has changed since the checks of the run, and nobody can check it again",
                subject=f"run {journal.number}",
                expected=f"{branch.ref} at #{row.get('checked') or 'an unknown version'}",
                found=f"#{branch.version}",
                advice=f"Resume it in the program that has its pipeline: resume={journal.number}.",
            )
        message = f"{row['pipeline']} run {journal.number}"
        result = publish(target, branch, spark, message, author, journal.uuid, summary(journal), {})
        run.published = result.commit
    if run.published is None:
        end_unchanged(run, target, journal)
        return run
    run.status = "published"
    journal.change(status=run.status, ended=now(), published=str(run.published.version), error=None)
    target.drop_branch(run.branch, if_exists=True)
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


def waiting(journal: Journal) -> list[str]:
    """The hooks of a run that were not called to their end."""
    ended = ("done", "skipped")
    return [
        one["step"] for one in journal.noted(STEPS) if one["step"].startswith(PREFIX) and one["status"] not in ended
    ]


def end_unchanged(run: Run, target: Catalog, journal: Journal) -> None:
    """Note that a run had nothing to publish: no hook waits for it."""
    run.status = "unchanged"
    for key in waiting(journal):
        journal.step(key, status="skipped", reason="nothing was published")
    journal.change(status=run.status, ended=now(), published=None, error=None)
    target.drop_branch(run.branch, if_exists=True)
