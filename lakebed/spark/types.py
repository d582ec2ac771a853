"""Table types as Spark types, and back."""

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.literals import literal_sql
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import LEVELS, too_deep
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    Way,
    walk,
)

FIELD_ID = "parquet.field.id"  # the column metadata that Spark's writer takes the id from
DEFAULT = "EXISTS_DEFAULT"  # the column metadata that Spark's reader takes the default from, for older files

_SPARK: dict[Primitive, spark.DataType] = {
    BOOLEAN: spark.BooleanType(),
    INT: spark.IntegerType(),
    LONG: spark.LongType(),
    FLOAT: spark.FloatType(),
    DOUBLE: spark.DoubleType(),
    DATE: spark.DateType(),
    TIMESTAMP: spark.TimestampNTZType(),
    TIMESTAMPTZ: spark.TimestampType(),
    STRING: spark.StringType(),
    BINARY: spark.BinaryType(),
}
_TABLE: dict[type[spark.DataType], Primitive] = {type(value): key for key, value in _SPARK.items()} | {
    spark.ByteType: INT,
    spark.ShortType: INT,
    spark.CharType: STRING,
    spark.VarcharType: STRING,
}

_Label = Callable[[Field], tuple[str, dict[str, Any]]]


def spark_schema(schema: Schema) -> spark.StructType:
    """The schema as a user would declare it in Spark: required columns are not nullable, comments are kept."""
    check_types(schema.fields)
    return _struct(schema.fields, lambda field: (field.name, {"comment": field.comment} if field.comment else {}))


def result_schema(schema: Schema) -> spark.StructType:
    """The schema of a read: the columns' names and types, all nullable, like all that Spark reads from files."""
    check_types(schema.fields)
    return _struct(schema.fields, lambda field: (field.name, {})).toNullable()


def file_schema(schema: Schema) -> spark.StructType:
    """The schema of written files: physical names and ids.

    Spark has no place for the ids of list elements, map keys and map values. `Invalid` for a column that Spark would
    write as another type.
    """
    check_writable(schema, "Append the rows by Arrow: `table.append(frame.toArrow())`.")
    return _struct(schema.fields, lambda field: (field.physical_name, {FIELD_ID: field.id})).toNullable()


def scan_schema(schema: Schema) -> spark.StructType:
    """The schema that files are read with: physical names without ids, and defaults for older files.

    With ids, a session whose `spark.sql.parquet.fieldId.read.enabled` is true would match columns by id, but pushed
    filters by name, and return wrong rows.
    """
    return _struct(schema.fields, lambda field: (field.physical_name, _default_metadata(field))).toNullable()


def check_types(
    columns: Iterable[Field], advice: str = "Read it by `scan(…)`, or name the other columns: `columns=[…]`."
) -> None:
    """Refuse columns with a type that Spark does not have, also inside of others: `Invalid` with the path."""
    for way in walk(tuple(columns)):
        if _is_unknown(way[-1].type):
            raise _foreign_type(way, advice)


def check_writable(schema: Schema, advice: str) -> None:
    """Refuse columns that Spark would write as another type."""
    for way in walk(schema.fields):
        if _is_unknown(way[-1].type) or isinstance(way[-1].type, Fixed):
            raise _foreign_type(way, advice)


def readable_schema(schema: Schema) -> Schema:
    """The columns that Spark can read."""
    return Schema([field for field in schema.fields if not any(_is_unknown(way[-1].type) for way in walk((field,)))])


def schema_of(struct: spark.StructType) -> Schema:
    """The schema of a table for a DataFrame's rows; `Invalid` names a column whose type no table has."""
    for field in struct.fields:
        _check_nesting(field)
    return Schema(_fields(struct, ""))


def _check_nesting(field: spark.StructField) -> None:
    """Refuse a column with more levels than `LEVELS`. Without recursion, since its type may be of any depth."""
    deepest, pending = 0, [(field.dataType, 0)]
    while pending:
        type_, above = pending.pop()
        children = children_of(type_)
        own = above + (1 if isinstance(type_, spark.StructType) else 2 if children else 0)
        deepest = max(deepest, own)
        pending += [(child, own) for child in children]
    if deepest > LEVELS:
        raise too_deep(field.name, deepest)


