"""Rows that Spark puts in the place of those with the same key, or adds.

Of the table only the key's columns are read, of the files that may have one of the keys; the rest is one write.
"""

from collections.abc import Sequence

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import Deletion, RowChange
from lakebed.catalog.data.target import Target
from lakebed.spark.fit import fit, quoted
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import (
    FEW,
    ID,
    NUMBER,
    PLACE,
    POSITION,
    bare,
    deletion,
    deletion_at,
    few_rows,
    kept,
    placed_rows,
    without_id,
)
from lakebed.spark.rows.assignments import plain
from lakebed.spark.rows.source import SourceKeys, sent, source_keys_with_repeats
from lakebed.spark.rows.update import rewritten_rows
from lakebed.spark.types import file_schema, result_schema
from lakebed.table.expression.merge_clauses import key_fields
from lakebed.table.keys.errors import null_key, repeated_key
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field


def upsert_rows(target: Target, source: Source, rows: DataFrame, on: Sequence[str]) -> RowChange:
    """Put numbered rows in the place of those with the same keys, whose ids they take over; the others are added."""
    schema, fields = target.schema, key_fields(target.schema, on)
    file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    fit(rows.drop(F.col(NUMBER)), schema)
    there = {folded_column(one): one for one in rows.columns}
    keys = {one: _key(one, there.get(folded_column(one.name))) for one in fields}
    known = source_keys_with_repeats(rows, keys)
    _check(target.name, known)
    if not known.rows:
        return RowChange()
    files = [one.file for one in target.plan(known.filter).files]
    if not files:
        return rewritten_rows(target, _with_ids(rows, None), Deletion(), known.rows)
    there_now = placed_rows(source, schema, files, known.filter, [one.name for one in fields])
    matches = _matches(there_now, rows, keys, known)
    most = sum(one.num_rows for one in files)  # each of them has one of the keys at most
    few = few_rows(matches, most) if min(most, known.rows) <= FEW else None
    if few is not None:
        ids = F.broadcast(source.spark.createDataFrame(_least_ids(few))) if few.num_rows else None
        return rewritten_rows(target, _with_ids(rows, ids), deletion_at(few, files), known.rows)
    with kept(matches) as found:
        gone = deletion(found, files, most)
        least = found.groupBy(NUMBER).agg(F.min(ID).alias(ROW_ID.name))
        return rewritten_rows(target, _with_ids(rows, least), gone, known.rows)


def _key(field: Field, name: str | None) -> Column:
    """The column of a key under the name that rows have it by; its default if they lack it."""
    if name is None:
        return plain(field.write_default, field)
    wanted = result_schema(Schema([field])).fields[0].dataType
    return F.col(quoted(name)).cast(wanted)  # only widens: `fit` has seen to it


def _check(table: str, known: SourceKeys) -> None:
    for name, rows in known.nulls.items():
        if rows:
            raise null_key(f"{table}, column {name!r}", rows)
    if known.repeated:
        raise repeated_key(f"{table}: {known.example}", known.repeated)


def _matches(target: DataFrame, rows: DataFrame, keys: dict[Field, Column], known: SourceKeys) -> DataFrame:
    """Where the table's rows are that have one of the keys, their ids, and the numbers of the rows in their place."""
    named = {field: f"key{place}" for place, field in enumerate(keys)}
    narrow = rows.select(F.col(NUMBER), *(keys[one].alias(name) for one, name in named.items()))
    ours = target.select(PLACE, POSITION, ID, *(F.col(quoted(field.name)).alias(name) for field, name in named.items()))
    joined = ours.join(sent(narrow, known.size), list(named.values()), "inner")
    return joined.select(PLACE, POSITION, ID, NUMBER)


def _least_ids(matches: pyarrow.Table) -> pyarrow.Table:
    """By the numbers of rows the ids of those in whose place they are: of several the least."""
    found = matches.select([bare(NUMBER), bare(ID)]).group_by(bare(NUMBER)).aggregate([(bare(ID), "min")])
    return found.rename_columns([bare(NUMBER), ROW_ID.name])


def _with_ids(rows: DataFrame, ids: DataFrame | None) -> DataFrame:
    """The rows with their ids, those that have none without."""
    if ids is None:
        return rows.select("*", without_id()).drop(F.col(NUMBER))
    return rows.join(ids, bare(NUMBER), "left").drop(F.col(NUMBER))
