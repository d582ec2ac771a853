"""What the demo prints: its steps with the time that each took, and which engines agreed.

With VERBOSE=1 in the environment it prints the results side by side.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pyarrow

WIDTH, SHOWN_ROWS = 37, 6
VERBOSE = os.environ.get("VERBOSE", "") not in ("", "0")


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is being done, and how long it took."""
    print(f"\n● {what} …", flush=True)
    start = perf_counter()
    yield
    say(f"done in {perf_counter() - start:.2f} s")


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def shell(lake: Path, *words: str) -> None:
    """Run a word of the command line on a lake, and print it with its answer."""
    say(f"$ lakebed {shlex.join(words)}")
    command = [sys.executable, "-m", "lakebed", "--lake", str(lake), *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"\nlakebed {shlex.join(words)} ended with {answer.returncode}: {answer.stderr}")
    for line in answer.stdout.splitlines():
        say(f"  {line}")


def expect(what: str, found: object, expected: object) -> None:
    """Print a value; end the demo with exit code 1 if it is not the expected one."""
    say(f"{what}: {found}")
    if found != expected:
        raise SystemExit(f"\nDIFFERENT: {what}: expected {expected}, found {found}")


def compare(question: str, answers: Mapping[str, pyarrow.Table], reference: str) -> None:
    """End the demo with exit code 1 if a result differs from the reference.

    A result is a bag of rows: their order, the names of columns, and the width of a sum's decimal do not matter.
    """
    schema = answers[reference].schema
    plain = {who: _sorted(rows.rename_columns(schema.names).cast(schema)) for who, rows in answers.items()}
    expected = plain[reference]
    if VERBOSE:
        say(f"{question}?")
        side_by_side(*answers)
        for lines in zip(*(_lines(rows) for rows in plain.values()), strict=False):
            side_by_side(*lines)
    wrong = [who for who, rows in plain.items() if not rows.equals(expected)]
    if wrong:
        found = [line for who in wrong for line in _differences(who, plain[who], reference, expected)]
        raise SystemExit("\n".join([f"\nDIFFERENT: {question}", *found]))


def agree(questions: int, engines: Sized) -> None:
    """Print how many questions were answered alike by how many engines."""
    asked = "1 question" if questions == 1 else f"{questions} questions"
    say(f"✓ {asked}, {len(engines)} engines, equal")


def side_by_side(*texts: str) -> None:
    say("  " + "│ ".join(f"{text:<{WIDTH}}" for text in texts).rstrip())


def _sorted(table: pyarrow.Table) -> pyarrow.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _lines(rows: pyarrow.Table) -> list[str]:
    if rows.num_rows > SHOWN_ROWS:
        return [f"{rows.num_rows:,} rows, compared one by one"]
    return [_text(row) for row in rows.to_pylist()] or ["no rows"]


def _text(row: dict[str, object]) -> str:
    return "  ".join("null" if value is None else str(value) for value in row.values())


def _differences(who: str, rows: pyarrow.Table, reference: str, expected: pyarrow.Table) -> list[str]:
    """How many rows each side has, and the first rows that only one side has."""
    ours, theirs = ({_text(row) for row in table.to_pylist()} for table in (rows, expected))
    return [
        f"  {who}: {rows.num_rows:,} rows; {reference}: {expected.num_rows:,} rows",
        *(f"  only from {who}: {row}" for row in sorted(ours - theirs)[:SHOWN_ROWS]),
        *(f"  only from {reference}: {row}" for row in sorted(theirs - ours)[:SHOWN_ROWS]),
    ]
