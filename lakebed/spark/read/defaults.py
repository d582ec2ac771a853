"""Defaults for fields that older files don't have.

Spark gives the defaults of whole columns itself, under filters too, if the schema that is read has `EXISTS_DEFAULT`. It
gives none to fields inside other columns. Its vectorised reader fails at defaults of type binary, and of decimals that
don't fit into a long (Spark 4.3). For these, files are grouped by the fields that are missing: according to their
statistics, which name the fields that a file has, else to their footers.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.files import Files
from lakebed.spark.literals import literal
from lakebed.spark.read.footer import arrow_form
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.types.types import (
    BINARY,
    ELEMENT,
    KEY,
    VALUE,
    Decimal,
    Field,
    Fields,
    Fixed,
    List,
    Map,
    Struct,
    Type,
    Way,
    children_of,
    walk,
)

FOOTER_THREADS = 8
LONG_DIGITS = 18
"""Decimals with more digits are bytes in Spark's columns, but its reader sets a default as a long."""

MissingFields = frozenset[int]
"""The ids of fields that a file does not have."""


def files_by_missing_fields(
    files: Files, columns: Fields, data_files: Sequence[DataFileRef]
) -> Mapping[MissingFields, list[DataFileRef]]:
    """The files by the fields of these columns that are missing in them and whose defaults Spark does not give."""
    wanted = [way for way in walk(columns) if _needs_default(way)]
    if not wanted:
        return {frozenset(): list(data_files)}
    groups: dict[MissingFields, list[DataFileRef]] = {}
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        found = pool.map(lambda file: _missing_fields(files, file, wanted), data_files)
        for file, missing in zip(data_files, found, strict=True):
            groups.setdefault(missing, []).append(file)
    return groups


def with_defaults(column: Column, field: Field, missing: MissingFields) -> Column:
    """A column of the files with the defaults of missing fields, still under its physical names."""
    if field.id in missing:
        return literal(field.type, field.initial_default)
    return _with_inner_defaults(column, field.type, missing) if _misses_any(field.type, missing) else column


def _needs_default(way: Way) -> bool:
    """Whether the field at the end of the way has a default that Spark does not give by itself."""
    is_left_out = len(way) > 1 or _fails_in_spark(way[-1].type)
    return way[-1].initial_default is not None and is_left_out


def _fails_in_spark(type: Type) -> bool:
    return type == BINARY or isinstance(type, Fixed) or (isinstance(type, Decimal) and type.precision > LONG_DIGITS)


def _missing_fields(files: Files, file: DataFileRef, wanted: Sequence[Way]) -> MissingFields:
    held = field_ids_of(file)
    if held is not None:
        return frozenset(way[-1].id for way in wanted) - held
    recorded = {column.field_id for column in file.statistics}
    unsure = [way for way in wanted if way[-1].id not in recorded]
    if not unsure:
        return frozenset()
    found = arrow_form(files, file)
    return frozenset(way[-1].id for way in unsure if not _has(found, way))


def _has(found: pyarrow.Schema | pyarrow.DataType, way: Way) -> bool:
    if not way:
        return True
    first, rest = way[0], way[1:]
    if isinstance(found, pyarrow.Schema | pyarrow.StructType):
        place = found.get_field_index(first.physical_name)
        return place >= 0 and _has(found.field(place).type, rest)
    inside: dict[str, Callable[[], pyarrow.DataType]] = {
        ELEMENT: lambda: found.value_type,
        KEY: lambda: found.key_type,
        VALUE: lambda: found.item_type,
    }
    return _has(inside[first.name](), rest)


def _misses_any(type: Type, missing: MissingFields) -> bool:
    return any(way[-1].id in missing for way in walk(children_of(type)))


def _with_inner_defaults(column: Column, type: Type, missing: MissingFields) -> Column:
    parts = children_of(type)
    match type:
        case Struct():
            fields = [
                with_defaults(column.getField(part.physical_name), part, missing).alias(part.physical_name)
                for part in parts
            ]
            return F.when(column.isNotNull(), F.struct(*fields))
        case List():
            return F.transform(column, lambda each: with_defaults(each, parts[0], missing))
        case Map():
            # Keys never change.
            return F.transform_values(column, lambda _, value: with_defaults(value, parts[1], missing))
        case _:
            return column
