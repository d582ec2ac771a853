"""Running the checks of a pipeline on the branch of a run."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from lakebed.errors import Corrupt, Expired, Invalid, OutcomeUnknown, Unavailable
from lakebed.pipelines.checks import EXAMPLES, Check, Result, Seen
from lakebed.pipelines.inputs import Given, Read
from lakebed.pipelines.running.frames import Frames, Positions, is_frame
from lakebed.pipelines.running.run import CheckRun
from lakebed.pipelines.steps import INPUTS

NONE = Positions()
NOT_ITS_OWN = (Unavailable, OutcomeUnknown, Corrupt, Expired)
"""Errors that say nothing about what is checked."""


def run_check(check: Check, frames: Frames, written: Mapping[str, str]) -> CheckRun:
    """What a check finds; one that raises has failed. `written` are conditions on the windows of the run, by table."""
    try:
        return _run(check, frames, None if check.whole else written.get(check.table))
    except NOT_ITS_OWN:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        message = f"{type(error).__name__}: {lines[0] if lines else ''}"
        return CheckRun(check.name, check.table, check.severity, False, message=message)


def _run(check: Check, frames: Frames, where: str | None) -> CheckRun:
    found = _answer(check, frames, where)
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


def own_arguments(check: Check, frames: Frames, where: str | None) -> Iterator[tuple[str, Any]]:
    """The parameters of a function that checks, with their values; of its own table only the rows of the windows."""
    for parameter, source in check.inputs.items():
        if isinstance(source, INPUTS):
            rows = frames.value(source, NONE)
            is_own = source.name == check.table and not (isinstance(source, Read) and source.at is not None)
            yield parameter, rows if where is None or not is_own else rows.where(where)
            continue
        assert isinstance(source, Given)
        special = {"spark": frames.spark, "run": frames.run, "lake": frames.lake, **frames.params}
        if source.name in special:
            yield parameter, special[source.name]
            continue
        step = frames.graph.called(source.name)
        name = check.table if step is None else step.outputs[0] if step.outputs else step.name
        rows = frames.value(Read(name), NONE)
        yield parameter, rows if where is None or name != check.table else rows.where(where)


def _answer(check: Check, frames: Frames, where: str | None) -> bool | Result | DataFrame:
    if check.function is not None:
        answer = check.function(**dict(own_arguments(check, frames, where)))
    else:
        assert check.test is not None
        rows = frames.value(Read(check.table), NONE)

        def table(name: str) -> DataFrame:
            return frames.value(Read(name), NONE)

        def published() -> DataFrame | None:
            there = replace(frames, line=frames.published)
            return there.value(Read(check.table), NONE) if there.has(check.table) else None

        answer = check.test(Seen(frames.spark, rows if where is None else rows.where(where), published, table))
    if isinstance(answer, bool | Result) or is_frame(answer):
        return answer
    raise Invalid(
        "a check answers a bool, a DataFrame of bad rows, or lp.Result(…)",
        subject=f"check {check.name}",
        found=type(answer).__name__,
    )
