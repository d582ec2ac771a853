"""The word for SQL on Spark: sql."""

from typing import Any

import click

from lakebed.catalog.transaction.commits import Commit
from lakebed.cli import arguments
from lakebed.cli.commands.query import statement
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.spark import session as spark_session

SETTINGS = {
    "spark.log.level": "ERROR",  # warnings of a session of one statement would bury its answer
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@word(
    'lakebed sql "select count(*) from sales.orders"',
    "lakebed sql \"delete from sales.orders where status = 'cancelled'\" -m 'clean up'",
    "lakebed sql @report.sql --on dev",
)
@click.argument("text", metavar="STATEMENT")
@arguments.described
@with_session
def sql_word(session: Session, text: str, **by: Any) -> None:
    """Run a statement of Spark's SQL with the lake's names; it starts Spark, which takes some seconds."""
    from pyspark.sql import SparkSession  # after lakebed.spark, which says what to install

    line = session.line
    running = SparkSession.getActiveSession()  # in a process that has one, as a notebook, it is not ours to stop
    with session.output.working("starting Spark"):
        spark = running or spark_session(session.lake, **SETTINGS)
    try:
        _show(session, line.sql(spark, statement(text), **by))
    finally:
        if running is None:
            spark.stop()


def _show(session: Session, answer: Any) -> None:
    if answer is None or isinstance(answer, Commit):
        session.output.commit(answer, "done")
    elif hasattr(answer, "toLocalIterator"):
        session.output.data(answer.columns, answer.toLocalIterator())
    elif session.output.is_json:
        session.output.json({"answer": str(answer)})
    else:
        session.output.text(str(answer))
