"""The three-way merge of rows by Spark: executors match and compare rows, and write those with cells of both sides.

Jobs run in the thread of the engine; decisions are asked for in the caller's. What is to be written is kept by the
executors from the comparison until the plan is applied. docs/internals/merge.md, "Rows", has the rules.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Protocol, TypeVar

import pyarrow
from pyroaring import BitMap64
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import Target
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import (
    Choice,
    Decide,
    DisputedRow,
    KeyCheck,
    Place,
    Row,
    RowSides,
    given_row,
    has_other_key,
    key_of,
)
from lakebed.catalog.tables.properties import Check
from lakebed.errors import Unavailable
from lakebed.spark.fit import quoted
from lakebed.spark.rows.comparison import (
    COMBINED,
    DELETED_BY_OURS,
    DELETED_BY_THEIRS,
    Compared,
    Disputed,
    PythonValues,
    chosen_cells,
    compare,
    struct_rows,
)
from lakebed.spark.rows.copies import (
    BASE,
    OLDER,
    OURS,
    PLACE,
    THEIRS,
    TWIN,
    HeldRows,
    PieceReader,
    any_of,
    contested_copies,
    moved_rows,
    place_columns,
    rows_with_one_key,
    twins_of,
    with_replaced,
    youngest,
)
from lakebed.spark.rows.repeated_keys import repeated_keys
from lakebed.spark.types import check_types, check_writable, result_schema
from lakebed.spark.write.checks import is_broken
from lakebed.spark.write.rows import write_rows
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema

T = TypeVar("T")

_ADVICE = "Merge without `spark=`: the rows are compared here then."


class RunJobs(Protocol):
    """Runs work that starts jobs, as all calls of the engine do."""

    def __call__(self, what: str, work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T: ...


@dataclass(frozen=True, slots=True)
class Merging:
    """What a merge of one table works with."""

    reader: PieceReader
    python: PythonValues
    run: RunJobs

    @property
    def schema(self) -> Schema:
        return self.reader.schema


@dataclass(slots=True)
class MergedFrames:
    """What becomes of the rows that both sides changed: positions and disputes are here, rows to write are not.

    `decided` are the places of copies that go by a decision. `winners` says for rows whose dispute is settled whether
    theirs wins, by id. `given` are rows that somebody gave, `rekeyed` the ids of those with a key that a side has not;
    `dropped` are rows that are not written although their cells were combined, `left_out` these and others. `back` are
    places that rows keep although a copy there would go.
    """

    merging: Merging
    decide: Decide
    rows_read: int = 0
    conflicts: list[DisputedRow] = field(default_factory=list)
    unsettled: list[DisputedRow] = field(default_factory=list)
    gone: dict[str, dict[str, BitMap64]] = field(default_factory=lambda: {OURS: {}, THEIRS: {}})
    decided: dict[str, list[Place]] = field(default_factory=lambda: {OURS: [], THEIRS: []})
    compared: Compared | None = None
    winners: dict[int, bool] = field(default_factory=dict)
    given: dict[int, Row] = field(default_factory=dict)
    rekeyed: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)
    left_out: set[int] = field(default_factory=set)
    back: dict[str, BitMap64] = field(default_factory=dict)

    @property
    def ours_gone(self) -> Mapping[str, BitMap64]:
        return self.gone[OURS]

    @property
    def theirs_gone(self) -> Mapping[str, BitMap64]:
        return self.gone[THEIRS]

    @property
    def count(self) -> int:
        """How many rows are written."""
        combined = 0 if self.compared is None else self.compared.combined
        return combined + len(self.winners) + len(self.given) - len(self.dropped)

    @property
    def is_rekeyed(self) -> bool:
        """Whether a row to write may have another primary key than it has on one of the sides."""
        return bool(self.rekeyed) or (self.compared is not None and self.compared.rekeyed > 0)

    def written_rows(self) -> DataFrame:
        """The rows to write, with their ids, as `id`, c0, c1, …"""
        frames = [] if self.compared is None else [self._combined(self.compared.rows)]
        if self.given:
            frames.append(self._given(self.given))
        return reduce(DataFrame.union, frames)

    def rekeyed_rows(self) -> DataFrame:
        """Those of them that may have another key than on one of the sides."""
        frames = [] if self.compared is None else [self._combined(self.compared.rows.where("rekeyed"))]
        if self.rekeyed:
            frames.append(self._given({id: self.given[id] for id in sorted(self.rekeyed)}))
        return reduce(DataFrame.union, frames)

    def repeated_keys(self, check: KeyCheck) -> list[DisputedRow]:
        """Rows with one primary key: rows to write that a side has under another key, and those of the check."""
        rekeyed = self.rekeyed_rows() if self.is_rekeyed else None
        written = self.written_rows() if self.count else None
        merging = self.merging
        find = partial(repeated_keys, merging.reader, merging.python, check, rekeyed, written)
        return merging.run("look for the keys of a merge", find)

    def write(self, target: Target) -> Written:
        """Write the rows that neither side has as they are, with their ids."""
        if not self.count:
            return Written()

        def write() -> Written:
            rows = self.written_rows().toDF(ROW_ID.name, *self.merging.schema.names)
            columns = [quoted(name) for name in (*self.merging.schema.names, ROW_ID.name)]
            written = write_rows(target.with_columns(ROW_ID), rows.select(*columns))
            self._check_count(target, written)
            return written

        def undo(written: Written) -> None:
            RowChange(written=written).discard(target.files)

        return self.merging.run(f"merge rows of {target.name}", write, undo)

    def broken(self, checks: Sequence[Check]) -> list[DisputedRow]:
        """The rows to write that break checks of the table, though no side broke them."""
        if not self.count or not checks:
            return []
        return self.merging.run("check merged rows", lambda: _broken(self.merging, self.written_rows(), checks, OURS))

    def ask(self, disputed: DisputedRow) -> Choice:
        choice = self.decide(disputed)
        self.conflicts.append(disputed)
        if choice is None:
            self.unsettled.append(disputed)
        return choice

    def go(self, side: str, place: Place | None) -> None:
        """Let the copy of a side go."""
        if place is not None:
            path, position = place
            self.gone[side].setdefault(path, BitMap64()).add(position)
            self.decided[side].append(place)

    def is_gone(self, side: str, place: Place) -> bool:
        return place[1] in self.gone[side].get(place[0], ())

    def go_all(self, gone: Mapping[str, Mapping[str, BitMap64]]) -> None:
        for side, places in gone.items():
            for path, positions in places.items():
                self.gone[side][path] = self.gone[side].get(path, BitMap64()) | positions

    def put(self, id: int, given: Row, subject: DisputedRow) -> None:
        """Write the row that somebody decided for."""
        row = given_row(self.merging.schema, given, subject)
        python, schema = self.merging.python, self.merging.schema
        [typed] = python.row_values(schema, python.typed_rows(schema, [row]))  # refuses values of other types
        self.given[id] = row
        if has_other_key(schema, typed, subject):
            self.rekeyed.add(id)

    def drop(self, id: int) -> None:
        """Leave out a row that would be written, whether its cells were combined, or somebody decided for it."""
        if id in self.left_out:
            return
        self.left_out.add(id)
        self.rekeyed.discard(id)
        if self.winners.pop(id, None) is None and self.given.pop(id, None) is None:
            self.dropped.add(id)

    def _combined(self, rows: DataFrame) -> DataFrame:
        schema = self.merging.schema
        wins = F.lit(False)
        if self.winners:
            ids = pyarrow.table({"id": pyarrow.array(self.winners, pyarrow.int64()), "wins": [*self.winners.values()]})
            rows = rows.join(rows.sparkSession.createDataFrame(ids), "id", "left")
            wins = F.col("wins")
            rows = rows.where((F.col("kind") == COMBINED) | wins.isNotNull())
        else:
            rows = rows.where(F.col("kind") == COMBINED)
        if self.dropped:
            rows = rows.join(self.merging.reader.ids(self.dropped), "id", "left_anti")
        return rows.select("id", *chosen_cells(schema, F.coalesce(wins, F.lit(False))))

    def _given(self, given: Mapping[int, Row]) -> DataFrame:
        schema, spark = self.merging.schema, self.merging.reader.source.spark
        table = self.merging.python.typed_rows(schema, list(given.values()))
        ids = pyarrow.array(given, pyarrow.int64())
        form = result_schema(Schema([ROW_ID, *schema.fields]))
        return spark.createDataFrame(table.add_column(0, ROW_ID.name, ids).combine_chunks(), form)

    def _check_count(self, target: Target, written: Written) -> None:
        found = sum(file.num_rows for file in written.files)
        if found != self.count:
            RowChange(written=written).discard(target.files)
            raise Unavailable(
                "Spark did not write as many rows as it had merged",
                subject=target.name,
                expected=self.count,
                found=found,
                advice="Nothing was changed. An executor may have been lost with its rows. Run it again.",
            )


def merge_sides(merging: Merging, held: HeldRows, sides: RowSides, decide: Decide) -> MergedFrames:
    """Compare the rows that both sides changed, cell by cell, and the keys of new rows.

    `held` keeps the rows that are still to be written.
    """
    check_writable(sides.schema, _ADVICE)
    merged, scratch = MergedFrames(merging, decide), HeldRows()
    try:
        copies = merging.run("match the rows of a merge", lambda: _copies(merging.reader, scratch, sides))
        merged.rows_read = copies.base_count + sum(piece.rows for piece in (*sides.ours, *sides.theirs))
        if sides.contested or sides.check_ids:
            found = moved_rows(copies.base, copies.ours, copies.theirs, copies.twins)
            pieces = {BASE: sides.contested, OURS: sides.ours, THEIRS: sides.theirs}
            pieces |= {} if copies.twins is None else {TWIN: sides.contested, OLDER: sides.older}
            merged.compared = merging.run(
                "compare the rows of a merge", lambda: compare(merging.reader, merging.python, held, found, pieces)
            )
            _settle_rows(merged)
        keys = _KeyMerge(merged, scratch, sides, copies)
        if sides.check_keys:
            keys.merge()
        if merging.reader.keys:
            keys.merge_written()
    finally:
        scratch.release()
    return merged


def broken_rows(merging: Merging, pieces: Sequence[Piece], checks: Sequence[Check], side: str) -> list[DisputedRow]:
    """The rows of a side that break checks of the other."""
    schema = merging.schema
    check_types(schema.fields, _ADVICE)

    def find() -> list[DisputedRow]:
        rows = merging.reader.values(pieces, range(len(pieces)))
        return _broken(merging, rows.select("id", "row.*"), checks, side)

    return merging.run("check the rows of a merge", find) if pieces else []


@dataclass(frozen=True, slots=True)
class _Copies:
    """The copies of rows that each side has."""

    base: DataFrame
    ours: DataFrame
    theirs: DataFrame
    twins: DataFrame | None
    base_count: int


def _copies(reader: PieceReader, scratch: HeldRows, sides: RowSides) -> _Copies:
    base, ours, theirs = (reader.copies(pieces) for pieces in (sides.contested, sides.ours, sides.theirs))
    count = sum(piece.rows for piece in sides.contested)
    shared = twins = None
    is_held = bool(sides.contested and (sides.shared or sides.all_ids))
    if is_held:
        found = base
        if sides.shared:
            shared = scratch.hold(reader.copies(sides.shared))
            paths = {piece.file.path for piece in sides.shared}
            ordinals = [place for place, piece in enumerate(sides.contested) if piece.file.path in paths]
            found = contested_copies(base, shared, ordinals)
        base = scratch.hold(youngest(found))
        if sides.older:
            twins = scratch.hold(twins_of(base, found, reader.copies(sides.older), reader.copies(sides.single)))
        count = base.count()
    if reader.keys:  # they are read more than once
        ours, theirs = scratch.hold(ours), scratch.hold(theirs)
        if count:
            base = base if is_held else scratch.hold(base)
            ours, theirs = (scratch.hold(with_replaced(base, side, shared, reader.keys)) for side in (ours, theirs))
    return _Copies(base, ours, theirs, twins, count)


def _settle_rows(merged: MergedFrames) -> None:
    """Ask for each disputed row what becomes of it."""
    compared = merged.compared
    if compared is None:
        return
    merged.go_all(compared.gone)
    for disputed in compared.disputed:
        subject = disputed.row(merged.merging.schema)
        choice = merged.ask(subject)
        if choice is None or choice == _WINNERS.get(disputed.kind):
            continue
        merged.go(OURS, disputed.places[OURS])
        merged.go(THEIRS, disputed.places[THEIRS])
        if not isinstance(choice, str):
            merged.put(disputed.id, choice, subject)
        elif disputed.kind not in _WINNERS:
            merged.winners[disputed.id] = choice == THEIRS


_WINNERS = {DELETED_BY_THEIRS: OURS, DELETED_BY_OURS: THEIRS}
"""The side that has the row, and keeps it if it wins."""


@dataclass(frozen=True, slots=True)
class _KeyMerge:
    """Finds keys that both sides have in new places: one row stays of two that are alike, others are disputed."""

    merged: MergedFrames
    scratch: HeldRows
    sides: RowSides
    copies: _Copies

    def merge(self) -> None:
        merging, keys = self.merged.merging, self.merged.merging.reader.keys
        left = {OURS: self._left(OURS, self.copies.ours), THEIRS: self._left(THEIRS, self.copies.theirs)}
        pairs = rows_with_one_key(left[OURS], left[THEIRS], keys)
        pieces = {BASE: (), **self._pieces}
        compared = merging.run(
            "compare the keys of a merge",
            lambda: compare(merging.reader, merging.python, self.scratch, pairs, pieces),
        )
        if compared is not None:
            self.merged.go_all(compared.gone)
            for disputed in compared.disputed:
                self._settle(disputed)

    def merge_written(self) -> None:
        """Find new rows of both sides whose key a row to write has got."""
        for side, copies in ((OURS, self.copies.ours), (THEIRS, self.copies.theirs)):
            if self.merged.is_rekeyed:
                self._merge_written(side, self._left(side, copies))

    @property
    def _pieces(self) -> dict[str, Sequence[Piece]]:
        return {OURS: self.sides.ours, THEIRS: self.sides.theirs}

    def _left(self, side: str, copies: DataFrame) -> DataFrame:
        """The copies of a side that stay."""
        compared, decided = self.merged.compared, self.merged.decided[side]
        if compared is not None:
            gone = compared.rows.where(f"{side}_goes").select(*place_columns(side)).toDF(*PLACE)
            copies = copies.join(gone, [*PLACE], "left_anti")
        return copies.join(self._places(side, decided), [*PLACE], "left_anti") if decided else copies

    def _places(self, side: str, places: Sequence[Place]) -> DataFrame:
        """Places that are known in this process."""
        ordinals = {piece.file.path: place for place, piece in enumerate(self._pieces[side])}
        columns = {
            "ordinal": pyarrow.array([ordinals[path] for path, _ in places], pyarrow.int32()),
            "position": pyarrow.array([position for _, position in places], pyarrow.int64()),
        }
        return self.merged.merging.reader.source.spark.createDataFrame(pyarrow.table(columns))

    def _settle(self, disputed: Disputed) -> None:
        merged, subject = self.merged, disputed.row(self.merged.merging.schema, "key")
        choice = merged.ask(subject)
        if choice is None:
            return
        if choice != OURS:
            merged.go(OURS, disputed.places[OURS])
        if choice != THEIRS:
            merged.go(THEIRS, disputed.places[THEIRS])
        if not isinstance(choice, str):
            merged.put(disputed.id, choice, subject)

    def _merge_written(self, side: str, copies: DataFrame) -> None:
        """Find rows of a side whose key a row has that was combined of cells of both: a side changed its key."""
        other = THEIRS if side == OURS else OURS
        found = self.merged.merging.run("compare the keys of merged rows", lambda: self._same_keys(side, copies))
        for id, place, written, row in found:
            values = (row, written) if side == OURS else (written, row)
            key = key_of(self.merged.merging.schema, values[0])
            subject = DisputedRow("key", id, key, (), None, *values, None, place, place)
            choice = self.merged.ask(subject)
            if choice is None:
                continue
            if choice != side:
                self.merged.go(side, place)
            if choice != other:
                self.merged.drop(id)
            if not isinstance(choice, str):
                self.merged.put(id, choice, subject)

    def _same_keys(self, side: str, copies: DataFrame) -> list[tuple[int, Place, Row, Row]]:
        """Rows to write and rows of a side with the same key: id, place, and the values of both."""
        merging, pieces = self.merged.merging, self._pieces[side]
        schema, reader = merging.schema, merging.reader
        rows = self.merged.rekeyed_rows()
        names = [f"c{place}" for place in range(len(schema.fields))]
        written = rows.toDF("id", *names).select("id", F.struct(*names).alias("written"), *reader.key_columns())
        found = written.join(copies.drop("id"), reader.keys).drop(*reader.keys)
        met = found.orderBy("id", *PLACE).toArrow()
        places = [(pieces[ordinal].file.path, position) for ordinal, position in _addresses(met)]
        kept = [row for row, place in enumerate(places) if not self.merged.is_gone(side, place)]
        if not kept:
            return []
        met = met.take(pyarrow.array(kept))
        own = reader.values(pieces, {ordinal for ordinal, _ in _addresses(met)}).drop("id")
        wanted = reader.source.spark.createDataFrame(met.select([*PLACE]).combine_chunks()).distinct()
        shown = own.join(wanted, [*PLACE]).toArrow()
        values = dict(zip(_addresses(shown), row_values(merging, shown["row"]), strict=True))
        ids, merged = met["id"].to_pylist(), row_values(merging, met["written"])
        return [
            (ids[row], places[kept[row]], merged[row], values[address]) for row, address in enumerate(_addresses(met))
        ]


def _addresses(rows: pyarrow.Table) -> list[tuple[int, int]]:
    return list(zip(*(rows[part].to_pylist() for part in PLACE), strict=True))


def row_values(merging: Merging, rows: pyarrow.ChunkedArray) -> list[dict[str, object]]:
    """Structs of the columns c0, c1, … as rows of Python's values."""
    return merging.python.row_values(merging.schema, struct_rows(merging.schema, rows))


def _broken(merging: Merging, rows: DataFrame, checks: Sequence[Check], side: str) -> list[DisputedRow]:
    """The rows, given as `id` and the table's columns, that break a check, in the order of the checks."""
    schema = merging.schema
    named = rows.toDF(ROW_ID.name, *schema.names)
    flags = [is_broken(check, named).alias(f"b{place}") for place, check in enumerate(checks)]
    columns = [F.col(quoted(name)).alias(f"c{place}") for place, name in enumerate(schema.names)]
    tested = named.select(F.col(ROW_ID.name).alias("id"), F.struct(*columns).alias("row"), *flags)
    found = tested.where(any_of(F.col(f"b{place}") for place in range(len(checks)))).orderBy("id").toArrow()
    ids, values = found["id"].to_pylist(), row_values(merging, found["row"])
    return [
        DisputedRow(
            f"check {check.name}",
            ids[row],
            key_of(schema, values[row]),
            (),
            None,
            *((values[row], None) if side == OURS else (None, values[row])),
        )
        for place, check in enumerate(checks)
        for row, broken in enumerate(found[f"b{place}"].to_pylist())
        if broken
    ]
