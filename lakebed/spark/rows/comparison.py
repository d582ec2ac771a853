"""Rows that several sides of a merge have, compared cell by cell on the executors.

    id, base_ordinal, base_position, ours_…, theirs_…   the row, and where each side has it; null where it is not
    kind                                                what becomes of it
    ours_goes, theirs_goes                              whether the side's copy goes
    ours_kept, theirs_kept, disputed                    for each column: is it as in the base, do the sides differ
    rekeyed                                             whether the sides have different keys of it
    base, ours, theirs                                  its values, unless one copy just stays

Only positions of copies that go, and rows in dispute, come to the driver.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow
from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import DisputedRow, Place, Row, RowNumbers, key_of
from lakebed.spark.rows.addresses import FILE_ORDINAL, POSITION, bare, deletion
from lakebed.spark.rows.copies import (
    BASE,
    OLDER,
    OURS,
    PLACE,
    SIDES,
    THEIRS,
    TWIN,
    HeldRows,
    PieceReader,
    has,
    place_columns,
)
from lakebed.spark.rows.same_values import same_value
from lakebed.spark.rows.source import broadcast_if_small
from lakebed.table.schema.schema import Schema

SETTLED, COMBINED = 0, 1
IN_BOTH, DELETED_BY_THEIRS, DELETED_BY_OURS, WITHOUT_BASE = 2, 3, 4, 5
"""Kinds of rows; from `IN_BOTH` on they are in dispute."""

_PLACE_BYTES: Final = 32

Pieces = Mapping[str, Sequence[Piece]]
"""What each side is read from."""


class PythonValues(RowNumbers, Protocol):
    """Turns Arrow's values into Python's and back, and reads the numbers of a few rows, as the local engine does."""

    def row_values(self, schema: Schema, rows: pyarrow.Table) -> list[dict[str, object]]: ...

    def typed_rows(self, schema: Schema, rows: Sequence[Row]) -> pyarrow.Table: ...


@dataclass(frozen=True, slots=True)
class Disputed:
    """A row in dispute, with the kind of the dispute."""

    kind: int
    id: int
    columns: tuple[str, ...]
    values: Mapping[str, Row | None]
    places: Mapping[str, Place | None]

    def row(self, schema: Schema, what: str = "row") -> DisputedRow:
        """What somebody has to decide."""
        base, ours, theirs = (self.values[side] for side in SIDES)
        places = [self.places[side] for side in SIDES]
        row_id, key = self.id if what == "row" else None, key_of(schema, ours or theirs or {})
        return DisputedRow(what, row_id, key, self.columns, base, ours, theirs, *places)


@dataclass(frozen=True, slots=True)
class Compared:
    """Compared rows, which executors keep, and what of them the driver knows."""

    rows: DataFrame
    combined: int
    rekeyed: int
    gone: Mapping[str, Mapping[str, BitMap64]]
    disputed: Sequence[Disputed]


def compare(
    reader: PieceReader, python: PythonValues, held: HeldRows, found: DataFrame, pieces: Pieces
) -> Compared | None:
    """Compare rows whose places are known; None if there are none. `held` gets what is kept."""
    places = held.hold(found)
    sets = [F.collect_set(f"{side}_ordinal").alias(side) for side in pieces]
    [(count, *ordinals)] = places.agg(F.count("*"), *sets).collect()
    if not count:
        return None
    valued = places
    for (side, read), wanted in zip(pieces.items(), ordinals, strict=True):
        valued = _with_values(reader, valued, side, read, wanted, places, count)
    if TWIN in pieces:
        valued = valued.withColumn(BASE, _newer_cells(reader.schema))
    rows = held.hold(_compared(reader.schema, valued))
    [(ours, theirs, combined, rekeyed, disputed)] = rows.agg(
        F.count_if("ours_goes"),
        F.count_if("theirs_goes"),
        F.count_if(F.col("kind") == COMBINED),
        F.count_if("rekeyed"),
        F.count_if(F.col("kind") >= IN_BOTH),
    ).collect()
    gone = {side: _gone(rows, side, pieces[side], most) for side, most in ((OURS, ours), (THEIRS, theirs))}
    return Compared(rows, combined, rekeyed, gone, _disputed(reader.schema, python, rows, pieces) if disputed else ())


def _newer_cells(schema: Schema) -> Column:
    """The values of a row of the base; of one with a twin, a cell is the twin's that is as in their older copy."""
    is_old = _same(schema, BASE, OLDER)
    cells = (
        F.when(F.get(is_old, F.lit(place)), F.col(TWIN).getField(name))
        .otherwise(F.col(BASE).getField(name))
        .alias(name)
        for place, name in enumerate(f"c{place}" for place in range(len(schema.fields)))
    )
    return F.when(has(TWIN), F.struct(*cells)).otherwise(F.col(BASE))


