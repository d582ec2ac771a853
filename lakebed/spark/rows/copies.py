"""Copies of rows on the sides of a merge: their ids, places and keys, as DataFrames, and which of them are one row.

    id, ordinal, position, k0, k1, …  a row's id, the index of its piece, its position there, the parts of its key

Columns of the table are called c0, c1, … while rows are compared: a table may have columns of any name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Final

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.feed.steps import Piece
from lakebed.spark.fit import quoted
from lakebed.spark.jobs.run import expect_files
from lakebed.spark.read.filter import to_spark
from lakebed.spark.read.metadata_columns import numbers
from lakebed.spark.read.pieces import read_pieces
from lakebed.spark.read.source import ORDINAL, Source
from lakebed.spark.types import result_schema
from lakebed.table.filter.filter import Filter, fields_of
from lakebed.table.schema.metadata_columns import POSITION, ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Way

BASE: Final = "base"
OURS: Final = "ours"
THEIRS: Final = "theirs"
SIDES: Final = (BASE, OURS, THEIRS)

TWIN: Final = "twin"
OLDER: Final = "older"
"""Where merges crossed: another copy of a row of the base, and the one that both were made of."""

PLACE: Final = ("ordinal", "position")


class HeldRows:
    """Rows that are computed once, and that executors keep in memory or on disk until they are released."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def hold(self, rows: DataFrame) -> DataFrame:
        held = rows.persist()
        self._frames.append(held)
        return held

    def release(self) -> None:
        while self._frames:
            self._frames.pop().unpersist()


@dataclass(frozen=True, slots=True)
class PieceReader:
    """Reads pieces of one table's files, in the columns of the merged schema."""

    source: Source
    schema: Schema

    @property
    def keys(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.schema.identifier_ids))]

    def copies(self, pieces: Sequence[Piece]) -> DataFrame:
        """The ids, places and keys of the rows."""
        rows = self._read(pieces, dict.fromkeys(way[0].name for way in self._key_ways))
        return rows.select(F.col(ROW_ID.name).alias("id"), *_place(), *self.key_columns())

    def key_columns(self) -> list[Column]:
        """The parts of the key of rows with the columns c0, c1, …"""
        paths = [".".join(quoted(field.name) for field in way) for way in self._key_ways]
        return [F.col(path).alias(name) for path, name in zip(paths, self.keys, strict=True)]

    def values(self, pieces: Sequence[Piece], ordinals: Iterable[int]) -> DataFrame:
        """The places, ids and values, as one struct, of the rows of the pieces with these ordinals."""
        wanted = sorted(ordinals)
        rows = self._read([pieces[ordinal] for ordinal in wanted], _plain_schema(self.schema).names)
        ordinal = F.get(numbers(wanted), F.col(quoted(ORDINAL))).cast("int").alias("ordinal")
        columns = F.struct(*_plain_schema(self.schema).names).alias("row")
        return rows.select(ordinal, F.col(POSITION.name).alias("position"), F.col(ROW_ID.name).alias("id"), columns)

    def passing(self, pieces: Sequence[Piece], ordinals: Iterable[int], filter: Filter) -> DataFrame:
        """The places and ids of the rows of the pieces with these ordinals that pass a filter of any schema."""
        wanted = sorted(ordinals)
        fields = fields_of(filter)
        names = {field.id: f"c{place}" for place, field in enumerate(fields)}
        reader = replace(self, schema=Schema(fields))
        rows = reader._read([pieces[ordinal] for ordinal in wanted], names.values())
        ordinal = F.get(numbers(wanted), F.col(quoted(ORDINAL))).cast("int").alias("ordinal")
        passes = to_spark(filter, lambda field: names.get(field.id, field.name))
        return rows.where(passes).select(
            ordinal, F.col(POSITION.name).alias("position"), F.col(ROW_ID.name).alias("id")
        )

    def no_values(self) -> Column:
        """The values of a row that is not there."""
        return F.lit(None).cast(result_schema(_plain_schema(self.schema)))

    def ids(self, ids: Iterable[int]) -> DataFrame:
        """Ids that are known in this process."""
        return self.source.spark.createDataFrame(pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())}))

    @property
    def _key_ways(self) -> list[Way]:
        plain = _plain_schema(self.schema)
        return [plain.way_by_id(id) for id in plain.identifier_ids]

    def _read(self, pieces: Sequence[Piece], columns: Iterable[str]) -> DataFrame:
        expect_files([piece.file for piece in pieces])
        names = [*columns, ROW_ID.name, ORDINAL, POSITION.name]
        return read_pieces(self.source, _plain_schema(self.schema), pieces, names)


