"""What the demo prints: its steps with the time that each took, and results side by side."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter

import pyarrow

WIDTH, SHOWN_ROWS = 37, 6


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is being done, and how long it took."""
    print(f"\n● {what} …", flush=True)
    start = perf_counter()
    yield
    say(f"done in {perf_counter() - start:.2f} s")


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def expect(what: str, found: object, expected: object) -> None:
    """Print a value; end the demo with exit code 1 if it is not the expected one."""
    say(f"{what}: {found}")
    if found != expected:
        raise SystemExit(f"\nDIFFERENT: {what}: expected {expected}, found {found}")


def compare(question: str, answers: Mapping[str, pyarrow.Table], reference: str) -> None:
    """Print the results side by side; end the demo with exit code 1 if one differs from the reference.

    A result is a bag of rows: their order, the names of columns, and the width of a sum's decimal do not matter.
    """
    schema = answers[reference].schema
    plain = {who: _sorted(rows.rename_columns(schema.names).cast(schema)) for who, rows in answers.items()}
    expected = plain[reference]
    say(f"{question}?")
    for lines in zip(*(_lines(rows) for rows in plain.values()), strict=False):
        side_by_side(*lines)
    wrong = [who for who, rows in plain.items() if not rows.equals(expected)]
    if wrong:
        found = [line for who in wrong for line in _differences(who, plain[who], reference, expected)]
        raise SystemExit("\n".join([f"\nDIFFERENT: {question}", *found]))


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
