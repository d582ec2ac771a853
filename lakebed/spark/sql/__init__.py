"""SQL with the lake's names: statements are read here, their queries run on DataFrames; docs/guide/sql.md."""

from lakebed.spark.sql.conjuncts import prunable
from lakebed.spark.sql.ddl import declared_schema, query_schema
from lakebed.spark.sql.execute import missing_use, run
from lakebed.spark.sql.insert import stored_rows, values_told
from lakebed.spark.sql.names import time_of
from lakebed.spark.sql.parsing import parse_query, parse_statement
from lakebed.spark.sql.tokens import place

__all__ = [
    "declared_schema",
    "missing_use",
    "parse_query",
    "parse_statement",
    "place",
    "prunable",
    "query_schema",
    "run",
    "stored_rows",
    "time_of",
    "values_told",
]