def contested_copies(base: DataFrame, shared: DataFrame, shared_ordinals: Sequence[int]) -> DataFrame:
    """The contested rows, without those that both sides have in a file that they got since."""
    is_shared = F.col("ordinal").isin(list(shared_ordinals))
    elsewhere = shared.select("id", F.lit(True).alias("elsewhere")).distinct()
    return base.join(elsewhere, "id", "left").where(is_shared | F.col("elsewhere").isNull()).drop("elsewhere")


def youngest(copies: DataFrame) -> DataFrame:
    """Each row once: one that was changed again, and given to both sides again, is in several files."""
    others = [name for name in copies.columns if name != "id"]
    last = F.max_by(F.struct(*others), F.struct(*PLACE)).alias("row")
    return copies.groupBy("id").agg(last).select("id", "row.*")


def twins_of(rows: DataFrame, copies: DataFrame, older: DataFrame, single: DataFrame) -> DataFrame:
    """The places of the older copies of rows, and of their twins: a line for each row that has both.

    So has a row without a twin that only one of the commits has that both sides follow from: the other deleted it.
    """
    twins = youngest(copies.join(rows.select(*PLACE), [*PLACE], "left_anti"))
    found = _of_side(youngest(older), OLDER).join(_of_side(twins, TWIN), "id", "left")
    is_single = single.select("id", F.lit(True).alias("single")).distinct()
    return found.join(is_single, "id", "left").where(has(TWIN) | F.col("single")).drop("single")


def with_replaced(base: DataFrame, side: DataFrame, shared: DataFrame | None, keys: Sequence[str]) -> DataFrame:
    """The side with the ids of the base for rows that it deleted and wrote again with the same key."""
    lost = base.join(side.select("id"), "id", "left_anti").select(F.col("id").alias("lost"), *keys)
    known = base.select("id") if shared is None else base.select("id").union(shared.select("id"))
    again = side.join(known, "id", "left_anti").join(lost, [*keys]).select(*PLACE, "lost")
    return side.join(again, [*PLACE], "left").select(F.coalesce("lost", "id").alias("id"), *PLACE, *keys)


def moved_rows(base: DataFrame, ours: DataFrame, theirs: DataFrame, twins: DataFrame | None) -> DataFrame:
    """The places of rows that are on two sides or three, a line for each id."""
    sides = _of_side(ours, OURS).join(_of_side(theirs, THEIRS), "id", "full_outer")
    is_both = has(OURS) & has(THEIRS)
    found = sides.join(_of_side(base, BASE), "id", "left").where(has(BASE) | is_both)
    if twins is None:
        return found
    return found.join(twins, "id", "left").where(is_both | ~has(OLDER) | has(TWIN))


def rows_with_one_key(ours: DataFrame, theirs: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The same for different rows of two sides with one primary key, under the id of ours."""
    theirs = _of_side(theirs, THEIRS, keys).withColumnRenamed("id", "other")
    pairs = _of_side(ours, OURS, keys).join(theirs, [*keys]).where("id <> other")
    absent = [F.lit(None).cast(type).alias(f"{BASE}_{part}") for part, type in zip(PLACE, ("int", "long"), strict=True)]
    return pairs.drop("other", *keys).select("*", *absent)


def has(side: str) -> Column:
    """Whether a side has the row."""
    return F.col(f"{side}_ordinal").isNotNull()


def place_columns(side: str) -> list[str]:
    return [f"{side}_{part}" for part in PLACE]


def any_of(conditions: Iterable[Column]) -> Column:
    return reduce(or_, conditions)


def _plain_schema(schema: Schema) -> Schema:
    """The schema with names that need no quotes; files are read by physical names."""
    fields = [replace(field, name=f"c{place}") for place, field in enumerate(schema.fields)]
    return Schema(fields, schema.id, schema.identifier_ids)


def _place() -> list[Column]:
    return [F.col(quoted(ORDINAL)).alias("ordinal"), F.col(POSITION.name).alias("position")]


def _of_side(copies: DataFrame, side: str, others: Sequence[str] = ()) -> DataFrame:
    places = [F.col(part).alias(name) for part, name in zip(PLACE, place_columns(side), strict=True)]
    return copies.select("id", *places, *others)
