"""A DataFrame in the form of a table's files: which columns fit, and the projection onto them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid
from lakebed.spark.literals import literal
from lakebed.spark.types import FIELD_ID, file_schema, primitive_of
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, INT, LONG, Decimal, Field, List, Map, Struct, Type

NULL_FOUND = "Lakebed found a null in a required column: "
"""How Spark's error begins when a job meets such a null; the column's path follows."""

_WIDER = {(INT, LONG), (FLOAT, DOUBLE)}
_FieldsByName = dict[str, spark.StructField]


def check_rows(data: Any) -> DataFrame:
    """The caller's rows; `Invalid` unless they are a DataFrame that is not a stream."""
    if not isinstance(data, DataFrame):
        raise Invalid("these are not rows", expected="a DataFrame", found=type(data).__name__)
    if data.isStreaming:
        raise Invalid(
            "a stream has no end, and its rows can't be written by one commit",
            expected="a DataFrame that is not a stream",
            found="a streaming DataFrame",
            advice="Write its batches: data.writeStream.foreachBatch(…).",
        )
    return data


def fit(frame: DataFrame, schema: Schema, beside: Mapping[str, str] | None = None) -> DataFrame:
    """The rows with the names, order, types and field ids of the files; lazy, no job runs.

    Columns are matched by name without case, in structs too. A missing column gets its default, or null if it is
    optional. Types fit if they are the same or only get wider. One `Invalid` lists all that does not fit. Only the job
    finds a null in a required column: its error begins with `NULL_FOUND`. Columns `beside` the table's follow them,
    renamed as the mapping says.
    """
    others = beside or {}
    own = spark.StructType([field for field in frame.schema.fields if field.name not in others])
    problems = list(_struct_problems(own, schema.fields, ""))
    if problems:
        raise Invalid(
            "the DataFrame does not fit the table",
            found="; ".join(problems),
            advice="Select, rename or cast its columns so that they fit.",
        )
    found = _by_name(own)
    targets = file_schema(schema).fields
    return frame.select(
        *(
            _fitted_column(found, _column, field, field.name)
            .cast(target.dataType)  # by position: renames, widens, and gives nested fields their ids
            .alias(target.name, metadata={FIELD_ID: field.id})
            for field, target in zip(schema.fields, targets, strict=True)
        ),
        *(_column(name).alias(new_name) for name, new_name in others.items()),
    )


def quoted(name: str) -> str:
    """The name of a column as Spark parses it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def _column(name: str) -> Column:
    return F.col(quoted(name))


def _by_name(struct: spark.StructType) -> _FieldsByName:
    return {folded_column(field.name): field for field in struct.fields}


def _struct_problems(have: spark.StructType, want: tuple[Field, ...], path: str) -> Iterator[str]:
    found = _by_name(have)
    if len(found) < len(have.fields):
        names = [folded_column(field.name) for field in have.fields]
        yield from (f"{path}{name} comes twice" for name in found if names.count(name) > 1)
    for field in want:
        given = found.pop(folded_column(field.name), None)
        if given is not None:
            yield from _type_problems(given.dataType, field.type, field.required, f"{path}{field.name}")
        elif field.required and field.write_default is None:
            yield f"{path}{field.name} is required, and missing"
    yield from (f"{path}{extra.name} is not a column of the table" for extra in found.values())


def _type_problems(have: spark.DataType, want: Type, required: bool, path: str) -> Iterator[str]:
    match have, want:
        case spark.StructType(), Struct(fields):
            yield from _struct_problems(have, fields, f"{path}.")
        case spark.ArrayType(), List():
            yield from _type_problems(have.elementType, want.element, want.element_required, f"{path}.element")
        case spark.MapType(), Map():
            yield from _type_problems(have.keyType, want.key, True, f"{path}.key")
            yield from _type_problems(have.valueType, want.value, want.value_required, f"{path}.value")
        case spark.NullType(), _ if not required:
            return
        case _ if not _is_same_or_wider(have, want):
            yield f"{path} is {have.simpleString()} instead of {want}"


def _is_same_or_wider(have: spark.DataType, want: Type) -> bool:
    if isinstance(have, spark.DecimalType):
        whole = have.precision - have.scale
        return isinstance(want, Decimal) and have.scale <= want.scale and whole <= want.precision - want.scale
    found = primitive_of(have)
    return found is not None and (found == want or (found, want) in _WIDER)


def _fitted_column(found: _FieldsByName, column_of: Callable[[str], Column], field: Field, path: str) -> Column:
    """The column for a field of the table; its default if the rows don't have it."""
    given = found.get(folded_column(field.name))
    if given is None:
        return F.lit(None) if field.write_default is None else literal(field.type, field.write_default)
    arranged = _arranged(column_of(given.name), given.dataType, field.type, path)
    return _null_checked(arranged, given.nullable and field.required, path)


def _null_checked(column: Column, may_break: bool, path: str) -> Column:
    """The column; if it may have a null that is not allowed, its first null is an error."""
    return F.coalesce(column, F.raise_error(f"{NULL_FOUND}«{path}»")) if may_break else column


def _arranged(column: Column, have: spark.DataType, want: Type, path: str) -> Column:
    """The column with its inner fields in the table's order; unchanged if they are already."""
    if _is_arranged(have, want):
        return column
    match have, want:
        case spark.StructType(), Struct(fields):
            found = _by_name(have)
            parts = [
                _fitted_column(found, column.getField, field, f"{path}.{field.name}").alias(field.name)
                for field in fields
            ]
            return F.when(column.isNotNull(), F.struct(*parts))
        case spark.ArrayType(), List():
            return F.transform(column, lambda each: _element(each, have, want, path))
        case spark.MapType(), Map():
            keys = F.transform_keys(column, lambda key, _: _arranged(key, have.keyType, want.key, f"{path}.key"))
            return F.transform_values(keys, lambda _, value: _value(value, have, want, path))
    return column


def _element(each: Column, have: spark.ArrayType, want: List, path: str) -> Column:
    place = f"{path}.element"
    arranged = _arranged(each, have.elementType, want.element, place)
    return _null_checked(arranged, have.containsNull and want.element_required, place)


def _value(value: Column, have: spark.MapType, want: Map, path: str) -> Column:
    place = f"{path}.value"
    arranged = _arranged(value, have.valueType, want.value, place)
    return _null_checked(arranged, have.valueContainsNull and want.value_required, place)


def _is_arranged(have: spark.DataType, want: Type) -> bool:
    """Whether a cast by position is enough: the same fields in the same order, and no nulls to look for."""
    match have, want:
        case spark.StructType(), Struct(fields):
            return len(have.fields) == len(fields) and all(
                folded_column(given.name) == folded_column(field.name)
                and not (given.nullable and field.required)
                and _is_arranged(given.dataType, field.type)
                for given, field in zip(have.fields, fields, strict=True)
            )
        case spark.ArrayType(), List():
            return not (have.containsNull and want.element_required) and _is_arranged(have.elementType, want.element)
        case spark.MapType(), Map():
            return (
                not (have.valueContainsNull and want.value_required)
                and _is_arranged(have.keyType, want.key)
                and _is_arranged(have.valueType, want.value)
            )
    return True
