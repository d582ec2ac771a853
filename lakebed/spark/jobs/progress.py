"""The progress of long work: one line on the terminal, redrawn as it goes on and erased at the end."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from shutil import get_terminal_size
from types import TracebackType
from typing import Self, TextIO

from lakebed.spark.jobs.jobs import Counts

PERIOD = 0.25
"""Seconds between two drawings."""

PATIENCE = 1.5
"""Seconds before anything is shown: most work is over by then."""

WIDTH = 24
SWITCH = "LAKEBED_PROGRESS"
"""Environment variable: 1 shows the bar wherever stderr goes, 0 never shows it; the default is on a terminal."""

Draw = Callable[[str, Counts, "Goal", float], None]
"""Shows work: what it is, what its jobs have done, what they will, and for how many seconds it goes on."""

_drawn_by: ContextVar[Draw | None] = ContextVar("lakebed_drawn_by", default=None)

_ERASE = "\r\x1b[K"
_LETTERS = "kMGTPE"


@dataclass(frozen=True, slots=True)
class Goal:
    """What the work will read, as far as that is known."""

    files: int | None = None
    rows: int | None = None
    bytes: int | None = None


def is_shown(stream: TextIO) -> bool:
    """Whether bars are drawn on the stream."""
    asked = os.environ.get(SWITCH, "")
    return asked == "1" or (asked != "0" and stream.isatty())


@contextmanager
def drawn_by(draw: Draw) -> Iterator[None]:
    """While it lasts, work that this thread begins has no line of its own: the caller shows it among other things."""
    before = _drawn_by.set(draw)
    try:
        yield
    finally:
        _drawn_by.reset(before)


class Bar:
    """The line of one piece of work, erased when the `with` ends."""

    def __init__(
        self, what: str, goal: Goal, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._goal = goal
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._draw = _drawn_by.get()
        self._is_shown = self._draw is None and is_shown(self._stream)
        self._is_drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_drawn:
            self._stream.write(_ERASE)
            self._stream.flush()

    def set_goal(self, goal: Goal) -> None:
        """Measure progress by this goal, now that the work knows it."""
        self._goal = goal

    def draw(self, counts: Callable[[], Counts]) -> None:
        """Show the counts; while the work is young, neither show nor ask for them."""
        seconds = self._clock() - self._began
        if self._draw is not None:
            self._draw(self._what, counts(), self._goal, seconds)
            return
        if not self._is_shown or seconds < PATIENCE:
            return
        line = bar_text(self._what, counts(), self._goal, seconds)
        self._stream.write(_ERASE + line[: get_terminal_size().columns - 1])
        self._stream.flush()
        self._is_drawn = True


def bar_text(what: str, counts: Counts, goal: Goal, seconds: float) -> str:
    """`compact sales.orders ━━━━━━━━━━━━────────────  50 %  4 of 8 tasks · 2.1 M of 4.2 M rows · 31 MB · 0:14`"""
    share = share_of(counts, goal)
    done = round(share * WIDTH)
    parts = [f"{counts.tasks_done} of {counts.tasks} tasks" if counts.tasks else "planning"]
    if goal.files is not None:
        parts.append(f"{goal.files:,} files")
    parts += _moved("read", counts.rows_read, counts.bytes_read, goal)
    parts += _moved("written", counts.rows_written, counts.bytes_written, Goal())
    parts.append(f"{int(seconds) // 60}:{int(seconds) % 60:02}")
    return f"{what} {'━' * done}{'─' * (WIDTH - done)} {share:4.0%}  {' · '.join(parts)}"


def share_of(counts: Counts, goal: Goal) -> float:
    """How much is done: by rows or bytes if the goal has them, else by the tasks known so far."""
    if goal.rows:
        return min(1.0, counts.rows_read / goal.rows)
    if goal.bytes:
        return min(1.0, counts.bytes_read / goal.bytes)
    return min(1.0, counts.tasks_done / counts.tasks) if counts.tasks else 0.0


def _moved(word: str, rows: int, bytes: int, goal: Goal) -> list[str]:
    if not (rows or bytes):
        return []
    all_rows = "" if goal.rows is None else f" of {short_number(goal.rows)}"
    parts = [f"{short_number(rows)}{all_rows} rows"] if rows else []
    return [f"{', '.join([*parts, short_bytes(bytes)])} {word}"]


def short_number(number: int) -> str:
    """Three digits or four: `812`, `12.4 k`, `3.20 M`."""
    return _short(number, "")


def short_bytes(number: int) -> str:
    """The same for bytes: `310 MB`."""
    return _short(number, "B")


def _short(number: int, unit: str) -> str:
    if number < 1000:
        return f"{number} {unit}".rstrip()
    power = next((power for power in range(1, len(_LETTERS)) if number < 999.5 * 1000**power), len(_LETTERS))
    value = number / 1000**power
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {_LETTERS[power - 1]}{unit}"
