"""Statements that answer rows: queries, and temporary views of them."""

from pyspark.sql import DataFrame

from lakebed.lake.sql.execution import Execution
from lakebed.spark.sql.statements import CreateTemporaryView, Select


def select(execution: Execution, statement: Select) -> DataFrame:
    """The DataFrame of a query."""
    execution.check_unattributed()
    return execution.reader.frame(statement.query)


def create_temporary_view(execution: Execution, statement: CreateTemporaryView) -> DataFrame:
    """Give a query's DataFrame a name in the session."""
    execution.check_unattributed()
    frame = execution.reader.frame(statement.query)
    named = frame.toDF(*statement.columns) if statement.columns else frame
    statement.make(named)
    return named
