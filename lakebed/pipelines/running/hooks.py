"""Calling hooks after a run was published: each at least once, with the changes since it was last called."""

from collections.abc import Collection, Mapping, Sequence
from time import sleep
from typing import Any

from pyspark.sql import SparkSession

from lakebed.errors import LakebedError, StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.hooks import Hook
from lakebed.pipelines.inputs import Changed, Given, Input, Read
from lakebed.pipelines.parts import Parts
from lakebed.pipelines.records.journal import Journal, now
from lakebed.pipelines.running.frames import Frames, Positions
from lakebed.pipelines.running.run import Run
from lakebed.pipelines.running.step import PAUSE

PREFIX = "after_publish: "
"""How a hook's name begins among the steps of a run."""


def note_waiting(hooks: Sequence[Hook], journal: Journal) -> None:
    """Note that hooks have to be called once the run is published, whatever becomes of this process."""
    for hook in hooks:
        journal.step(PREFIX + hook.name, status="waiting", action="hook")


def run_hooks(
    parts: Parts,
    target: Catalog,
    spark: SparkSession,
    run: Run,
    journal: Journal,
    lake: Lake,
    *,
    only: Collection[str] | None = None,
) -> list[str]:
    """Call the hooks that did not yet end for this run; the names of those that failed.

    Their errors are noted and are the run's `error`, but the run is published. `only` are those that wait.
    """
    noted, failed = journal.noted_steps(), list[str]()
    for hook in parts.hooks:
        key = PREFIX + hook.name
        if noted.get(key, {}).get("status") == "done" or (only is not None and key not in only):
            continue
        journal.step(key, status="running", action="hook", started=now())
        try:
            _call(hook, parts, target, spark, run, lake)
        except Exception as error:
            lines = str(error).strip().splitlines()
            text = f"{type(error).__name__}: {lines[0] if lines else ''}"
            journal.step(key, status="failed", ended=now(), error=text)
            failed.append(key)
            run.error = run.error or StepFailed(
                text, subject=key, advice=f"Run {run.id} is published. The next run, or a resume, calls it again."
            )
        else:
            journal.step(key, status="done", ended=now(), error=None)
    return failed


def _call(hook: Hook, parts: Parts, target: Catalog, spark: SparkSession, run: Run, lake: Lake) -> None:
    frames = Frames(parts.graph, spark, target, target, parts.params, run, lake)
    arguments: dict[str, Any] = {}
    positions = []
    for parameter, source in hook.inputs.items():
        if isinstance(source, Changed):
            consumer = target.table(source.name).consumer(f"pipeline.{run.pipeline}.{hook.name}")
            changes = consumer.changes(net=source.net)
            positions.append((consumer, changes))
            arguments[parameter] = changes.read(spark)
        else:
            arguments[parameter] = _value(source, parts, frames, {"run": run, "spark": spark, "lake": lake})
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


def _value(source: Given | Input, parts: Parts, frames: Frames, special: Mapping[str, Any]) -> Any:
    if not isinstance(source, Given):
        return frames.value(source, Positions())
    known = {**special, **parts.params}
    if source.name in known:
        return known[source.name]
    step = parts.graph.called(source.name)
    assert step is not None, "parts have checked the parameters"
    return frames.value(Read(step.outputs[0] if step.outputs else step.name), Positions())
