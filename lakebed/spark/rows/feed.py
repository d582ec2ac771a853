"""The rows of a feed as a DataFrame: executors read the pieces, and join both sides of a step by the rows' ids.

    step = the place of the commit among those of the feed

All steps are read together: one scan for each side, and more only if a file has pieces in several steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed.columns import DELETE, FEED_COLUMNS, FEED_NAMES, INSERT, POSTIMAGE, PREIMAGE
from lakebed.catalog.feed.feed import Feed
from lakebed.catalog.feed.steps import Piece, Rows, Step
from lakebed.spark.fit import quoted
from lakebed.spark.read.filter import to_spark
from lakebed.spark.read.metadata_columns import lookup, numbers
from lakebed.spark.read.pieces import read_pieces
from lakebed.spark.read.source import ORDINAL, ReadInline, Source
from lakebed.spark.rows.same_values import same_value
from lakebed.spark.rows.where import bind_where, passing_rows
from lakebed.spark.types import check_types, result_schema
from lakebed.table.schema.metadata_columns import LAST_UPDATED, OWN_PREFIX, ROW_ID
from lakebed.table.schema.schema import Schema

STEP = f"{OWN_PREFIX}step"
_KIND, _VALUES, _BEFORE, _AFTER = (f"{OWN_PREFIX}{name}" for name in ("kind", "values", "before", "after"))
_OLD, _NEW = f"{OWN_PREFIX}old", f"{OWN_PREFIX}new"


def feed_rows(
    table: str,
    spark: SparkSession,
    read_inline: ReadInline,
    feed: Feed,
    schema: Schema,
    *,
    updates: bool,
    where: Where,
) -> DataFrame:
    """The rows of a feed that pass, in the columns of `schema`; lazy, except for inline rows."""
    shown = Schema([field for field in feed.schema.fields if field.name not in FEED_NAMES])
    check_types(shown.fields)
    made = Frames(spark, read_inline, feed.steps, shown, updates)
    rows = passing(made.rows(), shown, where, table)
    return rows.select(*(_column(name) for name in schema.names))


def passing(rows: DataFrame, shown: Schema, where: Where, table: str) -> DataFrame:
    """The rows of a feed that pass a condition on any of its columns."""
    if where is None:
        return rows
    bound = bind_where(where, Schema([*shown.fields, *FEED_COLUMNS]))
    return passing_rows(rows.where(to_spark(bound.filter, lambda field: field.name)), bound, table)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A piece, and the step that it belongs to."""

    step: int
    piece: Piece


