"""Probes: fields that are read only to see whether a struct is null.

Spark 4.0 reads a struct as null if a file has none of the fields that are asked for, because all of its fields were
dropped, say, and others added. So a field that the file has, a probe, is read too and removed again. Spark 4.1 gets it
right by itself.
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
from lakebed.spark.read.footer import arrow_form
from lakebed.spark.read.pushdown import hide_from_pushdown
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
PROBE = -1
"""The id of a field that is not one of the table's."""

_Children = Mapping[str, tuple[str, pyarrow.DataType]]
"""The children of a type in a file: names and types, by the names as Spark compares them."""

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


def files_by_probes(
    files: Files, columns: Fields, needed: Fields, data_files: Sequence[DataFileRef]
) -> Mapping[Fields, list[DataFileRef]]:
    """The files by the columns to read from them: with probes where a needed struct has no field in the file.

    A file is opened if its entry does not show a field of each struct.
    """
    ids = {field.id for field in needed}
    wanted = [field for field in columns if field.id in ids]
    groups: dict[Fields, list[DataFileRef]] = {}
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        found = pool.map(lambda file: _probed_columns(files, file, wanted), data_files)
        for file, probed in zip(data_files, found, strict=True):
            groups.setdefault(tuple(probed.get(field.id, field) for field in columns), []).append(file)
    return groups


def without_probes(asked: Field) -> Column:
    """A column of a scan without its probes."""
    column = F.col(quoted(asked.physical_name))
    return _without_probes(hide_from_pushdown(column), asked.type) if _has_probe(asked.type) else column


def _has_probe(type: Type) -> bool:
    return any(way[-1].id == PROBE for way in walk(children_of(type)))


def _without_probes(column: Column, type: Type) -> Column:
    if not _has_probe(type):
        return column
    match type:
        case Struct(fields):
            own = [field for field in fields if field.id != PROBE]
            values = [
                _without_probes(column.getField(field.physical_name), field.type).alias(field.physical_name)
                for field in own
            ]
            return F.when(column.isNotNull(), F.struct(*values))
        case List(element):
            return F.transform(column, lambda each: _without_probes(each, element))
        case Map(_, value):
            return F.transform_values(column, lambda _, each: _without_probes(each, value))  # keys never change
        case _:
            return column


def _probed_columns(files: Files, file: DataFileRef, wanted: Iterable[Field]) -> dict[int, Field]:
    """The columns that need probes in a file, with their probes, by id."""
    known = {column.field_id for column in file.statistics} | (field_ids_of(file) or frozenset())
    unsure = [field for field in wanted if any(_may_need_probe(way[-1], known) for way in walk((field,)))]
    if not unsure:
        return {}
    there = _children(arrow_form(files, file))
    return {field.id: _with_probes(file, field, there) for field in unsure}


def _may_need_probe(field: Field, known: Iterable[int]) -> bool:
    """Whether the field is a struct, and the file is not known to have a field of it."""
    return isinstance(field.type, Struct) and all(way[-1].id not in known for way in walk(field.type.fields))


def _with_probes(file: DataFileRef, field: Field, siblings: _Children) -> Field:
    """The field with probes inside it, if it is among the siblings that the file has."""
    if (found := siblings.get(folded_column(field.physical_name))) is None:
        return field
    there, parts = _children(found[1]), children_of(field.type)
    probed = tuple(_with_probes(file, part, there) for part in parts)
    if isinstance(field.type, Struct) and all(folded_column(part.physical_name) not in there for part in parts):
        probed = (*probed, _probe(file, field, there))
    return replace(field, type=with_children(field.type, probed))


def _probe(file: DataFileRef, field: Field, there: _Children) -> Field:
    for name, found in there.values():
        if (type := _readable_type(found)) is not None:
            return Field(name, type, id=PROBE, physical_name=name)
    raise Invalid(
        "Spark 4.0 would read a struct as null because a file has none of its fields",
        subject=field.name,
        expected="a field in the file that Spark has a type for",
        found=f"{', '.join(f'{name} {found}' for name, found in there.values())} in {file.path}",
        advice="Read it by `scan(…)`, rewrite the table, or use Spark 4.1.",
    )


def _children(found: pyarrow.Schema | pyarrow.DataType) -> _Children:
    if isinstance(found, pyarrow.Schema) or arrow.is_struct(found):
        return {folded_column(field.name): (field.name, field.type) for field in found}
    if arrow.is_list(found) or arrow.is_large_list(found):
        return {ELEMENT: (ELEMENT, found.value_type)}
    if arrow.is_map(found):
        return {KEY: (KEY, found.key_type), VALUE: (VALUE, found.item_type)}
    return {}


def _readable_type(found: pyarrow.DataType) -> Type | None:
    """The type by which Spark reads a field of a file; None if it can't."""
    if arrow.is_struct(found):
        return _struct(found)
    if arrow.is_list(found) or arrow.is_large_list(found):
        element = _readable_type(found.value_type)
        return None if element is None else List(element)
    if arrow.is_map(found):
        key, value = _readable_type(found.key_type), _readable_type(found.item_type)
        return None if key is None or value is None else Map(key, value)
    if arrow.is_decimal128(found):
        return Decimal(found.precision, found.scale)
    return BINARY if arrow.is_fixed_size_binary(found) else _PLAIN.get(found)


def _struct(found: pyarrow.StructType) -> Struct | None:
    for field in found:
        if (type := _readable_type(field.type)) is not None:
            return Struct((Field(field.name, type, id=PROBE, physical_name=field.name),))
    return None
