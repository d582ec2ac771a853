"""Runs statements in SQL. Loaded with the first statement: it needs PySpark."""

from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.sql import changes, queries, tables
from lakebed.lake.sql.execution import Execution
from lakebed.lake.sql.names import Attribution, Places
from lakebed.lake.table import Table
from lakebed.spark.sql.parsing import parse_statement
from lakebed.spark.sql.statements import (
    CreateTable,
    CreateTemporaryView,
    Delete,
    DropTable,
    Insert,
    InsertOverwrite,
    Merge,
    Select,
    Update,
)


def run(spark: SparkSession, text: str, places: Places, attribution: Attribution) -> DataFrame | Commit | Table | None:
    """Run the statement in a text: of a query the DataFrame, of a change the commit, of a new table its handle."""
    execution = Execution(spark, places, attribution, text)
    match parse_statement(text, spark, places.namespace):
        case Select() as select:
            return queries.select(execution, select)
        case CreateTemporaryView() as view:
            return queries.create_temporary_view(execution, view)
        case Insert() as insert:
            return changes.insert(execution, insert)
        case InsertOverwrite() as overwrite:
            return changes.insert_overwrite(execution, overwrite)
        case Update() as update:
            return changes.update(execution, update)
        case Delete() as delete:
            return changes.delete(execution, delete)
        case Merge() as merge:
            return changes.merge(execution, merge)
        case CreateTable() as create:
            return tables.create_table(execution, create)
        case DropTable() as drop:
            return tables.drop_table(execution, drop)
