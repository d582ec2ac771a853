"""SQL's MERGE by Spark: one scan of the table's files that may have a match, joined with the source.

Each pair of matching rows gets the number of the clause that applies to it, or null. Of the join only these pairs are
kept, and the table's rows without a match that a clause applies to; from them come the rows to write and to delete.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.catalog.data.row_changes import Deletion, RowChange, rows_deleted
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.spark.expressions import analysis_errors, check_quotes, check_session, predicate, value_errors
from lakebed.spark.fit import quoted
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import (
    CLAUSE,
    FILE_ORDINAL,
    ID,
    NUMBER,
    POSITION,
    PairPlaces,
    bare,
    persisted,
    placed_rows,
    position_count,
    without_id,
)
from lakebed.spark.rows.assignments import Assigned, assigned_values, default_value, own_columns, stored_value
from lakebed.spark.rows.merge_match import Matching, matching
from lakebed.spark.rows.source import SourceKeys, broadcast_if_small, key_text, source_keys, source_schema
from lakebed.spark.rows.update import write_replacements
from lakebed.spark.types import file_schema, readable_schema
from lakebed.table.expression.conjuncts import qualified
from lakebed.table.expression.merge_clauses import Clause, Then, When, check_all_in, check_clauses, decides_once
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.filter.filter import ALWAYS
from lakebed.table.keys.errors import matched_twice, null_key, repeated_key
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

NumberedClauses = Mapping[int, Clause]
"""Clauses by their numbers, in the order in which they are tried."""

_CONDITION = "the condition of a merge"


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge that is bound to a table: its numbered source, how rows match, and its clauses by their numbers."""

    table: str
    schema: Schema
    source: DataFrame
    matching: Matching
    clauses: tuple[Clause, ...]
    keys: SourceKeys

    def clauses_for(self, when: When) -> NumberedClauses:
        """The clauses for some rows."""
        return {number: clause for number, clause in enumerate(self.clauses) if clause.when is when}

    @property
    def updates(self) -> NumberedClauses:
        return {number: clause for number, clause in enumerate(self.clauses) if clause.then is Then.UPDATE}

    @property
    def reads_all_rows(self) -> bool:
        """Whether a clause is for rows that the source does not match."""
        return bool(self.clauses_for(When.NOT_MATCHED_BY_SOURCE))


def merge_rows(
    target: Target, source: Source, rows: DataFrame, on: str | Sequence[str], clauses: Sequence[Clause]
) -> RowChange:
    """Update, delete and insert rows as the clauses say; `rows` are numbered. Only files that may match are read.

    Clauses for rows that the source does not match read all files. `Invalid` if several of the source match one row.
    """
    check_session(source.spark)
    merge = _bound_merge(target.name, target.schema, rows, on, clauses)
    if not merge.keys.rows and not merge.reads_all_rows:
        return RowChange()
    filter = None if merge.reads_all_rows or merge.keys.filter == ALWAYS else merge.keys.filter
    plan = target.plan_keys if merge.clauses_for(When.NOT_MATCHED) else target.plan
    files = [planned.file for planned in plan(filter).files]
    existing = placed_rows(source, target.schema, files, filter, readable_schema(target.schema).names).alias(TARGET)
    with value_errors(merge.table), persisted(_pairs(merge, existing)) as pairs:
        places = PairPlaces(pairs, files)
        counts = places.counts
        deleted = _deletion(merge, pairs, places)
        updated = sum(counts.get((number, is_pair), 0) for number in merge.updates for is_pair in (True, False))
        return _write_change(target, merge, pairs if counts else None, deleted, updated)


def _bound_merge(
    table: str, schema: Schema, rows: DataFrame, on: str | Sequence[str], clauses: Sequence[Clause]
) -> Merge:
    check_clauses(clauses)
    if any(clause.then is not Then.DELETE for clause in clauses):
        file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    given = source_schema(rows)
    shared = frozenset(map(folded_column, schema.names)) & frozenset(map(folded_column, rows.columns))
    qualified_clauses = tuple(_qualified_clause(clause, shared) for clause in clauses)
    check_quotes(rows.sparkSession, str(on), _CONDITION, table)
    with analysis_errors(_CONDITION, str(on), table):
        match = matching(rows.sparkSession, on, schema, given)
    return Merge(table, schema, rows, match, qualified_clauses, source_keys(rows, match.keys))


def _qualified_clause(clause: Clause, shared: frozenset[str]) -> Clause:
    """The clause; if it is for rows of the table alone, plain names that the source has too are the table's."""
    if clause.when is not When.NOT_MATCHED_BY_SOURCE:
        return clause
    return _with_sql(clause, lambda text: qualified(text, shared, TARGET))


