"""Whether the primary keys of rows that Spark has written are new to a table."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import Target
from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.spark.rows.source import key_text
from lakebed.table.filter.filter import Comparison, Filter, Operator, all_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT, Field
from lakebed.table.types.values import decode_bound


def check_new_keys(target: Target, source: Source, written: Written) -> None:
    """Refuse rows of which a key comes twice, or is in the table; what was looked at becomes read.

    The keys are read from the files that were written, so that they are the very ones that would be added.
    """
    if not written.files:
        return
    table, schema = target.name, target.schema
    new = _keys(source, schema, written.files, None)
    names = new.columns
    twice = new.groupBy(*map(quoted, names)).count().where("count > 1")
    _refuse(table, schema, twice, "comes twice in the rows that are given")
    filter = _filter(schema, written.files)
    planned = [one.file for one in target.plan(filter).files]
    if planned:
        known = new.join(_keys(source, schema, planned, filter), names, "left_semi")
        _refuse(table, schema, known, "is in the table already")


def _keys(source: Source, schema: Schema, files: Sequence[DataFileRef], filter: Filter | None) -> DataFrame:
    ways = [schema.way_by_id(one) for one in schema.identifier_ids]
    columns = list(dict.fromkeys(way[0].name for way in ways))
    rows = read(
        source.spark, source.files, schema, files, filter=filter, columns=columns, inline_rows=source.inline_rows
    )
    return rows.select(*(_value(way).alias(f"key{place}") for place, way in enumerate(ways)))


def _value(way: Sequence[Field]) -> Column:
    return F.col(".".join(quoted(one.name) for one in way))


def _filter(schema: Schema, files: Sequence[DataFileRef]) -> Filter | None:
    """What all rows with the keys of these files pass, by the files' own bounds; None if they tell nothing."""
    ways = [schema.way_by_id(one) for one in schema.identifier_ids]
    found = [
        part for way in ways if len(way) == 1 and way[0].type not in (FLOAT, DOUBLE) for part in _bounds(way[0], files)
    ]
    return all_of(found) if found else None


def _bounds(field: Field, files: Sequence[DataFileRef]) -> Iterator[Filter]:
    known = [one for file in files for one in file.statistics if one.field_id == field.id]
    if len(known) < len(files):
        return
    if all(one.HasField("lower") for one in known):
        lowest = min(decode_bound(field.type, one.lower) for one in known)
        yield Comparison(field, Operator.GREATER_OR_EQUAL, lowest)
    if all(one.HasField("upper") for one in known):
        highest = max(decode_bound(field.type, one.upper) for one in known)
        yield Comparison(field, Operator.LESS_OR_EQUAL, highest)


def _refuse(table: str, schema: Schema, keys: DataFrame, problem: str) -> None:
    types = [schema.way_by_id(one)[-1].type for one in schema.identifier_ids]
    shown = key_text({name: (f"key{place}", types[place]) for place, name in enumerate(schema.key)})
    found = keys.select(shown).limit(1).collect()
    if not found:
        return
    [(example,)] = found
    raise Invalid(
        f"a primary key {problem}",
        subject=f"{table}: {example}",
        expected="keys that are new, as the property write.check-keys has it",
        found=f"{keys.count()} such keys",
        advice="Use upsert(…) to put rows in the place of those with their keys. Nothing was written.",
    )
