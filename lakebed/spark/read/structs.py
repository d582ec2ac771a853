"""Fields that are read only because they show that a struct is there.

Spark 4.0 takes a struct for null if a file has none of the fields that are asked for: all that it has were dropped,
say, and others added. So one that the file has is asked for too, and taken out again. Spark 4.1 sees to it by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow
import pyarrow.types as arrow
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.fit import quoted
from lakebed.spark.read.footer import read_footer
from lakebed.spark.read.pushdown import behind
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    ELEMENT,
    FLOAT,
    INT,
    KEY,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    VALUE,
    Decimal,
    Field,
    Fields,
    List,
    Map,
    Struct,
    Type,
    children_of,
    walk,
    with_children,
)

FOOTER_THREADS = 8
WITNESS = -1
"""The id of a field that is none of the table's."""

_Inside = Mapping[str, tuple[str, pyarrow.DataType]]
"""What a type of a file has inside: names and types, by the names as Spark compares them."""

_PLAIN: Mapping[pyarrow.DataType, Type] = {
    pyarrow.bool_(): BOOLEAN,
    pyarrow.int8(): INT,
    pyarrow.int16(): INT,
    pyarrow.int32(): INT,
    pyarrow.int64(): LONG,
    pyarrow.float32(): FLOAT,
    pyarrow.float64(): DOUBLE,
    pyarrow.date32(): DATE,
    pyarrow.timestamp("us"): TIMESTAMP,
    pyarrow.timestamp("us", "UTC"): TIMESTAMPTZ,
    pyarrow.string(): STRING,
    pyarrow.large_string(): STRING,
    pyarrow.binary(): BINARY,
    pyarrow.large_binary(): BINARY,
}


def by_witnesses(
    files: Files, columns: Fields, needed: Fields, data_files: Sequence[DataFileRef]
) -> Mapping[Fields, list[DataFileRef]]:
    """The columns as they are to be asked for, with witnesses where those needed lack one, and of which files so.

    A file is opened if its entry does not say that it has some field of each struct.
    """
    ids = {one.id for one in needed}
    wanted = [one for one in columns if one.id in ids]
    groups: dict[Fields, list[DataFileRef]] = {}
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        found = pool.map(lambda one: _with_witnesses(files, one, wanted), data_files)
        for file, changed in zip(data_files, found, strict=True):
            groups.setdefault(tuple(changed.get(one.id, one) for one in columns), []).append(file)
    return groups


def without_witnesses(asked: Field) -> Column:
    """A column of a scan without the witnesses that it was asked for with."""
    column = F.col(quoted(asked.physical_name))
    return _without(behind(column), asked.type) if _has_witness(asked.type) else column


def _has_witness(type: Type) -> bool:
    return any(way[-1].id == WITNESS for way in walk(children_of(type)))


def _without(column: Column, type: Type) -> Column:
    if not _has_witness(type):
        return column
    match type:
        case Struct(fields):
            own = [one for one in fields if one.id != WITNESS]
            kept = [_without(column.getField(one.physical_name), one.type) for one in own]
            named = [each.alias(one.physical_name) for each, one in zip(kept, own, strict=True)]
            return F.when(column.isNotNull(), F.struct(*named))
        case List(element):
            return F.transform(column, lambda each: _without(each, element))
        case Map(_, value):
            return F.transform_values(column, lambda _, each: _without(each, value))  # keys never change
        case _:
            return column


def _with_witnesses(files: Files, file: DataFileRef, wanted: Iterable[Field]) -> dict[int, Field]:
    """Those of the columns that need witnesses in a file, with them, by their ids."""
    known = {one.field_id for one in file.statistics} | (field_ids_of(file) or frozenset())
    unsure = [one for one in wanted if any(_is_unsure(way[-1], known) for way in walk((one,)))]
    if not unsure:
        return {}
    there = _inside(read_footer(files, files.head(file.path)).schema.to_arrow_schema())
    return {one.id: _seen(file, one, there) for one in unsure}


def _is_unsure(field: Field, known: Iterable[int]) -> bool:
    """Whether nothing says that the file has some field of a struct."""
    return isinstance(field.type, Struct) and all(way[-1].id not in known for way in walk(field.type.fields))


def _seen(file: DataFileRef, field: Field, around: _Inside) -> Field:
    """The field with witnesses inside it, if it is among what the file has around it."""
    if (found := around.get(folded_column(field.physical_name))) is None:
        return field
    there, parts = _inside(found[1]), children_of(field.type)
    seen = tuple(_seen(file, one, there) for one in parts)
    if isinstance(field.type, Struct) and all(folded_column(one.physical_name) not in there for one in parts):
        seen = (*seen, _witness(file, field, there))
    return replace(field, type=with_children(field.type, seen))


def _witness(file: DataFileRef, field: Field, there: _Inside) -> Field:
    for name, found in there.values():
        if (type := _type(found)) is not None:
            return Field(name, type, id=WITNESS, physical_name=name)
    raise Invalid(
        "Spark 4.0 would take a struct for null of which a file has none of the fields",
        subject=field.name,
        expected="a field in the file that Spark has a type for",
        found=f"{', '.join(f'{name} {found}' for name, found in there.values())} in {file.path}",
        advice="Read it by `scan(…)`, write the table anew, or use Spark 4.1.",
    )


def _inside(found: pyarrow.Schema | pyarrow.DataType) -> _Inside:
    if isinstance(found, pyarrow.Schema) or arrow.is_struct(found):
        return {folded_column(one.name): (one.name, one.type) for one in found}
    if arrow.is_list(found) or arrow.is_large_list(found):
        return {ELEMENT: (ELEMENT, found.value_type)}
    if arrow.is_map(found):
        return {KEY: (KEY, found.key_type), VALUE: (VALUE, found.item_type)}
    return {}


def _type(found: pyarrow.DataType) -> Type | None:
    """The type by which Spark reads what a file has; None if it can't."""
    if arrow.is_struct(found):
        return _struct(found)
    if arrow.is_list(found) or arrow.is_large_list(found):
        element = _type(found.value_type)
        return None if element is None else List(element)
    if arrow.is_map(found):
        key, value = _type(found.key_type), _type(found.item_type)
        return None if key is None or value is None else Map(key, value)
    if arrow.is_decimal128(found):
        return Decimal(found.precision, found.scale)
    return BINARY if arrow.is_fixed_size_binary(found) else _PLAIN.get(found)


def _struct(found: pyarrow.StructType) -> Struct | None:
    for one in found:
        if (type := _type(one.type)) is not None:
            return Struct((Field(one.name, type, id=WITNESS, physical_name=one.name),))
    return None
