"""The columns of a CREATE TABLE, whose types Spark reads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType, TimestampType

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.session import is_remote
from lakebed.spark.sql.statements import Column
from lakebed.spark.sql.tokens import Words, tokens_of
from lakebed.spark.types import result_schema, schema_of
from lakebed.spark.variables import verbatim
from lakebed.table.schema.defaults import plain_default
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import check_type_text
from lakebed.table.types.types import Field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_CHANGING_WORDS = (
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_TIME",
    "LOCALTIMESTAMP",
    "CURRENT_USER",
    "SESSION_USER",
)
_CHANGING_CALLS = (
    *("NOW", "CURDATE", "CURRENT_TIMEZONE", "UNIX_TIMESTAMP", "RAND", "RANDOM", "RANDN", "RANDSTR", "UNIFORM", "UUID"),
    *("SHUFFLE", "CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA", "MONOTONICALLY_INCREASING_ID"),
)
"""Words and calls that mean something else each time."""


def declared_schema(spark: "SparkSession", columns: Sequence[Column], words: Words) -> Schema:
    """The schema that columns declare; `Invalid` points at a column that Spark can't read."""
    return Schema([_field(spark, column, words) for column in columns])


def query_schema(frame: "DataFrame") -> Schema:
    """The schema of a table created from a query: nothing in it is required, as in Spark."""
    return schema_of(frame.schema.toNullable())


def _field(spark: "SparkSession", column: Column, words: Words) -> Field:
    field = replace(_typed_field(spark, column, words), required=column.required, comment=column.comment)
    if column.default is None:
        return field
    _check_constant(column, words)
    return replace(field, write_default=plain_default(field, _default(spark, column, field, words)))


def _typed_field(spark: "SparkSession", column: Column, words: Words) -> Field:
    """The column with its type, as Spark reads it, or else as schemas in Python are read: `text`, `float64`."""
    check_type_text(column.name, column.type)
    try:
        text = f"{quoted(column.name)} {column.type}"
        # Connect has the session's parser read it, which replaces variables; a parser in this process does not.
        declared = StructType.fromDDL(verbatim(spark, text) if is_remote(spark) else text)
        return schema_of(cast(StructType, declared)).fields[0]
    except PySparkException as error:
        try:
            return Field(column.name, column.type)  # type: ignore[arg-type]  # text is parsed there
        except Invalid:
            expected = "such as id BIGINT NOT NULL"
            raise words.refused("Spark can't read this column", column.word, expected=expected) from error


def _check_constant(column: Column, words: Words) -> None:
    """Refuse a default that would have another value in each row: it is one value, which files and readers know."""
    default = tokens_of(column.default or "")
    for word, ahead in zip(default, [*default[1:], None], strict=True):
        is_call = ahead is not None and ahead.reads("(")
        if word.reads(*_CHANGING_WORDS) or (is_call and word.reads(*_CHANGING_CALLS)):
            statement = f"INSERT INTO t ({column.name}, …) VALUES ({column.default}, …)"
            raise words.refused(
                "a default is one value for all rows, calculated when it is declared",
                column.word,
                expected=f"a constant, not {word.text}",
                advice=f"Name the value in each statement: {statement}.",
            )


def _default(spark: "SparkSession", column: Column, field: Field, words: Words) -> Any:
    """The value of a default, computed now."""
    kind = result_schema(Schema([field])).fields[0].dataType
    value = f"CAST({column.default} AS {kind.simpleString()})"
    if isinstance(kind, TimestampType):  # which would come in this machine's zone, without naming it
        value = f"unix_micros({value})"
    try:
        (row,) = spark.sql(verbatim(spark, f"SELECT {value} AS {quoted(column.name)}")).collect()
    except PySparkException as error:
        raise words.refused("Spark can't calculate this default", column.word, expected="a constant") from error
    return row[0]
