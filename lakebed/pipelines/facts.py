"""What is known of a table that a step wrote: properties of the table, which are merged and reverted with its rows."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from lakebed.lake.table import Table
from lakebed.pipelines.states import State

STEP = "pipeline.step"
WINDOWS = "pipeline.windows"


@dataclass(frozen=True, slots=True)
class Fact:
    """Which step of which run wrote a table last, with which code, from which states of its inputs.

    `run` is the run's uuid, so that the facts of two runs are never equal: equal properties would merge.
    """

    pipeline: str
    step: str
    run: str
    number: int
    code: str
    inputs: Mapping[str, State] = field(default_factory=dict)

    def text(self) -> str:
        """The fact as the property has it."""
        inputs = {name: state.document() for name, state in sorted(self.inputs.items())}
        document = {"pipeline": self.pipeline, "step": self.step, "run": self.run, "number": self.number}
        return json.dumps({**document, "code": self.code, "inputs": inputs})

    @classmethod
    def parse(cls, text: str) -> Self:
        """The fact that `text` wrote."""
        document: dict[str, Any] = json.loads(text)
        inputs = {name: State.parse(state) for name, state in document["inputs"].items()}
        return cls(
            document["pipeline"], document["step"], document["run"], int(document["number"]), document["code"], inputs
        )


@dataclass(frozen=True, slots=True)
class DoneWindows:
    """The windows that a table has, by the code that made them: numbers of windows, as runs of them."""

    run: str
    runs: tuple[tuple[int, int, str], ...] = ()

    def numbers(self, code: str) -> set[int]:
        """The windows that this code made."""
        return {number for first, last, by in self.runs if by == code for number in range(first, last + 1)}

    def with_made(self, numbers: Iterable[int], code: str, run: str) -> "DoneWindows":
        """The same with windows that were made now."""
        made = set(numbers)
        return self.without(made)._with(made, code, run)

    def without(self, numbers: set[int]) -> "DoneWindows":
        """The same without windows that have to be made again."""
        kept: dict[str, set[int]] = {}
        for first, last, code in self.runs:
            kept.setdefault(code, set()).update(set(range(first, last + 1)) - numbers)
        return replace(self, runs=tuple(run for code, left in kept.items() for run in _runs(left, code)))

    def _with(self, numbers: set[int], code: str, run: str) -> "DoneWindows":
        others = tuple(found for found in self.runs if found[2] != code)
        return DoneWindows(run, (*others, *_runs(self.numbers(code) | numbers, code)))

    def text(self) -> str:
        """The windows as the property has them."""
        return json.dumps({"run": self.run, "done": [list(run) for run in self.runs]})

    @classmethod
    def parse(cls, text: str) -> Self:
        """The windows that `text` wrote."""
        document = json.loads(text)
        return cls(document["run"], tuple((int(first), int(last), code) for first, last, code in document["done"]))


def fact_of(table: Table[Any]) -> Fact | None:
    """What is known of a table; None if no step wrote it."""
    text = table.properties.get(STEP)
    return None if text is None else Fact.parse(text)


def windows_of(table: Table[Any]) -> DoneWindows:
    """The windows that a table has."""
    text = table.properties.get(WINDOWS)
    return DoneWindows("") if text is None else DoneWindows.parse(text)


def _runs(numbers: set[int], code: str) -> Iterable[tuple[int, int, str]]:
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None:
            first = last = number
        elif number == last + 1:
            last = number
        else:
            yield first, last, code
            first = last = number
    if first is not None and last is not None:
        yield first, last, code