def _with_sql(clause: Clause, change: Callable[[str], str]) -> Clause:
    """The clause with its SQL changed."""
    values = clause.values and tuple(
        (name, change(value) if isinstance(value, str) else value) for name, value in clause.values
    )
    return Clause(clause.when, clause.then, values, None if clause.where is None else change(str(clause.where)))


def _pairs(merge: Merge, target: DataFrame) -> DataFrame:
    """Pairs of matching rows, and rows without a match that a clause applies to, with their clauses and new values."""
    source = broadcast_if_small(merge.source, merge.keys.size).alias(SOURCE)
    with analysis_errors(_CONDITION, merge.matching.text, merge.table):
        joined = target.join(source, merge.matching.condition, "left" if merge.reads_all_rows else "inner")
        joined.schema  # noqa: B018  # Connect looks at it no earlier
    number = F.col(f"{SOURCE}.{NUMBER}")
    clause = _clause_number(merge.clauses_for(When.MATCHED), joined, merge.table)
    if merge.reads_all_rows:
        _check_target_only(merge, target)
        unmatched = _clause_number(merge.clauses_for(When.NOT_MATCHED_BY_SOURCE), joined, merge.table)
        clause = F.when(number.isNotNull(), clause).otherwise(unmatched)
    decided = joined.withColumn(bare(CLAUSE), clause)
    if merge.reads_all_rows:
        decided = decided.where(number.isNotNull() | F.col(CLAUSE).isNotNull())
    addresses = [F.col(f"{TARGET}.{name}") for name in (FILE_ORDINAL, POSITION, ID)]
    return decided.select(number, *addresses, CLAUSE, *_updated_columns(merge, joined))


def _clause_number(clauses: NumberedClauses, rows: DataFrame, table: str) -> Column:
    """The number of the first clause that applies to a row; null if none does."""
    found = F.lit(None).cast("int")
    for number, clause in reversed([*clauses.items()]):
        condition = (
            F.lit(True)
            if clause.where is None
            else predicate(rows, str(clause.where), f"the condition of {clause}", table)
        )
        found = F.when(condition, F.lit(number)).otherwise(found)
    return found


def _check_target_only(merge: Merge, target: DataFrame) -> None:
    """Refuse clauses for rows that the source does not match if they name its columns, which would all be null."""
    clauses = merge.clauses_for(When.NOT_MATCHED_BY_SOURCE)
    _clause_number(clauses, target, merge.table)
    for clause in clauses.values():
        if clause.then is Then.UPDATE:
            _clause_values(clause, merge.schema, target, merge.source, merge.table)


def _updated_columns(merge: Merge, joined: DataFrame) -> list[Column]:
    """The new values of updated rows."""
    if not merge.updates:
        return []
    before = own_columns(merge.schema, TARGET)
    values = {
        number: {**before, **_clause_values(clause, merge.schema, joined, merge.source, merge.table)}
        for number, clause in merge.updates.items()
    }
    return _columns_by_clause(merge.schema, values)


def _columns_by_clause(schema: Schema, values: Mapping[int, Assigned]) -> list[Column]:
    """The columns of a schema, each with the value of the row's clause, by the clauses' numbers."""
    return [
        _value_by_clause({number: columns[name] for number, columns in values.items()}).alias(name)
        for name in schema.names
    ]


def _value_by_clause(values: Mapping[int, Column]) -> Column:
    """The value of the clause that applies to a row; null if none does."""
    chosen: Sequence[tuple[int, Column]] = list(values.items())
    return reduce(lambda rest, item: F.when(F.col(CLAUSE) == item[0], item[1]).otherwise(rest), chosen, F.lit(None))


def _clause_values(clause: Clause, schema: Schema, rows: DataFrame, source: DataFrame, table: str) -> Assigned:
    """The values that a clause sets; without any, all columns get the source's column of the same name."""
    if clause.values is not None:
        return assigned_values(dict(clause.values), schema, rows, table)
    check_all_in(schema, source_schema(source))
    given = {folded_column(field.name): field for field in source.schema.fields}
    return {
        field.name: _source_value(given[folded_column(field.name)], field.name, schema, table)
        for field in schema.fields
    }


def _source_value(given: spark.StructField, name: str, schema: Schema, table: str) -> Column:
    text = f"{SOURCE}.{given.name}"
    return stored_value(F.col(f"{SOURCE}.{quoted(given.name)}"), given.dataType, schema.field(name), table, text)


