"""The columns of a CREATE TABLE, whose types Spark reads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType, TimestampType

from lakebed.spark.fit import quoted
from lakebed.spark.sql.statements import Column
from lakebed.spark.sql.tokens import Words
from lakebed.spark.types import schema_of
from lakebed.table.schema.defaults import plain_default
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def declared_schema(spark: "SparkSession", columns: Sequence[Column], words: Words) -> Schema:
    """The schema that columns declare; `Invalid` points at a column that Spark can't read."""
    return Schema([_field(spark, column, words) for column in columns])


def query_schema(frame: "DataFrame") -> Schema:
    """The schema of a table created from a query: nothing in it is required, as in Spark."""
    return schema_of(frame.schema.toNullable())


def _field(spark: "SparkSession", column: Column, words: Words) -> Field:
    try:
        struct: StructType = spark.createDataFrame([], f"{quoted(column.name)} {column.type}").schema
    except PySparkException as error:
        raise words.refused(
            "Spark can't read this column", column.word, expected="such as id BIGINT NOT NULL"
        ) from error
    field = replace(schema_of(struct).fields[0], required=column.required, comment=column.comment)
    if column.default is None:
        return field
    return replace(field, write_default=plain_default(field, _default(spark, column, struct, words)))


def _default(spark: "SparkSession", column: Column, struct: StructType, words: Words) -> Any:
    """The value of a default, computed now."""
    kind = struct.fields[0].dataType
    value = f"CAST({column.default} AS {kind.simpleString()})"
    if isinstance(kind, TimestampType):  # which would come in this machine's zone, without naming it
        value = f"unix_micros({value})"
    try:
        (row,) = spark.sql(f"SELECT {value} AS {quoted(column.name)}").collect()
    except PySparkException as error:
        raise words.refused("Spark can't calculate this default", column.word, expected="a constant") from error
    return row[0]
