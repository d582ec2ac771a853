"""Journals: what one process did to a lake and was answered, synced to a file of its own before and after each call.

A killed process leaves an intent without an answer: the call may have taken effect. Times are of the machine's
monotonic clock, which all processes share, and which no shim moves.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from typing import Any

from torture.histories.deeds import Deed

COMMITTED, REFUSED, UNKNOWN, NOTHING, BROKEN = "committed", "refused", "unknown", "nothing", "broken"
"""Outcomes. `nothing`: the call changed nothing, and made no commit. `broken`: an error that is not Lakebed's."""


@dataclass(frozen=True, slots=True)
class Read:
    """What was seen: a table's rows, those of a filter, or the tables of a line by id."""

    kind: str
    subject: str
    values: tuple[Any, ...]


Step = Deed | Read


@dataclass(frozen=True, slots=True)
class Entry:
    """A call, or a transaction of several steps; `verb` says what kind it is.

    `ended` and `version` are None where there was no answer. `error` is the class of the error that answered it.
    `version` of a read is the version that it asked for.
    """

    process: str
    verb: str
    line: str
    event: str
    began: int
    steps: tuple[Step, ...]
    ended: int | None = None
    outcome: str = UNKNOWN
    version: int | None = None
    error: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        return f"{self.process} {self.verb} {self.event[:8]}"

    @property
    def steps_change(self) -> bool:
        """Whether it must have committed: a transaction that only read has not."""
        return self.verb != "transaction" or any(isinstance(one, Deed) for one in self.steps)


class Journal:
    """The file of one process."""

    def __init__(self, path: Path, process: str) -> None:
        self.process = process
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def intend(self, verb: str, line: str, event: str, began: int, steps: Sequence[Step] = ()) -> None:
        """Before the call."""
        told = [[type(one).__name__, *_plain(one)] for one in steps]
        self._write({"verb": verb, "line": line, "event": event, "began": began, "steps": told})

    def answer(self, event: str, outcome: str, version: int | None = None, error: str = "", text: str = "") -> None:
        """After it."""
        ended = monotonic_ns()
        self._write(
            {"event": event, "ended": ended, "outcome": outcome, "version": version, "error": error, "text": text}
        )

    def _write(self, line: dict[str, Any]) -> None:
        # One call for a whole line: a kill between two would leave half of it.
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fdatasync(self._file)


def _plain(step: Step) -> list[Any]:
    return list(step) if isinstance(step, Deed) else [step.kind, step.subject, step.values]


def read_journals(paths: Iterable[Path]) -> list[Entry]:
    """What all processes noted, in no order."""
    return [entry for path in sorted(paths) for entry in _entries(path)]


def _entries(path: Path) -> Iterator[Entry]:
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    answers = {line["event"]: line for line in lines if "outcome" in line}
    for line in lines:
        if "outcome" not in line:
            steps = tuple(_step(one) for one in line.pop("steps"))
            yield Entry(path.stem, steps=steps, **{**line, **answers.get(line["event"], {})})


def _step(told: list[Any]) -> Step:
    name, kind, subject, rest = told
    return Deed(kind, subject, tuple(rest)) if name == "Deed" else Read(kind, subject, tuple(rest))