def children_of(type_: spark.DataType) -> list[spark.DataType]:
    """The types directly inside a type."""
    match type_:
        case spark.StructType():
            return [field.dataType for field in type_.fields]
        case spark.ArrayType():
            return [type_.elementType]
        case spark.MapType():
            return [type_.keyType, type_.valueType]
    return []


def primitive_of(type_: spark.DataType) -> Primitive | None:
    """The table's primitive type that holds every value of Spark's, if there is one.

    There is none for a string with a collation: a table compares strings by their bytes.
    """
    # Before the look-up: char and varchar are subclasses of string.
    if isinstance(type_, spark.StringType) and type(type_) is spark.StringType and type_ != spark.StringType():
        return None
    return _TABLE.get(type(type_))


def _is_unknown(type: Type) -> bool:
    return isinstance(type, Primitive) and type not in _SPARK


def _foreign_type(way: Way, advice: str) -> Invalid:
    path = ".".join(field.name for field in way)
    return Invalid("Spark has no type for a column", subject=path, found=str(way[-1].type), advice=advice)


def _default_metadata(field: Field) -> dict[str, Any]:
    # The vectorised reader of Spark 4.3 fails at a default of type binary.
    if field.initial_default is None or field.type == BINARY or isinstance(field.type, Fixed):
        return {}
    return {DEFAULT: literal_sql(field.type, field.initial_default)}


def _struct(fields: tuple[Field, ...], label: _Label) -> spark.StructType:
    return spark.StructType([_field(field, label) for field in fields])


def _field(field: Field, label: _Label) -> spark.StructField:
    name, metadata = label(field)
    return spark.StructField(name, _spark_type(field.type, label), not field.required, metadata)


def _spark_type(type: Type, label: _Label) -> spark.DataType:
    match type:
        case Primitive():
            return _SPARK[type]
        case Decimal(precision, scale):
            return spark.DecimalType(precision, scale)
        case Fixed():
            return spark.BinaryType()
        case Struct(fields):
            return _struct(fields, label)
        case List():
            return spark.ArrayType(_spark_type(type.element, label), not type.element_required)
        case Map():
            key, value = _spark_type(type.key, label), _spark_type(type.value, label)
            return spark.MapType(key, value, not type.value_required)


def _fields(struct: spark.StructType, path: str) -> tuple[Field, ...]:
    return tuple(
        Field(
            field.name,
            _table_type(field.dataType, f"{path}{field.name}"),
            required=not field.nullable,
            comment=str((field.metadata or {}).get("comment", "")),
            max_length=field.dataType.length
            if isinstance(field.dataType, spark.CharType | spark.VarcharType)
            else None,
        )
        for field in struct.fields
    )


def _table_type(type_: spark.DataType, path: str) -> Type:
    match type_:
        case spark.StructType():
            return Struct(_fields(type_, f"{path}."))
        case spark.ArrayType():
            return List(_part_type(type_.elementType, f"{path}.element"), not type_.containsNull)
        case spark.MapType():
            key, value = _part_type(type_.keyType, f"{path}.key"), _part_type(type_.valueType, f"{path}.value")
            return Map(key, value, not type_.valueContainsNull)
        case spark.DecimalType():
            return Decimal(type_.precision, type_.scale)
    if (found := primitive_of(type_)) is None:
        raise _unknown_type(type_, path)
    return found


def _part_type(type_: spark.DataType, path: str) -> Type:
    """The type of a list's element, or of a map's keys or values, whose length no check could reach."""
    if isinstance(type_, spark.CharType | spark.VarcharType):
        raise Invalid("only a column, or a field of a struct, can have a length", subject=path, advice="Use string.")
    return _table_type(type_, path)


def _unknown_type(type_: spark.DataType, path: str) -> Invalid:
    return Invalid(
        "a table can't hold this type",
        subject=path,
        expected="boolean, a whole or floating number, decimal, date, timestamp, string, binary, array, map or struct",
        found=type_.simpleString(),
        advice="Cast the column to one of them, or leave it out.",
    )
