"""Merges by row in a large table: a thousand rows changed on each side, scattered over all of its files.

Every round merges into a new branch, so that all of them merge the same rows. A revert undoes a change of a thousand
rows after a change of a thousand others in the same files. There is no peer: no other lakehouse merges rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import lakebed
from bench.data.large_table import NAME, create
from bench.figure import Figure, Row, duration, shown

ROUNDS = 5
CHANGED = 1000
GOAL = 1.0

Change = Callable[[lakebed.Table, str], object]


@dataclass(frozen=True, slots=True)
class Case:
    """What both sides do, to which rows of each step, and how many of them are disputed."""

    what: str
    ours: tuple[Change, str]
    theirs: tuple[Change, str]
    disputed: int = 0


def cases(rows: int) -> list[Case]:
    """Changes of every thousandth part: `step` is the distance between two changed rows."""
    step = rows // CHANGED
    same, other, few = f"id % {step} = 7", f"id % {step} = 8", f"id % {step * 100} = 7"
    return [
        Case("other rows of the same files", (_price, same), (_price, other)),
        Case("other cells of the same rows", (_price, same), (_status, same)),
        Case("the same rows, deleted on both sides", (_delete, same), (_delete, same)),
        Case("10 of them disputed, theirs wins", (_price, same), (_other_price, few), disputed=CHANGED // 100),
    ]


def measure(folder: Path) -> list[Row]:
    return _measure(folder, files=100, rows=1_000_000)


def quick(folder: Path) -> list[Row]:
    return _measure(folder, files=10, rows=10_000)


def _measure(folder: Path, files: int, rows: int) -> list[Row]:
    lake = create(folder, files, rows)
    keyed = lake.catalog()
    plain = keyed.create_branch("plain")
    with plain.table(NAME).evolve() as change:
        change.primary_key([])
    total = files * rows
    measured = [row for line, key in ((keyed, "keyed"), (plain, "unkeyed")) for row in _rows(line, key, total)]
    lake.close()
    return measured


def _rows(line: lakebed.Catalog, key: str, total: int) -> Iterator[Row]:
    for number, case in enumerate(cases(total)):
        yield _merged(line, f"{key}_{number}", key, case)
    yield _reverted(line, f"{key}_reverts", key, total)


def _merged(line: lakebed.Catalog, name: str, key: str, case: Case) -> Row:
    ours, theirs = (line.create_branch(f"{name}_{side}") for side in ("ours", "theirs"))
    for side, (change, where) in ((ours, case.ours), (theirs, case.theirs)):
        change(side.table(NAME), where)
    taken, read = [], 0
    for number in range(ROUNDS):
        target = ours.create_branch(f"{name}_round_{number}")
        start = perf_counter()
        result = target.merge(theirs, strategy="theirs" if case.disputed else "fail")
        taken.append(perf_counter() - start)
        assert len(result.conflicts) == case.disputed
        read = result.rows_read
    detail = f"{read:,} rows read; {_rounds(taken)}"
    return duration(f"merge, {case.what}, {key}", median(taken), detail, at_most=GOAL)


def _reverted(line: lakebed.Catalog, name: str, key: str, total: int) -> Row:
    step, taken = total // CHANGED, []
    for number in range(ROUNDS):
        target = line.create_branch(f"{name}_{number}")
        undone = target.table(NAME).update({"price": "price + 1"}, f"id % {step} = 7")
        target.table(NAME).update({"price": "price + 2"}, f"id % {step} = 8")
        assert undone is not None
        start = perf_counter()
        target.revert(undone)
        taken.append(perf_counter() - start)
    return duration(f"revert, other rows changed since, {key}", median(taken), _rounds(taken), at_most=GOAL)


def _rounds(taken: list[float]) -> str:
    return f"{len(taken)} rounds {shown(min(taken))}–{shown(max(taken))}, the first {shown(taken[0])}"


def _price(table: lakebed.Table, where: str) -> object:
    return table.update({"price": "price + 1"}, where)


def _other_price(table: lakebed.Table, where: str) -> object:
    return table.update({"price": "price + 2"}, where)


def _status(table: lakebed.Table, where: str) -> object:
    return table.update({"status": "'back'"}, where)


def _delete(table: lakebed.Table, where: str) -> object:
    return table.delete(where)


FIGURE = Figure("row-merge", "Merging rows of a table of 100 million", measure, quick)
