"""Calling hooks after a run was published: each at least once, with the changes since it was last called."""

from collections.abc import Mapping, Sequence
from time import sleep
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import Invalid, LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Changed, Given, Read
from lakebed.pipelines.records.journal import Journal, now
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.running.step import PAUSE


def run_hooks(
    hooks: Sequence[Hook],
    target: Catalog,
    spark: SparkSession,
    run: Run,
    params: Mapping[str, Any],
    journal: Journal,
    lake: Lake,
) -> None:
    """Call the hooks that did not yet end for this run. Their errors are noted: the run is published."""
    noted = journal.noted_steps()
    for hook in hooks:
        key = f"after_publish: {hook.name}"
        if noted.get(key, {}).get("status") == "done":
            continue
        journal.step(key, status="running", action="hook", started=now())
        try:
            _call(hook, target, spark, run, params, lake)
        except Exception as error:
            journal.step(key, status="failed", ended=now(), error=str(error))
        else:
            journal.step(key, status="done", ended=now())


def _call(hook: Hook, target: Catalog, spark: SparkSession, run: Run, params: Mapping[str, Any], lake: Lake) -> None:
    special = {"run": run, "spark": spark, "lake": lake, **params}
    arguments: dict[str, Any] = {}
    positions = []
    for parameter, source in hook.inputs.items():
        if isinstance(source, Given):
            if source.name not in special:
                raise Invalid(f"nothing is called {source.name!r}", subject=f"hook {hook.name}")
            arguments[parameter] = special[source.name]
        elif isinstance(source, Changed):
            consumer = target.table(source.name).consumer(f"pipeline.{run.pipeline}.{hook.name}")
            changes = consumer.changes(net=source.net)
            positions.append((consumer, changes))
            arguments[parameter] = changes.read(spark)
        else:
            where, columns = (source.where, source.columns) if isinstance(source, Read) else (None, None)
            arguments[parameter] = target.table(source.name).read(spark, where, columns)
    for attempt in range(hook.retries + 1):
        try:
            hook.function(**arguments)
            break
        except LakebedError:
            raise
        except Exception:
            if attempt == hook.retries:
                raise
            sleep(PAUSE * 2**attempt)
    for consumer, changes in positions:
        consumer.advance(changes, message=f"{run.pipeline}: {hook.name} was called for run {run.id}")
