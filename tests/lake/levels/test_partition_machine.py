"""Random histories of explicit partitions, on two lines, beside a model of sets: rows and partitions are compared."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

import lakebed
from lakebed import AlreadyExists, Ambiguous, Catalog, Conflict, NotFound, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = [date(2026, 11, 1) + timedelta(days=number) for number in range(4)]
Rows = frozenset[tuple[int, date]]
Parts = frozenset[tuple[date, str]]


@dataclass
class Line:
    """A line: its rows, its explicit partitions by value and id, those dropped, and both at its last merge."""

    catalog: Catalog
    rows: Rows = frozenset()
    parts: Parts = frozenset()
    merged_rows: Rows = frozenset()
    merged_parts: Parts = frozenset()
    dropped: dict[str, tuple[date, Rows]] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        return self.catalog.table("t")

    def id_of(self, day: date) -> str | None:
        return dict(self.parts).get(day)


class Machine:
    """Makes random calls, and what they should do to the model."""

    def __init__(self, catalog: Catalog, seed: int, inline: str, spark: "SparkSession | None" = None) -> None:
        self.random = Random(seed)
        self.spark = spark
        options = {"write.inline-bytes": inline}
        catalog.create_table("t", {"id": "long", "dt": "date"}, partition_by=["dt"], properties=options)
        self.main = Line(catalog)
        self.dev = Line(catalog.create_branch("dev"))
        self.last = 0

    def step(self) -> None:
        line = self.random.choice((self.main, self.dev))
        calls: list[Callable[[Line], None]] = [
            self.create, self.append, self.append_into, self.swap, self.drop, self.undrop, self.delete, self.move,
            self.rename, self.compact, self.merge,
        ]  # fmt: skip
        self.random.choice(calls)(line)
        for one in (self.main, self.dev):
            check(one)

    def new_rows(self, day: date) -> Rows:
        self.last += 2
        return frozenset((id, day) for id in range(self.last, self.last + 2))

    def day(self) -> date:
        return self.random.choice(DAYS)

    def create(self, line: Line) -> None:
        day = self.day()
        if line.id_of(day) is not None:
            with pytest.raises(AlreadyExists):
                line.table.create_partition({"dt": day})
            return
        line.parts |= {(day, line.table.create_partition({"dt": day}).id)}

    def append(self, line: Line) -> None:
        rows = self.new_rows(self.day()) | self.new_rows(self.day())
        line.table.append(self.given(rows, "id long, dt date"))
        line.rows |= rows

    def given(self, rows: Rows, columns: str) -> object:
        """Rows as the local engine takes them, or as Spark does."""
        names = [one.split()[0] for one in columns.split(", ")]
        dicts = [{name: row[name] for name in names} for row in as_dicts(rows)]
        if self.spark is None or self.random.random() < 0.4:
            return dicts
        return self.spark.createDataFrame([tuple(row.values()) for row in dicts], columns)

    def append_into(self, line: Line) -> None:
        if line.parts:
            day, id = self.random.choice(sorted(line.parts))
            rows = self.new_rows(day)
            line.table.partition(id=id).append(self.given(rows, "id long"))
            line.rows |= rows

    def swap(self, line: Line) -> None:
        day = self.day()
        staged = line.table.stage_partition({"dt": day})
        rows = self.new_rows(day) if self.random.random() < 0.8 else frozenset()
        if rows:
            staged.append(self.given(rows, "id long"))
        if self.random.random() < 0.2:
            staged.discard()
            return
        staged.commit()
        replaced = line.id_of(day)
        if replaced is not None:
            line.dropped[replaced] = (day, of_day(line.rows, day))
            line.parts -= {(day, replaced)}
        line.rows = (line.rows - of_day(line.rows, day)) | rows
        line.parts |= {(day, staged.id)}

    def drop(self, line: Line) -> None:
        day = self.day()
        id = line.id_of(day)
        if id is None:
            with pytest.raises(NotFound):
                line.table.drop_partition({"dt": day})
            return
        line.table.drop_partition({"dt": day})
        line.dropped[id] = (day, of_day(line.rows, day))
        line.parts -= {(day, id)}
        line.rows -= of_day(line.rows, day)

    def undrop(self, line: Line) -> None:
        if not line.dropped:
            return
        id = self.random.choice(sorted(line.dropped))
        day, rows = line.dropped[id]
        if line.id_of(day) is not None:
            with pytest.raises((AlreadyExists, Ambiguous)):
                line.table.undrop_partition(id=id)
            return
        line.table.undrop_partition(id=id)
        del line.dropped[id]
        line.parts |= {(day, id)}
        line.rows |= rows

    def delete(self, line: Line) -> None:
        if line.rows:
            row = self.random.choice(sorted(line.rows))
            line.table.delete(f"id = {row[0]}")
            line.rows -= {row}

    def move(self, line: Line) -> None:
        if line.rows:
            row, day = self.random.choice(sorted(line.rows)), self.day()
            line.table.update({"dt": lakebed.lit(day)}, f"id = {row[0]}")
            line.rows = (line.rows - {row}) | {(row[0], day)}

    def rename(self, line: Line) -> None:
        """To a day that has no rows: others would join it."""
        free = [day for day in DAYS if not of_day(line.rows, day) and line.id_of(day) is None]
        if line.parts and free:
            (old, id), day = self.random.choice(sorted(line.parts)), self.random.choice(free)
            line.table.partition(id=id).rename({"dt": day})
            moved = of_day(line.rows, old)
            line.rows = (line.rows - moved) | frozenset((number, day) for number, _ in moved)
            line.parts = (line.parts - {(old, id)}) | {(day, id)}

    def compact(self, line: Line) -> None:
        line.table.compact()

    def merge(self, _: Line) -> None:
        """Into main; what conflicts changes nothing, and dev begins again from main."""
        dev, main = self.dev, self.main
        try:
            main.catalog.merge(dev.catalog)
        except Conflict:
            check(main)
            self.fork()
            return
        main.rows = (main.rows | (dev.rows - dev.merged_rows)) - (dev.merged_rows - dev.rows)
        main.parts = (main.parts | (dev.parts - dev.merged_parts)) - (dev.merged_parts - dev.parts)
        self.fork()

    def fork(self) -> None:
        self.main.catalog.drop_branch("dev")
        self.main.dropped = {}  # what a merge dropped is not in the model: undrops begin again
        branch, rows, parts = self.main.catalog.create_branch("dev"), self.main.rows, self.main.parts
        self.dev = Line(branch, rows, parts, rows, parts)


def check(line: Line) -> None:
    """What the table shows is what the model has."""
    found = line.table.scan().to_arrow().to_pylist()
    assert len(found) == len(line.rows)
    assert {(one["id"], one["dt"]) for one in found} == line.rows
    [root, *explicit] = line.table.partitions()
    assert {(one.values["dt"], one.id) for one in explicit} == line.parts
    assert [one.count() for one in explicit] == [len(of_day(line.rows, one.values["dt"])) for one in explicit]
    assert root.count() == len(line.rows) - sum(one.count() for one in explicit)


def of_day(rows: Rows, day: date) -> Rows:
    return frozenset(row for row in rows if row[1] == day)


def as_dicts(rows: Rows) -> list[dict[str, object]]:
    return [{"id": id, "dt": day} for id, day in sorted(rows)]


def run(catalog: Catalog, seed: int, steps: int, spark: "SparkSession | None" = None) -> None:
    machine = Machine(catalog, seed, "0" if seed % 2 else "64000", spark)
    for _ in range(steps):
        machine.step()


@pytest.mark.parametrize("seed", range(2))
def test_random_histories_show_what_the_model_has(lake, main, seed):
    run(main, seed, 20)
    assert lake.check() == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_random_histories_show_what_the_model_has(lake, main, seed):
    run(main, seed, 60)
    assert lake.check() == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 204))
def test_random_histories_of_both_engines_show_what_the_model_has(lake, main, spark, seed):
    run(main, seed, 25, spark)
    assert lake.check() == []
