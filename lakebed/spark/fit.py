"""Bringing a DataFrame to the columns of a table's files: what fits, and the projection that does it."""

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
"""What Spark's error says, with the column's place behind it, when a job meets such a null."""

_WIDER = {(INT, LONG), (FLOAT, DOUBLE)}
_Found = dict[str, spark.StructField]


def check_rows(data: Any) -> DataFrame:
    """What somebody gives as rows; `Invalid` unless it is a DataFrame whose rows have an end."""
    if not isinstance(data, DataFrame):
        raise Invalid("these are no rows", expected="a DataFrame", found=type(data).__name__)
    if data.isStreaming:
        raise Invalid(
            "a stream has no end, and its rows can't be written by one commit",
            expected="a DataFrame that is no stream",
            found="a streaming DataFrame",
            advice="Write its batches: data.writeStream.foreachBatch(…).",
        )
    return data


def fit(frame: DataFrame, schema: Schema, beside: Mapping[str, str] | None = None) -> DataFrame:
    """The rows with the names, order, types and field ids of the files; lazy, no job runs.

    Columns are matched by name without case, in structs too. A missing column has its default, or is null if it is
    optional. Types fit if they are the same or only get wider. What does not fit is one `Invalid` that lists it all.
    A null in a required column is found by the job itself: its error says `NULL_FOUND`. Columns `beside` those of the
    table stay behind them, under the names that are given there for theirs.
    """
    others = beside or {}
    own = spark.StructType([one for one in frame.schema.fields if one.name not in others])
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
            _fitted(found, _column, one, one.name)
            .cast(target.dataType)  # by position: renames, widens, and gives nested fields their ids
            .alias(target.name, metadata={FIELD_ID: one.id})
            for one, target in zip(schema.fields, targets, strict=True)
        ),
        *(_column(name).alias(shown) for name, shown in others.items()),
    )


def quoted(name: str) -> str:
    """The name of a column as Spark parses it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def _column(name: str) -> Column:
    return F.col(quoted(name))


def _by_name(struct: spark.StructType) -> _Found:
    return {folded_column(one.name): one for one in struct.fields}


def _struct_problems(have: spark.StructType, want: tuple[Field, ...], path: str) -> Iterator[str]:
    found = _by_name(have)
    if len(found) < len(have.fields):
        names = [folded_column(one.name) for one in have.fields]
        yield from (f"{path}{name} comes twice" for name in found if names.count(name) > 1)
    for one in want:
        there = found.pop(folded_column(one.name), None)
        if there is not None:
            yield from _type_problems(there.dataType, one.type, one.required, f"{path}{one.name}")
        elif one.required and one.write_default is None:
            yield f"{path}{one.name} is required, and missing"
    yield from (f"{path}{extra.name} is no column of the table" for extra in found.values())


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
        case _ if not _fits(have, want):
            yield f"{path} is {have.simpleString()} instead of {want}"


def _fits(have: spark.DataType, want: Type) -> bool:
    if isinstance(have, spark.DecimalType):
        whole = have.precision - have.scale
        return isinstance(want, Decimal) and have.scale <= want.scale and whole <= want.precision - want.scale
    found = primitive_of(have)
    return found is not None and (found == want or (found, want) in _WIDER)


def _fitted(found: _Found, column_of: Callable[[str], Column], one: Field, path: str) -> Column:
    """The column for a field of the table, out of those that there are; its default if it is not among them."""
    there = found.get(folded_column(one.name))
    if there is None:
        return F.lit(None) if one.write_default is None else literal(one.type, one.write_default)
    arranged = _arranged(column_of(there.name), there.dataType, one.type, path)
    return _checked(arranged, there.nullable and one.required, path)


def _checked(column: Column, doubtful: bool, path: str) -> Column:
    """The column, or an error at its first null if one is possible that may not be."""
    return F.coalesce(column, F.raise_error(f"{NULL_FOUND}«{path}»")) if doubtful else column


def _arranged(column: Column, have: spark.DataType, want: Type, path: str) -> Column:
    """The column with what is inside it in the table's order; the same if it is so already."""
    if _is_arranged(have, want):
        return column
    match have, want:
        case spark.StructType(), Struct(fields):
            found = _by_name(have)
            parts = [_fitted(found, column.getField, one, f"{path}.{one.name}").alias(one.name) for one in fields]
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
    return _checked(arranged, have.containsNull and want.element_required, place)


def _value(value: Column, have: spark.MapType, want: Map, path: str) -> Column:
    place = f"{path}.value"
    arranged = _arranged(value, have.valueType, want.value, place)
    return _checked(arranged, have.valueContainsNull and want.value_required, place)


def _is_arranged(have: spark.DataType, want: Type) -> bool:
    """Whether a cast by position is enough: the same fields in the same order, and no null to look for."""
    match have, want:
        case spark.StructType(), Struct(fields):
            return len(have.fields) == len(fields) and all(
                folded_column(there.name) == folded_column(one.name)
                and not (there.nullable and one.required)
                and _is_arranged(there.dataType, one.type)
                for there, one in zip(have.fields, fields, strict=True)
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
