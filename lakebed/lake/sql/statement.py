"""Loads what runs SQL statements when the first one is run: it needs PySpark, and a lake does not."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakebed.lake.engines import check_session
from lakebed.lake.sql.names import Attribution, Places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.lake.sql.answers import Answer


Args = Mapping[str, Any] | Sequence[Any]
"""Values for the parameters of a text: by name for `:name`, in their order for `?`."""


def run_statement(
    spark: "SparkSession", text: str, args: Args | None, places: Callable[[], Places], attribution: Attribution
) -> "Answer":
    """Run the statements in a text, each where `places` says then; the answer is the last one's.

    A query answers its DataFrame, a change its commit, what is created its handle.
    """
    check_session(spark)
    from lakebed.lake.sql.run import run
    from lakebed.spark.attachment.attachments import spark_alone

    with spark_alone():
        return run(spark, text, args, places, attribution)
