"""What tables were made from, as a line has them: rows of `__lineage` of the runs that made these tables."""

from collections.abc import Callable, Iterator
from typing import Any

from lakebed.lake.catalog import Catalog
from lakebed.pipelines.facts import Fact, fact_of

Row = dict[str, Any]
Place = tuple[str, str]
"""A table and its column; an empty column is the table."""


def made_of(line: Catalog) -> tuple[list[Row], dict[str, Fact]]:
    """The lineage of the tables of a line, at its version, and which step made each.

    A table's own fact says which run made it, so that runs which were not published, or were reverted, do not count.
    """
    noted = line.inspect("__lineage").to_pylist()
    names = sorted({row["table"] for row in noted})
    facts = {name: fact_of(line.table(name)) for name in names if line.table_exists(name)}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return [row for row in noted if row["table"] in known and row["run"] == known[row["table"]].number], known


def walked(rows: list[Row], name: str, *, down: bool, hops: int | None = None) -> Iterator[Row]:
    """The rows that lead from a table or a column to all that it was made from, or `down`, to all made from it.

    Each has its distance as `hop`. From a column the walk goes on by columns; rows without a column say what decided
    which rows there are.
    """
    here: Callable[[Row], Place] = _input if down else _output
    there: Callable[[Row], Place] = _output if down else _input
    reached = {here(row) for row in rows if name in (here(row)[0], ".".join(here(row)))}
    seen: set[Place] = set()
    hop = 0
    while reached and (hops is None or hop < hops):
        hop += 1
        found = [row for row in rows if here(row) in reached]
        yield from ({**row, "hop": hop} for row in found)
        seen |= reached
        tables = {place[0] for place in map(there, found) if not place[1]}
        reached = {there(row) for row in found} | {here(row) for row in rows if here(row)[0] in tables}
        reached -= seen


def _output(row: Row) -> Place:
    return row["table"], row["column"] or ""


def _input(row: Row) -> Place:
    return row["input_table"], row["input_column"] or ""
