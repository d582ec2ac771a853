"""SQL's MERGE by Spark: one scan of the table's files that may have a match, joined with the source.

Each pair of rows that match gets the number of the clause that is for it, null if none is. Only these pairs, and the
table's rows that a clause for rows without a match is for, are kept of the join; what is written and taken away
comes from them.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.catalog.data.row_changes import Deletion, RowChange, rows_deleted
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.spark.expressions import check_quotes, check_session, predicate, analysis_errors, value_errors
from lakebed.spark.fit import quoted
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import (
    CLAUSE,
    ID,
    NUMBER,
    PLACE,
    POSITION,
    PairPlaces,
    bare,
    kept,
    placed_rows,
    taken,
    without_id,
)
from lakebed.spark.rows.assignments import Assigned, assigned, default, own_columns, stored
from lakebed.spark.rows.merge_match import Matching, matching
from lakebed.spark.rows.source import SourceKeys, keys_of, source_schema, sent, key_text
from lakebed.spark.rows.update import rewritten_rows
from lakebed.spark.types import file_schema, readable_schema
from lakebed.table.expression.conjuncts import qualified
from lakebed.table.expression.merge_clauses import Clause, Then, When, check_all_in, check_clauses, decides_once
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.keys.errors import matched_twice, null_key, repeated_key
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

Numbered = Mapping[int, Clause]
"""Clauses by their numbers, in the order in which they are asked."""


def clause_number(clauses: Numbered, rows: DataFrame, table: str) -> Column:
    """The number of the first clause that is for a row; null if none is."""
    found = F.lit(None).cast("int")
    for number, one in reversed([*clauses.items()]):
        condition = (
            F.lit(True) if one.where is None else predicate(rows, str(one.where), f"the condition of {one}", table)
        )
        found = F.when(condition, F.lit(number)).otherwise(found)
    return found


def values_of(clause: Clause, schema: Schema, rows: DataFrame, source: DataFrame, table: str) -> Assigned:
    """What a clause sets, by SQL over the rows; without values all columns, to those of the source by their names."""
    if clause.values is not None:
        return assigned(dict(clause.values), schema, rows, table)
    check_all_in(schema, source_schema(source))
    there = {folded_column(one.name): one for one in source.schema.fields}
    return {one.name: _taken(there[folded_column(one.name)], one.name, schema, table) for one in schema.fields}


def _taken(found: spark.StructField, name: str, schema: Schema, table: str) -> Column:
    said = f"{SOURCE}.{found.name}"
    return stored(F.col(f"{SOURCE}.{quoted(found.name)}"), found.dataType, schema.field(name), table, said)


def by_clause(number: Column, values: Mapping[int, Column]) -> Column:
    """The value of the clause that has a row's number; null if it has none."""
    chosen: Sequence[tuple[int, Column]] = list(values.items())
    return reduce(lambda rest, one: F.when(number == one[0], one[1]).otherwise(rest), chosen, F.lit(None))


