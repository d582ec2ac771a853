"""The rows in which two states of a table differ, as a DataFrame: executors match rows by id, then by key.

One join of both sides by row id; then, in a table with a primary key, one window over the rows without a partner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed.compare import AFTER, BEFORE, CHANGE, COLUMNS, DELETED, INSERTED, KEY, ROW, UPDATED, Compared
from lakebed.catalog.feed.steps import Step
from lakebed.spark.fit import quoted
from lakebed.spark.read.filter import to_spark
from lakebed.spark.read.source import ReadInline
from lakebed.spark.rows.feed import Frames
from lakebed.spark.rows.same_values import same_value
from lakebed.spark.rows.where import Where as BoundWhere
from lakebed.spark.rows.where import bind_where, passing_rows
from lakebed.spark.types import check_types, result_schema
from lakebed.table.schema.metadata_columns import OWN_PREFIX, ROW_ID

_OLD_ID, _NEW_ID = f"{OWN_PREFIX}old id", f"{OWN_PREFIX}new id"
_GROUP, _OLDS, _NEWS = (f"{OWN_PREFIX}{name}" for name in ("group", "olds", "news"))


def difference_rows(
    table: str, spark: SparkSession, read_inline: ReadInline, compared: Compared, where: Where
) -> DataFrame:
    """The differences of which either image passes, in the columns of `compared.form`; lazy, except for inline rows."""
    check_types(compared.table.fields)
    made = _Differences(table, spark, read_inline, compared, where)
    return made.rows()


@dataclass(frozen=True, slots=True)
class _Differences:
    """The DataFrames that differences are made of. Rows of the table are structs: fields `c0`, `c1`, …."""

    table: str
    spark: SparkSession
    read_inline: ReadInline
    compared: Compared
    where: Where

    def rows(self) -> DataFrame:
        step = self.compared.step
        form = result_schema(self.compared.form)
        if step is None:
            return self.spark.range(0).select(*(F.lit(None).cast(one.dataType).alias(one.name) for one in form.fields))
        pairs = self._passing(self._paired(step))
        return self._labelled(pairs).select(*(_column(one.name).cast(one.dataType) for one in form.fields))

    # Both sides, side by side: the ids and the structs of a row before and after.

    def _paired(self, step: Step) -> DataFrame:
        frames = Frames(self.spark, self.read_inline, [step], self.compared.table, updates=True)
        old, new = frames.side(is_added=False), frames.side(is_added=True)
        if old is None or new is None:
            return self._alone(frames, old, new)
        before = old.select(_column(ROW_ID.name).alias(_OLD_ID), frames.values().alias(BEFORE))
        after = new.select(_column(ROW_ID.name).alias(_NEW_ID), frames.values().alias(AFTER))
        # Ids of two editions have nothing to do with each other.
        both = (
            before.join(after, _column(_OLD_ID) == _column(_NEW_ID), "full_outer")
            if step.matched
            else before.unionByName(after, allowMissingColumns=True)
        )
        return self._by_key(both.select(_OLD_ID_NAME, BEFORE, _NEW_ID_NAME, AFTER))

    def _alone(self, frames: Frames, old: DataFrame | None, new: DataFrame | None) -> DataFrame:
        there = old if old is not None else new
        assert there is not None
        struct, id = frames.values(), _column(ROW_ID.name)
        values, ids = (struct, id) if old is not None else (_null(struct), _null(id))
        others, other_ids = (_null(struct), _null(id)) if old is not None else (struct, id)
        return there.select(ids.alias(_OLD_ID), values.alias(BEFORE), other_ids.alias(_NEW_ID), others.alias(AFTER))

    def _by_key(self, both: DataFrame) -> DataFrame:
        """Rows without a partner that have one key, which comes once on each side, become one row."""
        if not self.compared.key:
            return both
        is_pair = _column(_OLD_ID).isNotNull() & _column(_NEW_ID).isNotNull()
        parts = [self._part(way, AFTER, BEFORE) for way in self.compared.key.values()]
        has_key = reduce(lambda one, other: one & other, (part.isNotNull() for part in parts))
        alone = ~is_pair & has_key
        # What is not to be matched is spread by its ids.
        spread = F.when(~alone, F.struct(_column(_OLD_ID), _column(_NEW_ID)))
        group = Window.partitionBy(spread, *(F.when(alone, part) for part in parts))
        counted = both.withColumns(
            {
                _OLDS: F.when(alone, F.count(_column(_OLD_ID)).over(group)).otherwise(0),
                _NEWS: F.when(alone, F.count(_column(_NEW_ID)).over(group)).otherwise(0),
            }
        )
        is_matched = (_column(_OLDS) == 1) & (_column(_NEWS) == 1)
        old = {name: F.first(_column(name), ignorenulls=True).over(group) for name in (_OLD_ID, BEFORE)}
        joined = counted.withColumns(
            {name: F.when(is_matched, value).otherwise(_column(name)) for name, value in old.items()}
        )
        kept = joined.where(~is_matched | _column(_NEW_ID).isNotNull())
        return kept.select(_OLD_ID_NAME, BEFORE, _NEW_ID_NAME, AFTER)

    # Showing them.

    def _passing(self, pairs: DataFrame) -> DataFrame:
        """The rows of which either image passes the condition."""
        if self.where is None:
            return pairs
        bound = bind_where(self.where, self.compared.table)
        ids = (F.coalesce(_column(id).cast("string"), F.lit("-")) for id in (_OLD_ID, _NEW_ID))
        tested = pairs.withColumn(_GROUP, F.concat_ws(" ", *ids))
        passing = [self._tested(tested, side, bound) for side in (BEFORE, AFTER)]
        return tested.join(passing[0].unionByName(passing[1]), _GROUP, "left_semi").drop(_GROUP)

    def _tested(self, pairs: DataFrame, side: str, bound: BoundWhere) -> DataFrame:
        names = self.compared.table.names
        values = [_column(side).getField(f"c{place}").alias(name) for place, name in enumerate(names)]
        rows = pairs.where(_column(side).isNotNull()).select(*values, _column(_GROUP))
        found = rows.where(to_spark(bound.filter, lambda field: field.name))
        return passing_rows(found, bound, self.table).select(_column(_GROUP))

    def _labelled(self, pairs: DataFrame) -> DataFrame:
        was, is_there = _column(BEFORE).isNotNull(), _column(AFTER).isNotNull()
        both = was & is_there
        names = [F.when(both & ~self._same(place), F.lit(name)) for place, name in self._tested_places()]
        change = F.when(both, UPDATED).when(is_there, INSERTED).otherwise(DELETED)
        columns = F.filter(F.array(*names), lambda name: name.isNotNull()) if names else F.array().cast("array<string>")
        key = [self._part(way, AFTER, BEFORE).alias(path) for path, way in self.compared.key.items()]
        made = pairs.select(
            change.alias(CHANGE),
            F.coalesce(_column(_NEW_ID), _column(_OLD_ID)).alias(ROW),
            *([F.struct(*key).alias(KEY)] if key else []),
            columns.alias(COLUMNS),
            F.when(was, self._values(BEFORE)).alias(BEFORE),
            F.when(is_there, self._values(AFTER)).alias(AFTER),
        )
        return made.where((_column(CHANGE) != UPDATED) | (F.size(_column(COLUMNS)) > 0))

    def _tested_places(self) -> Sequence[tuple[int, str]]:
        shown = set(self.compared.shown.names) - self.compared.dropped
        return [(place, name) for place, name in enumerate(self.compared.table.names) if name in shown]

    def _same(self, place: int) -> Column:
        one, other = (_column(side).getField(f"c{place}") for side in (BEFORE, AFTER))
        return same_value(self.compared.table.fields[place], one, other)

    def _values(self, side: str) -> Column:
        places = {name: place for place, name in enumerate(self.compared.table.names)}
        names = self.compared.shown.names
        return F.struct(*(_column(side).getField(f"c{places[name]}").alias(name) for name in names))

    def _part(self, way: Sequence[str], *sides: str) -> Column:
        """A part of the key, as the first side that has the row has it."""
        place = self.compared.table.names.index(way[0])
        return F.when(_column(sides[0]).isNotNull(), _inside(sides[0], place, way)).otherwise(
            _inside(sides[1], place, way)
        )


def _inside(side: str, place: int, way: Sequence[str]) -> Column:
    column = _column(side).getField(f"c{place}")
    for name in way[1:]:
        column = column.getField(name)
    return column


def _null(column: Column) -> Column:
    return F.when(F.lit(False), column)


def _column(name: str) -> Column:
    return F.col(quoted(name))


_OLD_ID_NAME, _NEW_ID_NAME = quoted(_OLD_ID), quoted(_NEW_ID)
