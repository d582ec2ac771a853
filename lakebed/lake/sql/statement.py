"""Loads what runs SQL statements when the first one is run: it needs PySpark, and a lake does not."""

from typing import TYPE_CHECKING

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.engines import check_session
from lakebed.lake.sql.names import Attribution, Places
from lakebed.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_statement(
    spark: "SparkSession", text: str, places: Places, attribution: Attribution
) -> "DataFrame | Commit | Table | None":
    """Run the statement in a text: of a query the DataFrame, of a change the commit, of a new table its handle."""
    check_session(spark)
    from lakebed.lake.sql.run import run

    return run(spark, text, places, attribution)
