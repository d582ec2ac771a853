"""Errors about rows that are matched by key, the same for every engine."""

from lakebed.errors import Invalid


def null_key(name: str, rows: int | None = None) -> Invalid:
    """The error for rows whose key has a null."""
    found = None if rows is None else f"{rows} rows without a value"
    return Invalid(
        "a key has a null",
        subject=name,
        expected="a value in every row",
        found=found,
        advice="Fill or drop these rows. Nothing was written.",
    )


def repeated_key(example: str, keys: int) -> Invalid:
    """The error for repeated keys; the example is one of them."""
    return Invalid(
        "a key comes twice in the rows that are given",
        subject=example,
        expected="each key once",
        found=f"{keys} repeated keys",
        advice="Keep one row per key.",
    )


def known_key(table: str, example: str, problem: str, keys: object, advice: str = "") -> Invalid:
    """The error for a change that would leave two rows with one primary key; the example is such a key."""
    return Invalid(
        f"a primary key {problem}",
        subject=f"{table}: {example}",
        expected="one row for each primary key",
        found=f"{keys} such keys",
        advice=f"Nothing was changed. {advice or 'Use upsert(…) to replace rows with the same keys.'}",
    )


def matched_twice(example: str, rows: object) -> Invalid:
    """The error for a row of the table that several rows of a merge's source match."""
    return Invalid(
        "a row of the table is matched by more than one row of the source",
        subject=example,
        expected="at most one match, so that the result is unambiguous",
        found=rows,
        advice="Keep one row per key in the source.",
    )
