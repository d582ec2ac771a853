"""Fields with a default that files older than them lack, and the columns that show it.

Spark gives the defaults of whole columns itself, under filters too, if the schema that is read has `EXISTS_DEFAULT`. It
has none for fields inside other columns, and its vectorised reader fails at those of type binary, and at decimals that
no long holds (Spark 4.3). For these the files are told apart: by their statistics, which name the fields that a file
has, else by their footers.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.files import Files
from lakebed.spark.literals import literal
from lakebed.spark.read.footer import read_footer
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
"""Decimals of more digits are bytes in Spark's columns, where its reader puts a default as a long."""

Absent = frozenset[int]
"""The ids of fields that a file lacks."""


def by_absent(files: Files, columns: Fields, data_files: Sequence[DataFileRef]) -> Mapping[Absent, list[DataFileRef]]:
    """The files, together those that lack the same fields of these columns, of those that Spark does not see to."""
    wanted = [way for way in walk(columns) if _needs_help(way)]
    if not wanted:
        return {frozenset(): list(data_files)}
    groups: dict[Absent, list[DataFileRef]] = {}
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        for file, absent in zip(data_files, pool.map(lambda one: _absent(files, one, wanted), data_files), strict=True):
            groups.setdefault(absent, []).append(file)
    return groups


def _needs_help(way: Way) -> bool:
    """Whether the field at the end of the way has a default that Spark does not give by itself."""
    helpless = len(way) > 1 or _fails_in_spark(way[-1].type)
    return way[-1].initial_default is not None and helpless


def _fails_in_spark(type: Type) -> bool:
    return type == BINARY or isinstance(type, Fixed) or (isinstance(type, Decimal) and type.precision > LONG_DIGITS)


def _absent(files: Files, file: DataFileRef, wanted: Sequence[Way]) -> Absent:
    held = field_ids_of(file)
    if held is not None:
        return frozenset(way[-1].id for way in wanted) - held
    recorded = {one.field_id for one in file.statistics}
    unsure = [way for way in wanted if way[-1].id not in recorded]
    if not unsure:
        return frozenset()
    found = read_footer(files, files.head(file.path)).schema.to_arrow_schema()
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


def filled(column: Column, field: Field, absent: Absent) -> Column:
    """A column of the files with the defaults of what they lack, still by its physical names."""
    if field.id in absent:
        return literal(field.type, field.initial_default)
    return _filled_inside(column, field.type, absent) if _lacks(field.type, absent) else column


def _lacks(type: Type, absent: Absent) -> bool:
    return any(way[-1].id in absent for way in walk(children_of(type)))


def _filled_inside(column: Column, type: Type, absent: Absent) -> Column:
    parts = children_of(type)
    match type:
        case Struct():
            fields = [filled(column.getField(one.physical_name), one, absent).alias(one.physical_name) for one in parts]
            return F.when(column.isNotNull(), F.struct(*fields))
        case List():
            return F.transform(column, lambda each: filled(each, parts[0], absent))
        case Map():
            return F.transform_values(column, lambda _, value: filled(value, parts[1], absent))  # keys never change
        case _:
            return column
