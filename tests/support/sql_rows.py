"""Tables that statements are tried on, and the rows of a query."""

from typing import Any

import pyarrow
from pyspark.sql import DataFrame, SparkSession

from lakebed import Catalog, Lake


def filled(catalog: Catalog, name: str, **columns: Any) -> None:
    """Create a table with these rows."""
    table = pyarrow.table(columns)
    catalog.create_table(name, table.schema).append(table)


def rows(lake: Lake, spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    """The rows of a query, sorted."""
    frame = lake.sql(spark, text)
    assert isinstance(frame, DataFrame)
    return sorted(tuple(row) for row in frame.collect())


def ids(lake: Lake, spark: SparkSession, text: str) -> list[Any]:
    """The first column of a query, sorted."""
    return [row[0] for row in rows(lake, spark, text)]
