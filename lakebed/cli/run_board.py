"""A run on a terminal: lines of what has ended stay, and below them is what goes on and what is to come."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lakebed.cli.run_lines import (
    Listener,
    check_line,
    clock,
    expectations_of,
    fitted_name,
    head_line,
    interrupted_line,
    step_line,
)
from lakebed.cli.values import is_plain
from lakebed.spark.jobs.jobs import Counts
from lakebed.spark.jobs.progress import Goal, drawn_by, share_of, short_number

if TYPE_CHECKING:
    from lakebed.pipelines.running.runner import Event

PERIOD = 8
"""Drawings in a second."""

TURNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
WIDTH = 10
LEAST, BESIDE = 16, 56
"""How wide the column of names is at least, and what stands beside it."""

COMING = 8
"""How many of the steps to come are named."""

STYLES = {"✓": "green", "✗": "red", "!": "yellow", "·": "dim"}


@contextmanager
def board() -> Iterator[Listener]:
    """The display of one run, which is erased at its end: the lines above it stay."""
    console = Console(highlight=False, color_system=None if is_plain() else "auto")
    shown = Board(console)
    with (
        Live(shown, console=console, refresh_per_second=PERIOD, transient=True, vertical_overflow="crop"),
        drawn_by(shown.draw),
    ):
        yield shown.listen


class Board:
    """What goes on in a run, drawn again and again."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = 0
        self._coming: list[str] = []
        self._step = ""
        self._windows = ""
        self._jobs = ""
        self._since = monotonic()
        self._check, self._checked, self._checks, self._failed = "", 0, 0, 0
        self._is_held_back = False
        self._word = ""

    def listen(self, event: "Event") -> None:
        """Take up what has happened."""
        match event.kind:
            case "begin":
                self._coming = list(event.detail)
                widest = max(LEAST, self._console.width - BESIDE)
                self._width = min(widest, max(map(len, self._coming), default=0))
                self._keep(Text(head_line(event.run), "bold"))
            case "step":
                self._begin(event.about)
                self._coming = self._coming[self._coming.index(event.about) + 1 :]
            case "window":
                self._windows = f"{event.detail.done:,} of {event.detail.of:,} windows"
            case "done":
                self._step = ""
                self._keep(_styled(step_line(event.detail, self._width)))
                for found in expectations_of(event):
                    self._keep(_styled(f"    {check_line(found)}"))
            case "check":
                self._checks, self._check = event.detail, event.about
            case "checked":
                self._checked, self._check = self._checked + 1, ""
                if not event.detail.passed:
                    self._failed += 1
                    self._is_held_back |= event.detail.is_error
                    self._keep(_styled(f"  {check_line(event.detail)}"))
            case "publish":
                self._word = "publishing"
            case "end":
                self._end(interrupted_line(event.run) if event.run.status == "interrupted" else None)

    def draw(self, what: str, counts: Counts, goal: Goal, seconds: float) -> None:
        """Take up how far the jobs of Spark are that run now."""
        share = share_of(counts, goal)
        done = round(share * WIDTH)
        rows = max(counts.rows_written, counts.rows_read)
        moved = f"  {short_number(rows)} rows" if rows else ""
        self._jobs = f"{'━' * done}{'─' * (WIDTH - done)} {share:4.0%}{moved}"

    def __rich__(self) -> Group:
        lines = []
        if self._step:
            turn = TURNS[int(monotonic() * PERIOD) % len(TURNS)]
            parts = [self._windows, self._jobs, clock(timedelta(seconds=monotonic() - self._since))]
            lines.append(
                Text(f"  {turn} {fitted_name(self._step, self._width)}  {'  '.join(filter(None, parts))}", "cyan")
            )
        named = self._coming[:COMING]
        lines += [Text(f"  · {name}", "dim") for name in named]
        if len(self._coming) > len(named):
            lines.append(Text(f"    and {len(self._coming) - len(named)} more", "dim"))
        if self._checks:
            lines.append(Text(f"  checks {self._checked} of {self._checks}  {self._check}".rstrip()))
        if self._word:
            lines.append(Text(f"  {self._word}", "dim"))
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _begin(self, name: str) -> None:
        self._step, self._since = name, monotonic()
        self._windows = self._jobs = ""

    def _end(self, interrupted: str | None) -> None:
        """Leave nothing but the lines above, and how many checks there were."""
        if self._checks:
            passed = self._checked - self._failed
            sign = "✓" if passed == self._checks else "✗" if self._is_held_back else "!"
            self._keep(_styled(f"  {sign} {passed} of {self._checks} checks passed"))
        if interrupted is not None:
            self._keep(Text(interrupted))
        self._step, self._coming, self._checks, self._word = "", [], 0, ""

    def _keep(self, line: Text) -> None:
        self._console.print(line, no_wrap=True, overflow="ellipsis")


def _styled(line: str) -> Text:
    """A line whose sign has its colour."""
    text, sign = Text(line), line.lstrip()[:1]
    style = STYLES.get(sign, "")
    if sign == "·":
        text.stylize(style)
    else:
        at = line.index(sign)
        text.stylize(style, at, at + 1)
    return text
