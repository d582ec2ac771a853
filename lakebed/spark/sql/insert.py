"""The rows of a query as rows of a table: its columns matched, and its values cast to their types."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.rows.assignments import stored_value
from lakebed.spark.sql.statements import Insert, Matched
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stored_rows(frame: "DataFrame", insert: Insert, schema: Schema) -> "DataFrame":
    """The rows that an INSERT adds; `Invalid` for an unknown column, or one that can't store its values."""
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
    return _cast(frame.toDF(*_numbers(fields)), fields, insert.table.spelled)


def _named_columns(insert: Insert, schema: Schema) -> list[Field]:
    """The columns that are filled by position, or that were named."""
    if not insert.columns:
        return list(schema.fields)
    found: list[Field] = []
    for name, word in insert.columns:
        fields = {folded_column(field.name): field for field in schema.fields}
        if folded_column(name) not in fields:
            raise insert.query.words.refused(
                "there is no such column", word, expected=f"one of {', '.join(schema.names)}"
            )
        if fields[folded_column(name)] in found:
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
