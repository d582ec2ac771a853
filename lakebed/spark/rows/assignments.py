"""The values that Spark sets columns to: SQL over its rows, or literals, in the types of the columns."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.casting import checked_cast
from lakebed.spark.expressions import typed_expression
from lakebed.spark.fit import quoted
from lakebed.spark.literals import literal
from lakebed.spark.types import result_schema, schema_of
from lakebed.table.expression.expression import VOID
from lakebed.table.expression.lit import Lit, constant
from lakebed.table.expression.quotes import check_quoted_names
from lakebed.table.expression.types import can_store
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, INT, LONG, STRING, Field, List, Map, Struct, Type, children_of

_NEVER_FAILS = {(INT, LONG), (FLOAT, DOUBLE), (INT, FLOAT), (INT, DOUBLE), (LONG, FLOAT), (LONG, DOUBLE)}
_NESTED = (spark.StructType, spark.ArrayType, spark.MapType)

Assigned = Mapping[str, Column]
"""The new values of columns, by name."""


def assigned_values(values: Mapping[str, Any], schema: Schema, rows: DataFrame, table: str) -> Assigned:
    """Values for a schema's columns, computed from the rows; `Invalid` names a column that its value does not fit."""
    found: dict[str, Column] = {}
    for name, value in values.items():
        field = schema.field(name)
        if field.name in found:
            raise Invalid("a column is set twice", subject=f"{table}, column {field.name!r}")
        found[field.name] = _value(value, field, rows, table)
    return found


def stored_value(value: Column, kind: spark.DataType, field: Field, table: str, text: str) -> Column:
    """A value of a Spark type, cast for storing in a column: a value that does not fit is an error, never a null.

    `Invalid` if the column can't store this type; `text` is the value as errors show it.
    """
    found = _table_type(kind, field)
    if not _can_store(found, field.type):
        raise Invalid(
            "a value can't be stored in a column",
            subject=f"{table}, column {field.name!r}",
            expected=str(field.type),
            found=f"{text} of type {kind.simpleString()}",
            advice="Use CAST(… AS type).",
        )
    wanted = result_schema(Schema([field])).fields[0].dataType
    if kind == wanted:
        return value
    if found == VOID or field.type == STRING or (found, field.type) in _NEVER_FAILS or isinstance(wanted, _NESTED):
        return value.cast(wanted)
    return checked_cast(value, wanted, field)


def constant_column(value: Any, field: Field) -> Column:
    """A plain value as a constant column of the field's type."""
    wanted = result_schema(Schema([field])).fields[0].dataType
    return (F.lit(None) if value is None else _constant(value, field.type)).cast(wanted)


def default_value(field: Field, table: str) -> Column:
    """The value of a new row's column that is given none."""
    if field.write_default is None and field.required:
        raise Invalid("a column that is required is set to null", subject=f"{table}, column {field.name!r}")
    return constant_column(field.write_default, field)


def as_columns(schema: Schema, values: Assigned, before: Mapping[str, Column]) -> list[Column]:
    """All columns of a schema: the new value if there is one, else the value before."""
    return [(values[name] if name in values else before[name]).alias(name) for name in schema.names]


def own_columns(schema: Schema, qualifier: str = "") -> dict[str, Column]:
    """The columns of rows, unchanged."""
    prefix = f"{qualifier}." if qualifier else ""
    return {name: F.col(f"{prefix}{quoted(name)}") for name in schema.names}


def _value(value: Any, field: Field, rows: DataFrame, table: str) -> Column:
    match value:
        case Lit():
            return constant_column(constant(value, field).value, field)
        case str() | Condition():
            check_quoted_names(str(value), rows.columns)
            column, kind = typed_expression(rows, str(value), f"the value of column {field.name!r}", table)
            return stored_value(column, kind, field, table, str(value))
        case _:
            raise Invalid(
                "a column is set to something that is not an expression",
                subject=f"{table}, column {field.name!r}",
                expected="SQL as text, or lakebed.lit(value)",
                found=f"{value!r} of type {type(value).__name__}",
                advice=f"Use lakebed.lit({value!r}).",
            )


def _can_store(found: Type, wanted: Type) -> bool:
    """Whether a column may store a value; of nested types, whether each part may store its own, by the same names."""
    parts, others = children_of(found), children_of(wanted)
    if not parts or type(found) is not type(wanted) or len(parts) != len(others):
        return can_store(found, wanted)
    pairs = list(zip(parts, others, strict=True))
    is_named_alike = all(folded_column(part.name) == folded_column(other.name) for part, other in pairs)
    return is_named_alike and all(_can_store(part.type, other.type) for part, other in pairs)


def _table_type(kind: spark.DataType, field: Field) -> Type:
    if isinstance(kind, spark.NullType):
        return VOID
    return schema_of(spark.StructType([spark.StructField(field.name, kind)])).fields[0].type


def _constant(value: Any, type: Type) -> Column:
    if value is None:
        return F.lit(None)
    parts: Sequence[Field] = children_of(type)
    match type:
        case Struct():
            return F.struct(*(constant_column(value[part.name], part).alias(part.name) for part in parts))
        case List():
            return F.array(*(constant_column(item, parts[0]) for item in value))
        case Map():
            items = [constant_column(item, part) for pair in value for item, part in zip(pair, parts, strict=True)]
            return F.create_map(*items)
        case _:
            return literal(type, value)
