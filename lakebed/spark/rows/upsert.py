"""Upserting rows by Spark: they replace rows with the same key, or are added.

Only the key's columns of files that may have one of the keys are read; the rest is one write.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.engine import Fill
from lakebed.catalog.data.row_changes import Deletion, RowChange
from lakebed.catalog.data.target import Target
from lakebed.spark.casting import with_whole_numbers
from lakebed.spark.fit import fit, quoted
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import (
    FEW,
    FILE_ORDINAL,
    ID,
    NUMBER,
    POSITION,
    bare,
    deletion,
    deletion_at,
    few_rows,
    persisted,
    placed_rows,
    without_id,
)
from lakebed.spark.rows.assignments import constant_column
from lakebed.spark.rows.source import SourceKeys, broadcast_if_small, source_keys_with_repeats
from lakebed.spark.rows.update import write_replacements
from lakebed.spark.types import file_schema, result_schema
from lakebed.table.expression.merge_clauses import key_fields
from lakebed.table.keys.errors import null_key, repeated_key
from lakebed.table.schema.metadata_columns import OWN_PREFIX, ROW_ID
from lakebed.table.schema.schema import Schema, missing_columns, with_optional
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

KEPT: Final = quoted(f"{OWN_PREFIX}kept")
"""The columns that a row keeps when another replaces it, as a struct."""
_NO_ID: Final = 2**63 - 1  # of rows that no commit has yet: after all others


def upsert_rows(target: Target, source: Source, rows: DataFrame, on: Sequence[str], fill: Fill) -> RowChange:
    """Replace rows that have the keys of these numbered rows, which take over their ids; add the rest.

    A row that replaces several takes over the least of their ids, and what it keeps is from that row.
    """
    schema, fields = target.schema, key_fields(target.schema, on)
    file_schema(schema)  # refuses columns that Spark can't write, before it reads any
    given = rows.drop(F.col(NUMBER))
    kept = missing_columns(schema, given.columns, fields) if fill is Fill.KEEP else ()
    fit(with_whole_numbers(given, schema), with_optional(schema, kept))
    names = {folded_column(name): name for name in rows.columns}
    keys = {field: _key_column(field, names.get(folded_column(field.name))) for field in fields}
    known = source_keys_with_repeats(rows, keys)
    _check_keys(target.name, known)
    if not known.rows:
        return RowChange()
    files = [planned.file for planned in target.plan_keys(known.filter).files]
    if not files:
        return write_replacements(target, _with_ids(rows, None), Deletion(), known.rows)
    existing = placed_rows(source, schema, files, known.filter, [*(field.name for field in fields), *kept])
    matches = _matches(existing, rows, keys, known, kept)
    most = sum(file.num_rows for file in files)  # each row has at most one of the keys
    if kept:
        with persisted(matches) as found:
            deleted = deletion(found, files, most)
            replacements = _with_kept(rows, found, schema.select(kept))
            return write_replacements(target, replacements, deleted, known.rows)
    few = few_rows(matches, most) if min(most, known.rows) <= FEW else None
    if few is not None:
        ids = F.broadcast(source.spark.createDataFrame(_least_ids(few))) if few.num_rows else None
        return write_replacements(target, _with_ids(rows, ids), deletion_at(few, files), known.rows)
    with persisted(matches) as found:
        deleted = deletion(found, files, most)
        least = found.groupBy(NUMBER).agg(F.min(ID).alias(ROW_ID.name))
        return write_replacements(target, _with_ids(rows, least), deleted, known.rows)


def _key_column(field: Field, name: str | None) -> Column:
    """The key's column under its name in the rows; its default if they don't have it."""
    if name is None:
        return constant_column(field.write_default, field)
    wanted = result_schema(Schema([field])).fields[0].dataType
    return F.col(quoted(name)).cast(wanted)  # only widens: `fit` refused all else


def _check_keys(table: str, known: SourceKeys) -> None:
    for name, rows in known.nulls.items():
        if rows:
            raise null_key(f"{table}, column {name!r}", rows)
    if known.repeated:
        raise repeated_key(f"{table}: {known.example}", known.repeated)


def _matches(
    target: DataFrame, rows: DataFrame, keys: dict[Field, Column], known: SourceKeys, kept: Sequence[str]
) -> DataFrame:
    """The addresses and ids of the table's rows with one of the keys, the numbers of the rows that replace them, and
    what these keep.
    """
    named = {field: f"key{place}" for place, field in enumerate(keys)}
    narrow = rows.select(F.col(NUMBER), *(keys[field].alias(name) for field, name in named.items()))
    ours = target.select(
        FILE_ORDINAL,
        POSITION,
        ID,
        F.struct(*(F.col(quoted(name)) for name in kept)).alias(bare(KEPT)) if kept else F.lit(None).alias(bare(KEPT)),
        *(F.col(quoted(field.name)).alias(name) for field, name in named.items()),
    )
    joined = ours.join(broadcast_if_small(narrow, known.size), list(named.values()), "inner")
    return joined.select(FILE_ORDINAL, POSITION, ID, NUMBER, *([KEPT] if kept else ()))


def _least_ids(matches: pyarrow.Table) -> pyarrow.Table:
    """The ids of replaced rows by the numbers of their replacements: the least if there are several."""
    found = matches.select([bare(NUMBER), bare(ID)]).group_by(bare(NUMBER)).aggregate([(bare(ID), "min")])
    return found.rename_columns([bare(NUMBER), ROW_ID.name])


def _with_ids(rows: DataFrame, ids: DataFrame | None) -> DataFrame:
    """The rows with their ids, null for new rows."""
    if ids is None:
        return rows.select("*", without_id()).drop(F.col(NUMBER))
    return rows.join(ids, bare(NUMBER), "left").drop(F.col(NUMBER))


def _with_kept(rows: DataFrame, matches: DataFrame, kept: Schema) -> DataFrame:
    """The rows with their ids, and with the columns that they don't have: of the rows they replace, or defaults."""
    order = F.coalesce(F.col(ID), F.lit(_NO_ID))
    least = matches.groupBy(NUMBER).agg(F.min(ID).alias(ROW_ID.name), F.min_by(F.col(KEPT), order).alias(bare(KEPT)))
    joined = rows.join(least, bare(NUMBER), "left")
    columns = {
        field.name: F.when(F.col(KEPT).isNotNull(), F.col(KEPT).getField(field.name)).otherwise(
            constant_column(field.write_default, field)
        )
        for field in kept.fields
    }
    return joined.withColumns(columns).drop(F.col(NUMBER), F.col(KEPT))
