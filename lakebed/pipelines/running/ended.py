"""What is done with a run that has stopped: it is published after a look, or given up."""

import json
from typing import TYPE_CHECKING

from lakebed.errors import Invalid
from lakebed.lake.lake import Lake
from lakebed.pipelines.records.journal import Journal, now
from lakebed.pipelines.running.publish import publish, published
from lakebed.pipelines.running.run import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    run = Run(journal.number, str(row["pipeline"]), target.ref, str(row["branch"]), str(row["base"]))
    run.published = published(target, journal.uuid)
    if run.published is None:
        message = f"{row['pipeline']} run {journal.number}"
        facts = {"name": row["pipeline"], "run": str(journal.number), "uuid": journal.uuid, "base": row["base"]}
        facts["params"] = json.loads(row["params"] or "{}")
        branch = target.branch(str(row["branch"]))
        result = publish(target, branch, spark, message, str(row["author"] or ""), journal.uuid, facts, {})
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
