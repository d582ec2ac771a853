"""New rows of one side of a merge that are among those which the other side overwrote, found by Spark.

Executors test the filters of the overwrites. What passes, and no other rule has matched, is in dispute, and comes to
the driver: places first, then values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow
from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import OURS, DisputedRow, Phantoms, Place, RowSides, phantom_row
from lakebed.spark.rows.copies import BASE, PLACE, THEIRS, has, place_columns, youngest
from lakebed.spark.rows.same_values import same_value
from lakebed.spark.rows.three_way import MergedFrames, row_values


def settle_phantoms(merged: MergedFrames, sides: RowSides) -> None:
    """Ask for each row that one side added, or changed, where the other side overwrote what there was."""
    for side, phantoms in sides.phantoms.items():
        search = _Search(merged, sides, phantoms, side)
        merged.rows_read += sides.tested_rows(side)
        for disputed in merged.merging.run("look for rows in overwritten ones", search.disputed):
            _settle(merged, side, disputed)


def _settle(merged: MergedFrames, side: str, disputed: DisputedRow) -> None:
    choice = merged.ask(disputed)
    if choice is None or choice == side:
        return
    assert disputed.row_id is not None
    merged.go(side, disputed.ours_place if side == OURS else disputed.theirs_place)
    if not isinstance(choice, str):
        merged.put(disputed.row_id, choice, disputed)
    elif disputed.base_place is not None:
        path, position = disputed.base_place
        merged.back.setdefault(path, BitMap64()).add(position)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for the rows of one side."""

    merged: MergedFrames
    sides: RowSides
    phantoms: Phantoms
    side: str

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.sides.new_rows(self.side)

    def disputed(self) -> list[DisputedRow]:
        """The rows in dispute, by their ids."""
        found = self._with_partners(self._passing()).toArrow()
        known = {row.ours_place if self.side == OURS else row.theirs_place for row in self.merged.conflicts}
        paths = [piece.file.path for piece in self.pieces]
        addresses = zip(*(found[part].to_pylist() for part in PLACE), strict=True)
        places = [(paths[ordinal], position) for ordinal, position in addresses]
        is_open = [place not in known and not self.merged.is_gone(self.side, place) for place in places]
        found = found.filter(pyarrow.array(is_open, pyarrow.bool_())).combine_chunks()
        return list(self._rows(self._with_values(found))) if found.num_rows else []

    @property
    def _other(self) -> str:
        return THEIRS if self.side == OURS else OURS

    def _passing(self) -> DataFrame:
        """The places and ids of the new rows that pass a filter of the overwrites."""
        frames = []
        for one in self.phantoms.overwritten:
            ordinals = [number for number, piece in enumerate(self.pieces) if piece.file.path in one.paths]
            frames.append(self.merged.merging.reader.passing(self.pieces, ordinals, one.filter))
        return reduce(DataFrame.union, frames).dropDuplicates([*PLACE])

    def _with_partners(self, rows: DataFrame) -> DataFrame:
        """The rows with the ids that they were matched by, and where the other side has them if it has moved them."""
        partner = place_columns(self._other)
        if self.merged.compared is None:
            absent = [F.lit(None).cast(type) for type in ("long", "int", "long")]
            return rows.select("id", *PLACE, *absent).toDF("id", *PLACE, "known", *partner)
        pairs = self.merged.compared.rows.where(has(OURS) & has(THEIRS))
        pairs = pairs.select(*place_columns(self.side), "id", *partner).toDF(*PLACE, "known", *partner)
        return rows.join(pairs, [*PLACE], "left").select("id", *PLACE, "known", *partner)

    def _with_values(self, found: pyarrow.Table) -> pyarrow.Table:
        """The rows with their values, and those of the same rows as the other side has them."""
        reader, partner = self.merged.merging.reader, place_columns(self._other)
        wanted = reader.source.spark.createDataFrame(found)
        rows = reader.values(self.pieces, set(found["ordinal"].to_pylist())).drop("id").join(wanted, [*PLACE])
        rows = rows.select("id", "known", *PLACE, "row", *partner)
        moved = sorted({ordinal for ordinal in found[partner[0]].to_pylist() if ordinal is not None})
        if moved:
            others = reader.values(self.sides.new_rows(self._other), moved).toDF(*partner, "other_id", "moved")
            rows = rows.join(others, partner, "left")
        else:
            rows = rows.select("*", F.lit(None).cast("long").alias("other_id"), reader.no_values().alias("moved"))
        if self.phantoms.left:
            left = reader.values(self.phantoms.left, range(len(self.phantoms.left))).select("id", *PLACE, "row")
            rows = rows.join(youngest(left).toDF("id", *place_columns(BASE), "left"), "id", "left")
        else:
            absent = [F.lit(None).cast(type) for type in ("int", "long")]
            rows = rows.select("*", *absent, reader.no_values()).toDF(*rows.columns, *place_columns(BASE), "left")
        rows = rows.where("other_id is null or other_id = known")  # else it was merged with a row that has its key
        is_moved = F.col("other_id").isNotNull()
        rows = rows.withColumn(BASE, F.when(is_moved, F.col("moved")).otherwise(F.col("left"))).drop("moved", "left")
        return rows.select("*", self._changed().alias("changed")).orderBy("id").toArrow()

    def _changed(self) -> Column:
        cells = (
            F.col(BASE).isNotNull() & ~same_value(field, *(F.col(row).getField(f"c{place}") for row in ("row", BASE)))
            for place, field in enumerate(self.merged.merging.schema.fields)
        )
        return F.array(*cells)

    def _rows(self, found: pyarrow.Table) -> Iterator[DisputedRow]:
        merging, partner = self.merged.merging, place_columns(self._other)
        values, before = (row_values(merging, found[name].drop_null()) for name in ("row", BASE))
        columns = ("id", "known", *PLACE, "other_id", *partner, *place_columns(BASE), "changed")
        earlier = iter(before)
        for row, values_now in zip(found.select(columns).to_pylist(), values, strict=True):
            is_moved = row["other_id"] is not None
            old = (
                _address(row, partner, self.sides.new_rows(self._other))
                if is_moved
                else _address(row, place_columns(BASE), self.phantoms.left)
            )
            was = None if old is None else (next(earlier), old)
            changed = tuple(name for name, differs in zip(merging.schema.names, row["changed"], strict=True) if differs)
            if was is None or changed:  # else it was only moved
                place = _address(row, PLACE, self.pieces)
                assert place is not None
                row_id = row["id"] if row["known"] is None else row["known"]
                yield phantom_row(merging.schema, self.side, row_id, (values_now, place), was, changed)


def _address(row: Mapping[str, int], names: Sequence[str], pieces: Sequence[Piece]) -> Place | None:
    ordinal, position = (row[name] for name in names)
    return None if ordinal is None else (pieces[ordinal].file.path, position)
