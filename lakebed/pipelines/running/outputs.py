"""What a step's function answered: rows for each of its tables."""

from collections.abc import Iterator
from typing import Any

from lakebed.errors import Invalid
from lakebed.pipelines.rows import Rows
from lakebed.pipelines.running.frames import checked_frame
from lakebed.pipelines.running.writing import Output
from lakebed.pipelines.steps import Step


def outputs_of(step: Step, answer: Any) -> list[Output]:
    """The rows for each table, in the order of the tables; `Invalid` for anything else."""
    if len(step.outputs) == 1 and not _is_of_rows(answer):
        return [Output(step, step.outputs[0], checked_frame(step, answer))]
    listed = list(answer) if _is_of_rows(answer) and not isinstance(answer, Rows) else [answer]
    given = {_table(step, one.table): one.frame for one in listed if isinstance(one, Rows)}
    if len(given) != len(listed) or set(given) != set(step.outputs):
        raise Invalid(
            "a step of several tables yields lp.rows(table, frame) for each of them, once",
            subject=f"step {step.name}",
            expected=", ".join(step.outputs),
            found=", ".join(one.table if isinstance(one, Rows) else type(one).__name__ for one in listed) or "nothing",
        )
    return [Output(step, name, checked_frame(step, given[name])) for name in step.outputs]


def _is_of_rows(answer: Any) -> bool:
    """Whether a function yields its rows, or answers a list of them."""
    if isinstance(answer, list | tuple):
        return any(isinstance(one, Rows) for one in answer)
    return isinstance(answer, Rows | Iterator)


def _table(step: Step, name: str) -> str:
    """The table that a name means: its own, or that without the namespace."""
    found = [one for one in step.outputs if name in (one, one.rpartition(".")[2])]
    return found[0] if len(found) == 1 else name
