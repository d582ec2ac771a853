"""Running the checks of a pipeline on the branch of a run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from pyspark.sql import DataFrame

from lakebed.errors import Invalid
from lakebed.pipelines.checks import EXAMPLES, Check, Result, Seen
from lakebed.pipelines.inputs import Given, Read
from lakebed.pipelines.running.frames import Frames, Positions
from lakebed.pipelines.running.run import CheckRun
from lakebed.pipelines.steps import INPUTS

NONE = Positions()


def run_check(check: Check, frames: Frames, written: Mapping[str, str]) -> CheckRun:
    """What a check finds. `written` are conditions on the windows that the run made, by table."""
    found = _answer(check, frames, None if check.whole else written.get(check.table))
    if isinstance(found, bool):
        found = Result(found)
    if isinstance(found, Result):
        value = None if found.value is None else str(found.value)
        return CheckRun(check.name, check.table, check.severity, bool(found.passed), None, value, found.message)
    bad = [row.asDict(recursive=True) for row in found.limit(EXAMPLES).collect()]
    count = len(bad) if len(bad) < EXAMPLES else found.count()
    return CheckRun(check.name, check.table, check.severity, not bad, count, examples=bad)


def examples_text(rows: Any) -> str | None:
    """Bad rows as the journal keeps them."""
    return json.dumps(list(rows), default=str) if rows else None


def own_arguments(check: Check, frames: Frames) -> Iterator[tuple[str, Any]]:
    """The parameters of a function that checks, with their values."""
    for parameter, source in check.inputs.items():
        if isinstance(source, INPUTS):
            yield parameter, frames.frame(source, NONE)
            continue
        assert isinstance(source, Given)
        if source.name in frames.params:
            yield parameter, frames.params[source.name]
        elif source.name == "spark":
            yield parameter, frames.spark
        elif source.name in ("run", "lake"):
            yield parameter, frames.run if source.name == "run" else frames.lake
        else:
            yield parameter, frames.frame(Read(_table_of(check, source.name, frames)), NONE)


def _answer(check: Check, frames: Frames, where: str | None) -> bool | Result | DataFrame:
    if check.function is not None:
        answer = check.function(**dict(own_arguments(check, frames)))
    else:
        assert check.test is not None
        rows = frames.frame(Read(check.table), NONE)

        def table(name: str) -> DataFrame:
            return frames.frame(Read(name), NONE)

        def published() -> DataFrame | None:
            there = frames.published.table_exists(check.table)
            return frames.published.table(check.table).read(frames.spark) if there else None

        answer = check.test(Seen(frames.spark, rows if where is None else rows.where(where), published, table))
    if isinstance(answer, bool | Result) or _is_frame(answer):
        return answer
    raise Invalid(
        "a check answers a bool, a DataFrame of bad rows, or lp.Result(…)",
        subject=f"check {check.name}",
        found=type(answer).__name__,
    )


def _table_of(check: Check, name: str, frames: Frames) -> str:
    for step in frames.graph.steps.values():
        if name in (step.short_name, step.name):
            return step.outputs[0] if step.outputs else step.name
    if name in ("rows", check.table.rpartition(".")[2]):
        return check.table
    raise Invalid(f"nothing is called {name!r}", subject=f"check {check.name}")


def _is_frame(answer: object) -> TypeGuard[DataFrame]:
    return any(kind.__name__ == "DataFrame" for kind in type(answer).__mro__)