def chosen_cells(schema: Schema, takes_theirs: Column) -> list[Column]:
    """The cells of both sides: a disputed cell is the winner's, any other that of the side that changed it."""
    cells = []
    for place in range(len(schema.fields)):
        is_theirs = F.when(takes_theirs, ~F.get("theirs_kept", F.lit(place))).otherwise(
            F.get("ours_kept", F.lit(place))
        )
        mine, other = (F.col(side).getField(f"c{place}") for side in (OURS, THEIRS))
        cells.append(F.when(is_theirs, other).otherwise(mine).alias(f"c{place}"))
    return cells


def struct_rows(schema: Schema, rows: pyarrow.ChunkedArray) -> pyarrow.Table:
    """A column of structs as a table."""
    whole = rows.combine_chunks()
    return pyarrow.table(whole.flatten(), names=[f"c{place}" for place in range(len(schema.fields))])


def _with_values(
    reader: PieceReader,
    rows: DataFrame,
    side: str,
    pieces: Sequence[Piece],
    ordinals: Sequence[int],
    places: DataFrame,
    count: int,
) -> DataFrame:
    """The rows with the values of one side, read from the files that have such a row."""
    if not ordinals:
        return rows.withColumn(side, reader.no_values())
    names = place_columns(side)
    values = reader.values(pieces, ordinals).drop("id").toDF(*names, side)
    wanted = broadcast_if_small(places.select(*names), count * _PLACE_BYTES)
    return rows.join(values.join(wanted, names, "left_semi"), names, "left")


def _compared(schema: Schema, rows: DataFrame) -> DataFrame:
    in_both = has(OURS) & has(THEIRS)
    cells = rows.select(
        "id",
        *(name for side in SIDES for name in place_columns(side)),
        *SIDES,
        _same(schema, OURS, THEIRS).alias("same"),
        _kept(schema, OURS).alias("ours_kept"),
        _kept(schema, THEIRS).alias("theirs_kept"),
    )
    stays = in_both & _all_kept("theirs_kept")
    is_replaced = in_both & ~stays & _all_kept("ours_kept")
    either = F.zip_with("ours_kept", "theirs_kept", lambda one, other: one | other)
    disputed = (
        F.when(in_both, F.zip_with(either, "same", lambda one, other: ~(one | other)))
        .when(has(OURS), F.transform("ours_kept", lambda kept: ~kept))
        .otherwise(F.transform("theirs_kept", lambda kept: ~kept))
    )
    kind = (
        F.when(stays | is_replaced | ~F.array_contains("disputed", True), F.lit(SETTLED))
        .when(~has(BASE), F.lit(WITHOUT_BASE))
        .when(in_both, F.lit(IN_BOTH))
        .when(has(OURS), F.lit(DELETED_BY_THEIRS))
        .otherwise(F.lit(DELETED_BY_OURS))
    )
    is_combined = in_both & ~stays & ~is_replaced & ~F.array_contains("disputed", True)
    kinds = cells.withColumn("disputed", disputed).withColumn(
        "kind", F.when(is_combined, F.lit(COMBINED)).otherwise(kind)
    )
    combined, settled = F.col("kind") == COMBINED, F.col("kind") == SETTLED
    return kinds.select(
        "id",
        *(name for side in SIDES for name in place_columns(side)),
        "kind",
        "ours_kept",
        "theirs_kept",
        "disputed",
        (in_both & ~settled & _is_rekeyed(schema)).alias("rekeyed"),
        (combined | is_replaced | (settled & ~has(THEIRS))).alias("ours_goes"),
        (combined | stays | (settled & ~has(OURS))).alias("theirs_goes"),
        *(F.when(~settled, F.col(side)).alias(side) for side in SIDES),
    )


