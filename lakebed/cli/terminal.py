"""What rich draws: tables, and pages of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from lakebed.cli.values import is_plain

LEAST = 8
"""The least width that a column of text is cut to."""

GAP = 2
"""Spaces between columns."""

MOST = 4
"""How many screen widths of a text are looked at, of which one at most is shown: measuring megabytes takes seconds."""


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], as_text: Callable[[object], str], width: int, paged: bool
) -> None:
    """Print rows as a table that fits the terminal; those of too many columns one below the other."""
    cells = [[_one_line(as_text(value)[: MOST * width]) for value in row] for row in rows]
    least = [
        _least_width(name, [row[place] for row in rows], [row[place] for row in cells])
        for place, name in enumerate(columns)
    ]
    console = console_of(width=width, force_terminal=True if paged else None)
    with console.capture() as captured:
        if sum(one + GAP for one in least) - GAP > width:
            _print_records(console, columns, cells)
        else:
            console.print(_drawn(columns, rows, cells, _fitted(columns, cells, least, width)))
    if paged:
        page(captured.get())
    else:
        click.echo(captured.get(), nl=False)


def console_of(**options: Any) -> Console:
    """A console of rich, which prints bold in spite of NO_COLOR unless it has no colours at all."""
    return Console(highlight=False, color_system=None if is_plain() else "auto", **options)


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎").replace("\t", " ")


def _least_width(name: str, values: Sequence[object], texts: Sequence[str]) -> int:
    """What a column can't be cut below: its name, its numbers, and the beginning of its texts."""
    longest = max(map(cell_len, texts))
    return max(cell_len(name), longest if _are_numbers(values) else min(LEAST, longest))


def _fitted(columns: Sequence[str], cells: Sequence[Sequence[str]], least: Sequence[int], width: int) -> list[int]:
    """The widths of columns that fit together: the widest is cut first, and none below its least."""
    widths = [max(cell_len(name), *(cell_len(row[place]) for row in cells)) for place, name in enumerate(columns)]
    while sum(widths) + GAP * (len(widths) - 1) > width:
        _, place = max((one, place) for place, one in enumerate(widths) if one > least[place])
        widths[place] -= 1
    return widths


def _drawn(
    columns: Sequence[str], rows: Sequence[Sequence[object]], cells: Sequence[Sequence[str]], widths: Sequence[int]
) -> Table:
    """Rows as a table: numbers to the right, long texts cut."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for place, (name, width) in enumerate(zip(columns, widths, strict=True)):
        side: JustifyMethod = "right" if _are_numbers([row[place] for row in rows]) else "left"
        drawn.add_column(Text(name), justify=side, overflow="ellipsis", no_wrap=True, width=width)
    for row in cells:
        drawn.add_row(*map(Text, row))
    return drawn


def _print_records(console: Console, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Rows one below the other, a line for each column."""
    longest = max(map(cell_len, columns))
    for number, row in enumerate(cells, 1):
        console.print(Text(f"row {number}", "bold"))
        for name, text in zip(columns, row, strict=True):
            gap = " " * (longest - cell_len(name))
            console.print(Text(f"  {name}{gap}  {text}"), no_wrap=True, overflow="ellipsis")


def page(text: str) -> None:
    """Show text by the user's pager; `less` ends at once if it fits the screen, as git has it."""
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text.rstrip("\n"), color=True)


def fitted(text: str, width: int) -> str:
    """A line that the terminal does not wrap: what does not fit is cut."""
    line = Text(text)
    line.truncate(width, overflow="ellipsis")
    return line.plain


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A line on the standard error that says how long the work has taken, and how many rows of all are done."""
    shown = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total:
        shown.append(TextColumn("{task.completed:,} of {task.total:,} rows"))
    with Progress(*shown, console=console_of(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(what), total=total)
        yield lambda rows: bar.advance(task, rows)


def _are_numbers(values: Sequence[object]) -> bool:
    return all(_is_number(value) for value in values if value is not None)


def _is_number(value: object) -> bool:
    is_version = isinstance(value, bytes) and hasattr(value, "__int__")
    return is_version or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))
