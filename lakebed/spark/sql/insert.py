"""The rows of a query as rows of a table: its columns matched, and its values cast to their types."""

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.literals import literal_sql
from lakebed.spark.rows.assignments import stored_value
from lakebed.spark.sql.queries import Query, Replacement
from lakebed.spark.sql.statements import Constant, GivenDefault, Insert, Matched
from lakebed.spark.variables import written_expression
from lakebed.table.partition.hive import value_of
from lakebed.table.schema.schema import Schema
from lakebed.table.types import types
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Decimal, Field, Simple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


TEXT_TYPES = frozenset(
    {
        types.BOOLEAN,
        types.INT,
        types.LONG,
        types.FLOAT,
        types.DOUBLE,
        types.DATE,
        types.TIMESTAMP,
    }
)
"""The types whose values PARTITION (…) may say as texts, besides decimals; an instant needs the session's zone."""


def stored_rows(frame: "DataFrame", insert: Insert, schema: Schema) -> "DataFrame":
    """The rows that an INSERT adds; `Invalid` for an unknown column, or one that can't store its values."""
    constants = _constant_fields(insert, schema)
    named = _named_columns(insert, schema)
    names = [field.name for field in named] if insert.matched is Matched.POSITION or insert.columns else frame.columns
    if len(names) != len(frame.columns):
        raise insert.query.words.refused(
            f"the query has {len(frame.columns)} columns, but {len(names)} are to be filled",
            insert.query.words.words[0],
            expected=", ".join(names),
            advice="Name the columns: INSERT INTO t (a, b) …",
        )
    fields = [_field(name, schema, insert) for name in names]
    numbered = frame.toDF(*_numbers(fields))
    for number, (constant, field) in enumerate(zip(insert.constants, constants, strict=True)):
        sql = _constant_sql(constant, field, insert)
        numbered = numbered.withColumn(f"c{len(fields) + number}", written_expression(frame.sparkSession, sql))
    return _cast(numbered, [*fields, *constants], insert.table.spelled)


def with_defaults(insert: Insert, schema: Schema) -> Query:
    """The query with the values of defaults for the words DEFAULT in it."""
    named = _named_columns(insert, schema)
    found = []
    for default in insert.defaults:
        if default.column >= len(named):
            raise insert.query.words.refused("there is no column for this value", default.word)
        found.append(
            Replacement(default.word.start, default.word.end, _default_sql(named[default.column], insert, default))
        )
    return replace(insert.query, replacements=tuple(found))


def constants_condition(insert: Insert) -> str | None:
    """Which rows an overwrite of PARTITION (…) replaces; None without constants."""
    parts = [f"{quoted(constant.name)} <=> {constant.sql}" for constant in insert.constants]
    return " AND ".join(parts) if parts else None


def _default_sql(field: Field, insert: Insert, default: GivenDefault) -> str:
    if field.write_default is None:
        return "NULL"
    if not isinstance(field.type, Simple):
        advice = "Name the other columns: INSERT INTO t (a, b) …"
        raise insert.query.words.refused("DEFAULT can't stand for a nested value", default.word, advice=advice)
    return literal_sql(field.type, field.write_default)


def _constant_fields(insert: Insert, schema: Schema) -> list[Field]:
    return [_constant_field(constant, schema, insert) for constant in insert.constants]


def _constant_field(constant: Constant, schema: Schema, insert: Insert) -> Field:
    fields = {folded_column(field.name): field for field in schema.fields}
    if folded_column(constant.name) not in fields:
        expected = f"one of {', '.join(schema.names)}"
        raise insert.query.words.refused("there is no such column", constant.word, expected=expected)
    return fields[folded_column(constant.name)]


def _constant_sql(constant: Constant, field: Field, insert: Insert) -> str:
    """The value of a column of PARTITION (…). A text is what it means there, as in Spark."""
    if constant.text is None or not (field.type in TEXT_TYPES or isinstance(field.type, Decimal)):
        return constant.sql
    try:
        return literal_sql(field.type, value_of(field, constant.text))
    except Invalid as error:
        raise insert.query.words.refused(
            "this text is not a value of the column", constant.word, expected=str(field.type)
        ) from error


def _named_columns(insert: Insert, schema: Schema) -> list[Field]:
    """The columns that are filled by position, or that were named; PARTITION (…) fills its own."""
    if not insert.columns:
        constants = _constant_fields(insert, schema)
        return [field for field in schema.fields if field not in constants]
    found: list[Field] = []
    for name, word in insert.columns:
        fields = {folded_column(field.name): field for field in schema.fields}
        if folded_column(name) not in fields:
            raise insert.query.words.refused(
                "there is no such column", word, expected=f"one of {', '.join(schema.names)}"
            )
        if fields[folded_column(name)] in (*found, *_constant_fields(insert, schema)):
            raise insert.query.words.refused("a column is named twice", word)
        found.append(fields[folded_column(name)])
    return found


def _field(name: str, schema: Schema, insert: Insert) -> Field:
    fields = {folded_column(field.name): field for field in schema.fields}
    if folded_column(name) not in fields:
        raise Invalid(
            "the query has a column that the table does not have",
            subject=f"{insert.table.spelled}, column {name!r}",
            expected=f"one of {', '.join(schema.names)}",
        )
    return fields[folded_column(name)]


def _numbers(fields: list[Field]) -> list[str]:
    """Names that no two columns share, whatever the query calls them."""
    return [f"c{number}" for number in range(len(fields))]


def _cast(frame: "DataFrame", fields: list[Field], table: str) -> "DataFrame":
    columns = []
    for number, field in enumerate(fields):
        kind = frame.schema.fields[number].dataType
        value = stored_value(F.col(quoted(f"c{number}")), kind, field, table, f"column {number + 1} of the query")
        columns.append(value.alias(field.name))
    return frame.select(*columns)