def _is_rekeyed(schema: Schema) -> Column:
    """Whether the sides differ in a column of the key."""
    keys = {schema.way_by_id(id)[0].id for id in schema.identifier_ids}
    places = [place for place, field in enumerate(schema.fields) if field.id in keys]
    return F.array_contains(F.array(F.lit(False), *(~F.get("same", F.lit(place)) for place in places)), True)


def _same(schema: Schema, one: str, other: str) -> Column:
    """For each column whether two sides have the same value."""
    return F.array(
        *(
            same_value(field, F.col(one).getField(f"c{place}"), F.col(other).getField(f"c{place}"))
            for place, field in enumerate(schema.fields)
        )
    )


def _kept(schema: Schema, side: str) -> Column:
    """For each column whether a side has the value of the base: of a row that the base never had, none."""
    none = F.array_repeat(F.lit(False), len(schema.fields))
    return F.when(has(BASE), _same(schema, BASE, side)).otherwise(none)


def _all_kept(kept: str) -> Column:
    """Whether every cell of a side is as in the base, or as on the other side."""
    return ~F.array_contains(F.zip_with(kept, "same", lambda one, same: one | same), False)


def _gone(rows: DataFrame, side: str, pieces: Sequence[Piece], most: int) -> dict[str, BitMap64]:
    if not most:
        return {}
    names = zip(place_columns(side), (FILE_ORDINAL, POSITION), strict=True)
    placed = rows.where(f"{side}_goes").select(*(F.col(name).alias(bare(new)) for name, new in names))
    found = deletion(placed, [piece.file for piece in pieces], most).some
    return {file.path: positions for file, positions in found}


def _disputed(schema: Schema, python: PythonValues, rows: DataFrame, pieces: Pieces) -> list[Disputed]:
    found = rows.where(F.col("kind") >= IN_BOTH).orderBy("kind", "id").toArrow()
    values = {side: _values(schema, python, found[side]) for side in SIDES}
    places = {side: _places(found, side, pieces[side]) for side in SIDES}
    flags = [
        tuple(name for name, is_disputed in zip(schema.names, row, strict=True) if is_disputed)
        for row in found["disputed"].to_pylist()
    ]
    return [
        Disputed(
            kind,
            id,
            flags[row],
            {side: values[side][row] for side in SIDES},
            {side: places[side][row] for side in SIDES},
        )
        for row, (kind, id) in enumerate(zip(found["kind"].to_pylist(), found["id"].to_pylist(), strict=True))
    ]


def _values(schema: Schema, python: PythonValues, rows: pyarrow.ChunkedArray) -> list[Row | None]:
    present = iter(python.row_values(schema, struct_rows(schema, rows.drop_null())))
    return [next(present) if is_there else None for is_there in rows.is_valid().to_pylist()]


def _places(found: pyarrow.Table, side: str, pieces: Sequence[Piece]) -> list[Place | None]:
    ordinals, positions = (found[f"{side}_{part}"].to_pylist() for part in PLACE)
    return [
        None if ordinal is None else (pieces[ordinal].file.path, position)
        for ordinal, position in zip(ordinals, positions, strict=True)
    ]
