"""What columns are set to by Spark: SQL over its rows, or literals, as values of the columns that they go into."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.expressions import UNFIT, typed
from lakebed.spark.fit import quoted
from lakebed.spark.literals import literal
from lakebed.spark.types import result_schema, schema_of
from lakebed.table.expression.expression import VOID
from lakebed.table.expression.lit import Lit, constant
from lakebed.table.expression.types import can_store
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT, INT, LONG, STRING, Field, List, Map, Struct, Type, children_of

_NEVER_LOST = {(INT, LONG), (FLOAT, DOUBLE), (INT, FLOAT), (INT, DOUBLE), (LONG, FLOAT), (LONG, DOUBLE)}

Assigned = Mapping[str, Column]
"""The new values of columns, by name."""


def assigned(values: Mapping[str, Any], schema: Schema, rows: DataFrame, table: str) -> Assigned:
    """Values for a schema's columns, calculated from the rows'; `Invalid` names the column that one does not fit."""
    found: dict[str, Column] = {}
    for name, value in values.items():
        field = schema.field(name)
        if field.name in found:
            raise Invalid("a column is set twice", subject=f"{table}, column {field.name!r}")
        found[field.name] = _value(value, field, rows, table)
    return found


def _value(value: Any, field: Field, rows: DataFrame, table: str) -> Column:
    match value:
        case Lit():
            return plain(constant(value, field).value, field)
        case str() | Condition():
            column, kind = typed(rows, str(value), f"the value of column {field.name!r}", table)
            return stored(column, kind, field, table, str(value))
        case _:
            raise Invalid(
                "a column is set to what is no expression",
                subject=f"{table}, column {field.name!r}",
                expected="SQL as text, or lakebed.lit(value)",
                found=f"{value!r} of type {type(value).__name__}",
                advice=f"Use lakebed.lit({value!r}).",
            )


def stored(value: Column, kind: spark.DataType, field: Field, table: str, said: str) -> Column:
    """A value of Spark's type as it is put into a column: what does not fit is an error, never a null.

    `Invalid` names a column that values of this type can't be put into.
    """
    found = _table_type(kind, field)
    if not can_store(found, field.type):
        raise Invalid(
            "a value can't be stored in a column",
            subject=f"{table}, column {field.name!r}",
            expected=str(field.type),
            found=f"{said} of type {kind.simpleString()}",
            advice="Use CAST(… AS type).",
        )
    wanted = result_schema(Schema([field])).fields[0].dataType
    if kind == wanted:
        return value
    if found == VOID or field.type == STRING or (found, field.type) in _NEVER_LOST or isinstance(wanted, _NESTED):
        return value.cast(wanted)
    return _checked(value, wanted, field)


_NESTED = (spark.StructType, spark.ArrayType, spark.MapType)


def _checked(value: Column, wanted: spark.DataType, field: Field) -> Column:
    """The value cast, in every session by the rules of ANSI mode; one that has none there is an error."""
    cast = value.try_cast(wanted)
    message = F.concat(
        F.lit(f"{UNFIT}«{field.name}»«{field.type}»«"), F.coalesce(value.try_cast("string"), F.lit("?")), F.lit("»")
    )
    return F.when(value.isNotNull() & cast.isNull(), F.raise_error(message).cast(wanted)).otherwise(cast)


def _table_type(kind: spark.DataType, field: Field) -> Type:
    if isinstance(kind, spark.NullType):
        return VOID
    return schema_of(spark.StructType([spark.StructField(field.name, kind)])).fields[0].type


def plain(value: Any, field: Field) -> Column:
    """A plain value as a constant column of the field's type."""
    wanted = result_schema(Schema([field])).fields[0].dataType
    return (F.lit(None) if value is None else _constant(value, field.type)).cast(wanted)


def _constant(value: Any, type: Type) -> Column:
    if value is None:
        return F.lit(None)
    parts: Sequence[Field] = children_of(type)
    match type:
        case Struct():
            return F.struct(*(plain(value[one.name], one).alias(one.name) for one in parts))
        case List():
            return F.array(*(plain(one, parts[0]) for one in value))
        case Map():
            pairs = [plain(part, one) for pair in value for part, one in zip(pair, parts, strict=True)]
            return F.create_map(*pairs)
        case _:
            return literal(type, value)


def default(field: Field, table: str) -> Column:
    """What a column of a new row has that is given no value."""
    if field.write_default is None and field.required:
        raise Invalid("a column that is required is set to null", subject=f"{table}, column {field.name!r}")
    return plain(field.write_default, field)


def as_columns(schema: Schema, values: Assigned, before: Mapping[str, Column]) -> list[Column]:
    """All columns of a schema by their names: those that have a value, and the others as they were."""
    return [(values[one] if one in values else before[one]).alias(one) for one in schema.names]


def own_columns(schema: Schema, qualifier: str = "") -> dict[str, Column]:
    """The columns of rows as they are."""
    prefix = f"{qualifier}." if qualifier else ""
    return {one: F.col(f"{prefix}{quoted(one)}") for one in schema.names}
