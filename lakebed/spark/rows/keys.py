"""Checks that a change by Spark leaves no two rows with one primary key."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.data.target import Target
from lakebed.spark.fit import quoted
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.spark.rows.source import key_text
from lakebed.table.filter.filter import Comparison, Filter, Operator, all_of
from lakebed.table.keys.errors import known_key
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT, Field
from lakebed.table.types.values import decode_bound


def check_keys(target: Target, source: Source, change: RowChange) -> None:
    """Refuse rows with a key that comes twice or is left in the table; the change relies on the files it looked at.

    The keys are read from the written files, so that they are exactly the keys that would be added.
    """
    written = change.written.files
    if not written:
        return
    table, schema = target.name, target.schema
    new = _keys(source, schema, written, None)
    names = new.columns
    twice = new.groupBy(*map(quoted, names)).count().where("count > 1")
    _refuse(table, schema, twice, "comes twice in the rows that are written")
    filter = _filter(schema, written)
    files = [planned.file for planned in change.left_of(target.plan_keys(filter).files)]
    if files:
        known = new.join(_keys(source, schema, files, filter), names, "left_semi")
        _refuse(table, schema, known, "is in the table already")


def _keys(source: Source, schema: Schema, files: Sequence[DataFileRef], filter: Filter | None) -> DataFrame:
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    columns = list(dict.fromkeys(way[0].name for way in ways))
    rows = read(
        source.spark, source.files, schema, files, filter=filter, columns=columns, inline_rows=source.inline_rows
    )
    return rows.select(*(_column(way).alias(f"key{place}") for place, way in enumerate(ways)))


def _column(way: Sequence[Field]) -> Column:
    return F.col(".".join(quoted(field.name) for field in way))


def _filter(schema: Schema, files: Sequence[DataFileRef]) -> Filter | None:
    """The filter that all rows with keys of these files pass, from the files' bounds; None if there are none."""
    ways = [schema.way_by_id(id) for id in schema.identifier_ids]
    found = [
        part for way in ways if len(way) == 1 and way[0].type not in (FLOAT, DOUBLE) for part in _bounds(way[0], files)
    ]
    return all_of(found) if found else None


def _bounds(field: Field, files: Sequence[DataFileRef]) -> Iterator[Filter]:
    known = [column for file in files for column in file.statistics if column.field_id == field.id]
    if len(known) < len(files):
        return
    if all(column.HasField("lower") for column in known):
        lowest = min(decode_bound(field.type, column.lower) for column in known)
        yield Comparison(field, Operator.GREATER_OR_EQUAL, lowest)
    if all(column.HasField("upper") for column in known):
        highest = max(decode_bound(field.type, column.upper) for column in known)
        yield Comparison(field, Operator.LESS_OR_EQUAL, highest)


def _refuse(table: str, schema: Schema, keys: DataFrame, problem: str) -> None:
    types = [schema.way_by_id(id)[-1].type for id in schema.identifier_ids]
    text = key_text({name: (f"key{place}", types[place]) for place, name in enumerate(schema.key)})
    found = keys.select(text).limit(1).collect()
    if not found:
        return
    [(example,)] = found
    raise known_key(table, example, problem, keys.count())