def with_sql(clause: Clause, change: Any) -> Clause:
    """The clause with its SQL changed."""
    values = clause.values and tuple(
        (name, change(value) if isinstance(value, str) else value) for name, value in clause.values
    )
    return Clause(clause.when, clause.then, values, None if clause.where is None else change(str(clause.where)))


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge that is bound to a table: its numbered source, what is matched by, and its clauses by their numbers."""

    table: str
    schema: Schema
    source: DataFrame
    matching: Matching
    clauses: tuple[Clause, ...]
    known: SourceKeys

    def of(self, when: When) -> Numbered:
        """The clauses for some rows."""
        return {number: one for number, one in enumerate(self.clauses) if one.when is when}

    @property
    def updates(self) -> Numbered:
        return {number: one for number, one in enumerate(self.clauses) if one.then is Then.UPDATE}

    @property
    def looks_at_all(self) -> bool:
        """Whether rows are looked for that the source does not match."""
        return bool(self.of(When.NOT_MATCHED_BY_SOURCE))


def merge_rows(
    target: Target, source: Source, rows: DataFrame, on: str | Sequence[str], clauses: Sequence[Clause]
) -> RowChange:
    """Change, take away and add rows as the clauses say; `rows` are numbered. Only files that may match are read.

    With clauses for rows that the source does not match, all are. `Invalid` if a row would meet several of the source.
    """
    check_session(source.spark)
    merge = _bound(target.name, target.schema, rows, on, clauses)
    if not merge.known.rows and not merge.looks_at_all:
        return RowChange()
    filter = None if merge.looks_at_all or merge.known.filter == ALWAYS else merge.known.filter
    files = [one.file for one in target.plan(filter).files]
    there_now = placed_rows(source, target.schema, files, filter, readable_schema(target.schema).names).alias(TARGET)
    with value_errors(merge.table), kept(_paired(merge, there_now)) as pairs:
        places = PairPlaces(pairs, files)
        counts = places.counts
        gone = _gone(merge, pairs, places)
        updated = sum(counts.get((number, is_pair), 0) for number in merge.updates for is_pair in (True, False))
        return _written(target, merge, pairs if counts else None, gone, updated)


def _bound(table: str, schema: Schema, rows: DataFrame, on: str | Sequence[str], clauses: Sequence[Clause]) -> Merge:
    check_clauses(clauses)
    if any(one.then is not Then.DELETE for one in clauses):
        file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    given = source_schema(rows)
    both = frozenset(map(folded_column, schema.names)) & frozenset(map(folded_column, rows.columns))
    told = [_told_apart(one, both) for one in clauses]
    check_quotes(rows.sparkSession, str(on), "the condition of a merge", table)
    with analysis_errors("the condition of a merge", str(on), table):
        match = matching(on, schema, given)
    return Merge(table, schema, rows, match, tuple(told), keys_of(rows, match.keys))


def _told_apart(clause: Clause, both: frozenset[str]) -> Clause:
    """The clause as it is meant beside a source, if it is for rows of the table alone: plain names are the table's."""
    if clause.when is not When.NOT_MATCHED_BY_SOURCE:
        return clause
    return with_sql(clause, lambda text: qualified(text, both, TARGET))


def _paired(merge: Merge, target: DataFrame) -> DataFrame:
    """Pairs of rows that match, and rows that a clause is for though they match none, with their clauses and values."""
    source = sent(merge.source, merge.known.size).alias(SOURCE)
    with analysis_errors("the condition of a merge", merge.matching.said, merge.table):
        joined = target.join(source, merge.matching.condition, "left" if merge.looks_at_all else "inner")
        joined.schema  # noqa: B018  # Connect looks at it no earlier
    number = F.col(f"{SOURCE}.{NUMBER}")
    clause = clause_number(merge.of(When.MATCHED), joined, merge.table)
    if merge.looks_at_all:
        _check_alone(merge, target)
        alone = clause_number(merge.of(When.NOT_MATCHED_BY_SOURCE), joined, merge.table)
        clause = F.when(number.isNotNull(), clause).otherwise(alone)
    decided = joined.withColumn(bare(CLAUSE), clause)
    if merge.looks_at_all:
        decided = decided.where(number.isNotNull() | F.col(CLAUSE).isNotNull())
    places = [F.col(f"{TARGET}.{one}") for one in (PLACE, POSITION, ID)]
    return decided.select(number, *places, CLAUSE, *_updated(merge, joined))


def _check_alone(merge: Merge, target: DataFrame) -> None:
    """Refuse clauses for rows that the source does not match if they name its columns: all of them would be null."""
    clauses = merge.of(When.NOT_MATCHED_BY_SOURCE)
    clause_number(clauses, target, merge.table)
    for one in clauses.values():
        if one.then is Then.UPDATE:
            values_of(one, merge.schema, target, merge.source, merge.table)


def _updated(merge: Merge, joined: DataFrame) -> list[Column]:
    """The new values of rows that are updated."""
    if not merge.updates:
        return []
    before = own_columns(merge.schema, TARGET)
    values = {
        number: {**before, **values_of(one, merge.schema, joined, merge.source, merge.table)}
        for number, one in merge.updates.items()
    }
    return [
        by_clause(F.col(CLAUSE), {number: found[name] for number, found in values.items()}).alias(name)
        for name in merge.schema.names
    ]


def _gone(merge: Merge, pairs: DataFrame, places: PairPlaces) -> Deletion:
    """The table's rows that a clause is for; `Invalid` if one is in several pairs and that matters."""
    counts = places.counts
    changed = sum(count for (number, _), count in counts.items() if number is not None)
    paired = sum(count for (_, is_pair), count in counts.items() if is_pair)
    if paired and decides_once(list(merge.of(When.MATCHED).values())):
        every = places.of_pairs()
        if taken(every) < paired:
            raise _matched_twice(merge, pairs)
        if changed == paired == sum(counts.values()):
            return every
    return places.of_clauses() if changed else Deletion()