def _deletion(merge: Merge, pairs: DataFrame, places: PairPlaces) -> Deletion:
    """The table's rows that a clause applies to; `Invalid` if one is in several pairs and that matters."""
    counts = places.counts
    changed = sum(count for (number, _), count in counts.items() if number is not None)
    paired = sum(count for (_, is_pair), count in counts.items() if is_pair)
    if paired and decides_once(list(merge.clauses_for(When.MATCHED).values())):
        of_pairs = places.of_pairs()
        if position_count(of_pairs) < paired:
            raise _matched_twice(merge, pairs)
        if changed == paired == sum(counts.values()):
            return of_pairs
    return places.of_clauses() if changed else Deletion()


def _matched_twice(merge: Merge, pairs: DataFrame) -> Invalid:
    found = pairs.where(F.col(NUMBER).isNotNull()).groupBy(FILE_ORDINAL, POSITION)
    twice = found.agg(F.count("*").alias("n"), F.min(NUMBER).alias("one")).where("n > 1")
    [(rows, most, number)] = twice.agg(F.count("*"), F.max("n"), F.max_by("one", "n")).collect()
    given = source_schema(merge.source)
    matched = [pair.column.way[-1].name for pair in merge.matching.pairs]
    names = [name for name in matched if name in given.names] or given.names
    text = key_text({name: (quoted(name), given.field(name).type) for name in names})
    [(key,)] = merge.source.where(F.col(NUMBER) == number).select(text).limit(1).collect()
    return matched_twice(f"{merge.table}: {key}", f"{most}, and {rows} such rows of the table")


def _write_change(target: Target, merge: Merge, pairs: DataFrame | None, deleted: Deletion, updated: int) -> RowChange:
    inserts = _inserted_rows(merge, pairs)
    changed = None if pairs is None or not updated else _updated_rows(merge, pairs)
    if inserts is None:
        if changed is None:
            return rows_deleted(target, deleted)
        return write_replacements(target, changed, deleted, updated)
    # New rows are computed before the write only if keys have to be checked.
    with persisted(inserts) if merge.schema.identifier_ids else nullcontext(inserts) as new:
        _check_new_keys(merge, new)
        rows = new if changed is None else changed.union(new)
        return write_replacements(target, rows, deleted, None)


def _updated_rows(merge: Merge, pairs: DataFrame) -> DataFrame:
    rows = pairs.where(F.col(CLAUSE).isin(list(merge.updates)))
    return rows.select(*map(quoted, merge.schema.names), F.col(ID).alias(ROW_ID.name))


def _inserted_rows(merge: Merge, pairs: DataFrame | None) -> DataFrame | None:
    """The new rows: rows of the source without a match that a clause applies to."""
    clauses = merge.clauses_for(When.NOT_MATCHED)
    if not clauses:
        return None
    rest = merge.source if pairs is None else merge.source.join(pairs.select(NUMBER), bare(NUMBER), "left_anti")
    rows = rest.alias(SOURCE)
    decided = rows.withColumn(bare(CLAUSE), _clause_number(clauses, rows, merge.table)).where(F.col(CLAUSE).isNotNull())
    values = {number: _new_row_values(merge, clause, rows) for number, clause in clauses.items()}
    return decided.select(*_columns_by_clause(merge.schema, values), without_id())


def _new_row_values(merge: Merge, clause: Clause, rows: DataFrame) -> dict[str, Column]:
    """All columns of a new row; a column without a value gets its default."""
    given = _clause_values(clause, merge.schema, rows, merge.source, merge.table)
    return {
        field.name: given[field.name] if field.name in given else default_value(field, merge.table)
        for field in merge.schema.fields
    }


def _check_new_keys(merge: Merge, new: DataFrame) -> None:
    """If the table has a primary key, refuse new rows without one, or with one that comes twice."""
    schema = merge.schema
    if not schema.identifier_ids:
        return
    keys = {f"k{place}": schema.way_by_id(id) for place, id in enumerate(schema.identifier_ids)}
    paths = dict(zip(keys, map(schema.path_of, schema.identifier_ids), strict=True))
    columns = [F.col(".".join(quoted(part.name) for part in way)).alias(key) for key, way in keys.items()]
    counted = new.select(*columns).groupBy(*keys).agg(F.count("*").alias("n"))
    is_twice = F.col("n") > 1
    text = key_text({path: (key, keys[key][-1].type) for key, path in paths.items()})
    nulls = [F.sum(F.when(F.col(key).isNull(), F.col("n"))) for key in keys]
    [(count, example, *missing)] = counted.agg(F.count_if(is_twice), F.max(F.when(is_twice, text)), *nulls).collect()
    for path, rows in zip(paths.values(), missing, strict=True):
        if rows:
            raise null_key(f"{merge.table}, column {path!r}", rows)
    if count:
        raise repeated_key(f"{merge.table}: {example}", count)
