"""Loads what runs SQL statements when the first one is run: it needs PySpark, and a lake does not."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakebed.catalog.transaction.commits import Commit
from lakebed.lake.engines import check_session
from lakebed.lake.sql.names import Attribution, Places
from lakebed.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Args = Mapping[str, Any] | Sequence[Any]
"""Values for the parameters of a text: by name for `:name`, in their order for `?`."""


def run_statement(
    spark: "SparkSession", text: str, args: Args | None, places: Callable[[], Places], attribution: Attribution
) -> "DataFrame | Commit | Table | None":
    """Run the statements in a text, each where `places` says then; the answer is the last one's.

    A query answers its DataFrame, a change its commit, a new table its handle.
    """
    check_session(spark)
    from lakebed.lake.sql.run import run

    return run(spark, text, args, places, attribution)