def _matched_twice(merge: Merge, pairs: DataFrame) -> Invalid:
    found = pairs.where(F.col(NUMBER).isNotNull()).groupBy(PLACE, POSITION)
    twice = found.agg(F.count("*").alias("n"), F.min(NUMBER).alias("one")).where("n > 1")
    [(rows, most, number)] = twice.agg(F.count("*"), F.max("n"), F.max_by("one", "n")).collect()
    given = source_schema(merge.source)
    matched = [one.column.way[-1].name for one in merge.matching.pairs]
    names = [one for one in matched if one in given.names] or given.names
    shown = key_text({name: (quoted(name), given.field(name).type) for name in names})
    [(key,)] = merge.source.where(F.col(NUMBER) == number).select(shown).limit(1).collect()
    return matched_twice(f"{merge.table}: {key}", f"{most}, and {rows} such rows of the table")


def _written(target: Target, merge: Merge, pairs: DataFrame | None, gone: Deletion, updated: int) -> RowChange:
    inserts = _inserted(merge, pairs)
    changed = None if pairs is None or not updated else _rewritten(merge, pairs)
    if inserts is None:
        if changed is None:
            return rows_deleted(target, gone)
        return rewritten_rows(target, changed, gone, updated)
    # What is written is looked at before only if keys have to be checked.
    with kept(inserts) if merge.schema.identifier_ids else nullcontext(inserts) as new:
        _check_new_keys(merge, new)
        rows = new if changed is None else changed.union(new)
        return rewritten_rows(target, rows, gone, None)


def _rewritten(merge: Merge, pairs: DataFrame) -> DataFrame:
    rows = pairs.where(F.col(CLAUSE).isin(list(merge.updates)))
    return rows.select(*map(quoted, merge.schema.names), F.col(ID).alias(ROW_ID.name))


def _inserted(merge: Merge, pairs: DataFrame | None) -> DataFrame | None:
    """The rows that come new: those of the source that match none of the table's, and that a clause is for."""
    clauses = merge.of(When.NOT_MATCHED)
    if not clauses:
        return None
    rest = merge.source if pairs is None else merge.source.join(pairs.select(NUMBER), bare(NUMBER), "left_anti")
    rows = rest.alias(SOURCE)
    decided = rows.withColumn(bare(CLAUSE), clause_number(clauses, rows, merge.table)).where(
        F.col(CLAUSE).isNotNull()
    )
    values = {number: _whole(merge, one, rows) for number, one in clauses.items()}
    columns = [
        by_clause(F.col(CLAUSE), {number: found[name] for number, found in values.items()}).alias(name)
        for name in merge.schema.names
    ]
    return decided.select(*columns, without_id())


def _whole(merge: Merge, clause: Clause, rows: DataFrame) -> dict[str, Column]:
    """All columns of a new row: those that have no value get their default."""
    given = values_of(clause, merge.schema, rows, merge.source, merge.table)
    return {
        one.name: given[one.name] if one.name in given else default(one, merge.table) for one in merge.schema.fields
    }


def _check_new_keys(merge: Merge, new: DataFrame) -> None:
    """Of a table with a primary key, refuse new rows that have none, or of which two have the same."""
    schema = merge.schema
    if not schema.identifier_ids:
        return
    keys = {f"k{place}": schema.way_by_id(one) for place, one in enumerate(schema.identifier_ids)}
    paths = dict(zip(keys, map(schema.path_of, schema.identifier_ids), strict=True))
    columns = [F.col(".".join(quoted(part.name) for part in way)).alias(key) for key, way in keys.items()]
    counted = new.select(*columns).groupBy(*keys).agg(F.count("*").alias("n"))
    is_twice = F.col("n") > 1
    shown = key_text({path: (key, keys[key][-1].type) for key, path in paths.items()})
    nulls = [F.sum(F.when(F.col(key).isNull(), F.col("n"))) for key in keys]
    [(count, example, *missing)] = counted.agg(F.count_if(is_twice), F.max(F.when(is_twice, shown)), *nulls).collect()
    for path, rows in zip(paths.values(), missing, strict=True):
        if rows:
            raise null_key(f"{merge.table}, column {path!r}", rows)
    if count:
        raise repeated_key(f"{merge.table}: {example}", count)