@dataclass(frozen=True, slots=True)
class Frames:
    """The DataFrames that a feed's rows are made of."""

    spark: SparkSession
    read_inline: ReadInline
    steps: Sequence[Step]
    shown: Schema
    updates: bool

    def rows(self) -> DataFrame:
        """All rows, with the columns of the table and of the feed."""
        paired = [place for place, step in enumerate(self.steps) if step.has_pairs]
        alone = [place for place, step in enumerate(self.steps) if not step.has_pairs]
        gone, come = self._side(alone, is_added=False), self._side(alone, is_added=True)
        frames = [self._flat(rows, kind) for rows, kind in ((gone, DELETE), (come, INSERT)) if rows is not None]
        if paired:
            before, after = self._side(paired, is_added=False), self._side(paired, is_added=True)
            assert before is not None
            assert after is not None
            frames.append(self._matched(before, after))
        if not frames:
            return self._empty()
        return self._labelled(reduce(DataFrame.unionByName, frames))

    def side(self, *, is_added: bool) -> DataFrame | None:
        """All rows that came, or that went, with their ids; None if there are none."""
        return self._side(range(len(self.steps)), is_added=is_added)

    def _empty(self) -> DataFrame:
        fields = result_schema(Schema([*self.shown.fields, *FEED_COLUMNS])).fields
        return self.spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))

    # Reading pieces.

    def _side(self, places: Sequence[int], *, is_added: bool) -> DataFrame | None:
        """The rows of one side of some steps, with their lineage and step; None if there is no piece."""
        sides = [(place, self.steps[place].added if is_added else self.steps[place].removed) for place in places]
        frames = [
            frame
            for holder in dict.fromkeys(rows.sources.table for _, rows in sides)
            for frame in self._of_holder([(place, rows) for place, rows in sides if rows.sources.table == holder])
        ]
        return reduce(DataFrame.unionByName, frames) if frames else None

    def _of_holder(self, sides: Sequence[tuple[int, Rows]]) -> list[DataFrame]:
        rows = sides[0][1]
        placed = [_Placed(place, piece) for place, found in sides for piece in found.pieces]
        return [self._placed(rows, group) for group in _rounds(placed)]

    def _placed(self, rows: Rows, placed: Sequence[_Placed]) -> DataFrame:
        """Pieces of different files, with the steps of their rows."""
        names = [*self.shown.names, ROW_ID.name, LAST_UPDATED.name]
        source = Source(self.spark, rows.sources, self.read_inline)
        found = read_pieces(source, rows.schema, [one.piece for one in placed], [*names, ORDINAL])
        step = F.get(numbers([one.step for one in placed]), _column(ORDINAL)).cast("int")
        return found.select(*(_column(name) for name in names), step.alias(STEP))

    # Making rows of the feed.

    def _flat(self, rows: DataFrame, kind: str) -> DataFrame:
        """Rows that only went, or only came."""
        names = [*self.shown.names, ROW_ID.name, STEP]
        return rows.select(*(_column(name) for name in names), F.lit(kind).alias(_KIND))

    def _matched(self, before: DataFrame, after: DataFrame) -> DataFrame:
        """Rows of both sides, without those that only moved or, if it is net, are as they were."""
        old = before.select(
            _column(STEP), _column(ROW_ID.name), self.values().alias(_BEFORE), _column(LAST_UPDATED.name).alias(_OLD)
        )
        new = after.select(
            _column(STEP), _column(ROW_ID.name), self.values().alias(_AFTER), _column(LAST_UPDATED.name).alias(_NEW)
        )
        both = old.join(new, [STEP, ROW_ID.name], "full_outer").where(~F.coalesce(self._is_same(), F.lit(False)))
        is_pair = _column(_BEFORE).isNotNull() & _column(_AFTER).isNotNull()
        kinds = (PREIMAGE, POSTIMAGE) if self.updates else (DELETE, INSERT)
        images = [
            F.struct(F.when(is_pair, kind).otherwise(alone).alias(_KIND), _column(side).alias(_VALUES))
            for kind, alone, side in zip(kinds, (DELETE, INSERT), (_BEFORE, _AFTER), strict=True)
        ]
        exploded = both.select(_column(STEP), _column(ROW_ID.name), F.inline(F.array(*images))).where(
            _column(_VALUES).isNotNull()
        )
        values = [_column(_VALUES).getField(f"c{place}").alias(name) for place, name in enumerate(self.shown.names)]
        return exploded.select(*values, _column(ROW_ID.name), _column(STEP), _column(_KIND))

    def values(self) -> Column:
        """The row's own columns as one struct, whose fields have names that need no quotes."""
        names = self.shown.names
        return F.struct(*(_column(name).alias(f"c{place}") for place, name in enumerate(names)))

    def _is_same(self) -> Column:
        doubts = [step.doubt for step in self.steps]
        old, new = _column(_OLD), _column(_NEW)
        is_doubtful = (old > self._of_step([doubt.start for doubt in doubts])) & (
            old <= self._of_step([doubt.end for doubt in doubts])
        )
        is_net = self._of_step([int(step.is_net) for step in self.steps]) == 1
        return ((old == new) & (~is_doubtful | self._equal())) | (is_net & self._equal())

    def _equal(self) -> Column:
        pairs = [
            (_column(_BEFORE).getField(f"c{place}"), _column(_AFTER).getField(f"c{place}"))
            for place in range(len(self.shown.fields))
        ]
        is_there = _column(_BEFORE).isNotNull() & _column(_AFTER).isNotNull()
        tests = [same_value(field, *pair) for field, pair in zip(self.shown.fields, pairs, strict=True)]
        return reduce(lambda one, other: one & other, tests, is_there)

    def _labelled(self, rows: DataFrame) -> DataFrame:
        """Rows with the columns of the feed instead of their steps."""
        versions = lookup([str(int(step.version)) for step in self.steps])
        step = _column(STEP)
        added = (
            _column(_KIND),
            F.get(versions, step).cast("decimal(29,0)"),
            F.timestamp_micros(self._of_step([one.time for one in self.steps])),
            F.col(ROW_ID.name),
        )
        own = [_column(name) for name in self.shown.names]
        return rows.select(*own, *(value.alias(field.name) for value, field in zip(added, FEED_COLUMNS, strict=True)))

    def _of_step(self, values: Sequence[int]) -> Column:
        """A number that a row's step has."""
        return F.get(numbers(values), _column(STEP))


def _rounds(placed: Iterable[_Placed]) -> list[list[_Placed]]:
    """The pieces in as few lists as possible, each with one piece of a file at most."""
    rounds: list[dict[str, _Placed]] = []
    seen: dict[str, int] = {}
    for one in placed:
        path = one.piece.file.path
        place = seen.get(path, 0)
        seen[path] = place + 1
        if place == len(rounds):
            rounds.append({})
        rounds[place][path] = one
    return [list(found.values()) for found in rounds]


def _column(name: str) -> Column:
    return F.col(quoted(name))
