"""Spark's types for a table's, and back."""

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.literals import literal_sql
from lakebed.table.schema.schema import Schema
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

FIELD_ID = "parquet.field.id"  # the metadata of a column from which Spark's writer takes the id
DEFAULT = "EXISTS_DEFAULT"  # the metadata of a column from which Spark's reader takes what files show that lack it

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
_TABLE: dict[type[spark.DataType], Primitive] = {type(there): here for here, there in _SPARK.items()} | {
    spark.ByteType: INT,
    spark.ShortType: INT,
    spark.CharType: STRING,
    spark.VarcharType: STRING,
}

_Label = Callable[[Field], tuple[str, dict[str, Any]]]


def spark_schema(schema: Schema) -> spark.StructType:
    """The schema as one would declare it in Spark: required columns are not nullable, comments are kept."""
    check_types(schema.fields)
    return _struct(schema.fields, lambda one: (one.name, {"comment": one.comment} if one.comment else {}))


def result_schema(schema: Schema) -> spark.StructType:
    """What a read has: the columns' names and types, all nullable, as Spark takes whatever it reads from files."""
    check_types(schema.fields)
    return _struct(schema.fields, lambda one: (one.name, {})).toNullable()


def file_schema(schema: Schema) -> spark.StructType:
    """What files have: physical names and ids. Spark has no place for the ids of list elements, map keys and values.

    `Invalid` for a column that Spark would write as another type.
    """
    for way in walk(schema.fields):
        if _is_unknown(way[-1].type) or isinstance(way[-1].type, Fixed):
            raise _foreign(way, "Append the rows by Arrow: `table.append(frame.toArrow())`.")
    return _struct(schema.fields, lambda one: (one.physical_name, {FIELD_ID: one.id})).toNullable()


def scan_schema(schema: Schema) -> spark.StructType:
    """What is asked of files: physical names, without ids, and the defaults of columns that older files lack.

    With ids, a session whose `spark.sql.parquet.fieldId.read.enabled` is true would match columns by them, but pushed
    filters by name, and wrong rows would come back.
    """
    return _struct(schema.fields, lambda one: (one.physical_name, _default(one))).toNullable()


def check_types(columns: Iterable[Field]) -> None:
    """Refuse columns that are, or have inside them, what no type of Spark holds: `Invalid` with the path."""
    for way in walk(tuple(columns)):
        if _is_unknown(way[-1].type):
            raise _foreign(way, "Read it by `scan(…)`, or name the other columns: `columns=[…]`.")


def readable(schema: Schema) -> Schema:
    """The columns that Spark can read."""
    return Schema([one for one in schema.fields if not any(_is_unknown(way[-1].type) for way in walk((one,)))])


def _is_unknown(type: Type) -> bool:
    return isinstance(type, Primitive) and type not in _SPARK


def _foreign(way: Way, advice: str) -> Invalid:
    path = ".".join(one.name for one in way)
    return Invalid("Spark has no type for a column", subject=path, found=str(way[-1].type), advice=advice)


def _default(one: Field) -> dict[str, Any]:
    # The vectorised reader of Spark 4.3 fails at a default of type binary.
    if one.initial_default is None or one.type == BINARY or isinstance(one.type, Fixed):
        return {}
    return {DEFAULT: literal_sql(one.type, one.initial_default)}


def schema_of(struct: spark.StructType) -> Schema:
    """The schema of a table that holds such a DataFrame; `Invalid` naming the column whose type no table has."""
    return Schema(_fields(struct, ""))


def _struct(fields: tuple[Field, ...], label: _Label) -> spark.StructType:
    return spark.StructType([_field(one, label) for one in fields])


def _field(one: Field, label: _Label) -> spark.StructField:
    name, metadata = label(one)
    return spark.StructField(name, _spark_type(one.type, label), not one.required, metadata)


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
            one.name,
            _table_type(one.dataType, f"{path}{one.name}"),
            required=not one.nullable,
            comment=str((one.metadata or {}).get("comment", "")),
        )
        for one in struct.fields
    )


def _table_type(type_: spark.DataType, path: str) -> Type:
    match type_:
        case spark.StructType():
            return Struct(_fields(type_, f"{path}."))
        case spark.ArrayType():
            return List(_table_type(type_.elementType, f"{path}.element"), not type_.containsNull)
        case spark.MapType():
            key, value = _table_type(type_.keyType, f"{path}.key"), _table_type(type_.valueType, f"{path}.value")
            return Map(key, value, not type_.valueContainsNull)
        case spark.DecimalType():
            return Decimal(type_.precision, type_.scale)
    if (found := primitive_of(type_)) is None:
        raise _homeless(type_, path)
    return found


def primitive_of(type_: spark.DataType) -> Primitive | None:
    """The type without parts that holds every value of Spark's, if there is one.

    A string with a collation has none: a table compares strings by their bytes.
    """
    # Before the table of types: char and varchar are strings to Python too.
    if isinstance(type_, spark.StringType) and type(type_) is spark.StringType and type_ != spark.StringType():
        return None
    return _TABLE.get(type(type_))


def _homeless(type_: spark.DataType, path: str) -> Invalid:
    return Invalid(
        "a table can't hold this type",
        subject=path,
        expected="boolean, a whole or floating number, decimal, date, timestamp, string, binary, array, map or struct",
        found=type_.simpleString(),
        advice="Cast the column to one of them, or leave it out.",
    )
