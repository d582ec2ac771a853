"""Rows that would have one primary key after a merge, found by Spark: keys are joined by executors, pairs come here.

ordinal, position, k0, k1, …  the index of a row's piece and its position; of a row to write -1, and its id
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import WRITTEN, DisputedRow, KeyCheck, Place, Row
from lakebed.spark.read.metadata_columns import numbers
from lakebed.spark.rows.comparison import PythonValues, struct_rows
from lakebed.spark.rows.copies import PLACE, HeldRows, PieceReader
from lakebed.spark.rows.source import source_keys
from lakebed.table.filter.filter import Filter
from lakebed.table.types.types import DOUBLE, FLOAT

_OTHER = ("other_ordinal", "other_position")
_WRITTEN_ORDINAL = -1

Shown = Mapping[Place, tuple[int, Row]]
"""The ids and the values of rows."""


def repeated_keys(
    reader: PieceReader, python: PythonValues, check: KeyCheck, rekeyed: DataFrame | None, written: DataFrame | None
) -> list[DisputedRow]:
    """Each pair of rows with one key, of which one is looked for: those of the check, and the `rekeyed` ones.

    `rekeyed` and `written` are rows to write, as `id`, c0, c1, …
    """
    scratch = HeldRows()
    try:
        asked = [reader.copies(check.pieces).drop("id")] if check.pieces else []
        asked += [] if rekeyed is None else [_written_keys(reader, rekeyed)]
        if not asked:
            return []
        keys = scratch.hold(reduce(DataFrame.unionByName, asked))
        count, filter = _count_and_filter(reader, keys)
        if not count:
            return []
        holders = list(check.holders(filter))
        found = _pairs(reader, check, keys, holders, written)
        ids = set() if rekeyed is None else {id for _, id in keys.where("ordinal < 0").select(*PLACE).collect()}
    finally:
        scratch.release()
    pairs = check.each_once(ids, found)
    shown = _shown(reader, python, holders, {place for pair in pairs for place in pair}, written)
    return [check.disputed(one, *shown[one], other, shown[other][1]) for one, other in pairs]


def _written_keys(reader: PieceReader, rows: DataFrame) -> DataFrame:
    named = rows.toDF("id", *(f"c{place}" for place in range(len(reader.schema.fields))))
    ordinal = F.lit(_WRITTEN_ORDINAL).alias("ordinal")
    return named.select(ordinal, F.col("id").alias("position"), *reader.key_columns())


def _count_and_filter(reader: PieceReader, keys: DataFrame) -> tuple[int, Filter | None]:
    """How many keys there are, and a filter that rows with one of them pass."""
    ways = [reader.schema.way_by_id(id) for id in reader.schema.identifier_ids]
    plain = {
        way[0]: F.col(name)
        for way, name in zip(ways, reader.keys, strict=True)
        if len(way) == 1 and way[0].type not in (FLOAT, DOUBLE)
    }
    if not plain:
        return keys.count(), None
    known = source_keys(keys.select(*reader.keys), plain)
    return known.rows, known.filter


def _pairs(
    reader: PieceReader, check: KeyCheck, keys: DataFrame, holders: Sequence[Piece], written: DataFrame | None
) -> list[tuple[Place, Place]]:
    """The places of rows that are looked for, each with that of another row with its key."""
    others = [reader.copies(holders).drop("id")] if holders else []
    others += [] if written is None else [_written_keys(reader, written)]
    if not others:
        return []
    found = reduce(DataFrame.unionByName, others).toDF(*_OTHER, *reader.keys).join(keys, reader.keys)
    ordinals = {piece.file.path: place for place, piece in enumerate(holders)}
    same = F.get(numbers([ordinals.get(piece.file.path, -2) for piece in check.pieces] or [-2]), F.col("ordinal"))
    is_same = F.coalesce(same, F.lit(_WRITTEN_ORDINAL)) == F.col(_OTHER[0])
    rows = found.where(~(is_same & (F.col("position") == F.col(_OTHER[1])))).select(*PLACE, *_OTHER)
    return [
        (_place(check.pieces, ordinal, position), _place(holders, other, at))
        for ordinal, position, other, at in rows.collect()
    ]


def _place(pieces: Sequence[Piece], ordinal: int, position: int) -> Place:
    return (WRITTEN if ordinal == _WRITTEN_ORDINAL else pieces[ordinal].file.path, position)


def _shown(
    reader: PieceReader, python: PythonValues, holders: Sequence[Piece], places: set[Place], written: DataFrame | None
) -> Shown:
    found: dict[Place, tuple[int, Row]] = {}
    spark, schema = reader.source.spark, reader.schema
    ids = [position for path, position in places if path == WRITTEN]
    if ids:
        assert written is not None
        rows = written.join(reader.ids(ids), "id", "left_semi").toArrow()
        values = python.row_values(schema, rows.drop_columns(["id"]))
        found |= {(WRITTEN, id): (id, row) for id, row in zip(rows["id"].to_pylist(), values, strict=True)}
    ordinals = {piece.file.path: place for place, piece in enumerate(holders)}
    stored = [(ordinals[path], position) for path, position in places if path != WRITTEN]
    if stored:
        columns = zip(*stored, strict=True)
        types = (pyarrow.int32(), pyarrow.int64())
        arrays = {name: pyarrow.array(values, type) for name, values, type in zip(PLACE, columns, types, strict=True)}
        wanted = spark.createDataFrame(pyarrow.table(arrays))
        rows = reader.values(holders, {ordinal for ordinal, _ in stored}).join(wanted, [*PLACE]).toArrow()
        values = python.row_values(schema, struct_rows(schema, rows["row"]))
        lines = zip(*(rows[name].to_pylist() for name in (*PLACE, "id")), values, strict=True)
        found |= {(holders[ordinal].file.path, position): (id, row) for ordinal, position, id, row in lines}
    return found
