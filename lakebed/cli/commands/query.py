"""The word for SQL without Spark: query."""

import click

from lakebed.cli.arrow_rows import arrow_rows
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.texts import given_text, text_of_file


def statement(text: str) -> str:
    """A statement as it is given: itself, `-` for the standard input, or `@file`."""
    if text == "-":
        return given_text()
    return text_of_file(text[1:]) if text.startswith("@") else text


@word(
    'lakebed query "select region, sum(price) from sales.orders group by region"',
    'lakebed query "select * from sales.orders@dev except select * from sales.orders"',
    "lakebed query @report.sql --at yesterday --json",
)
@click.argument("text", metavar="QUERY")
@with_session
def query_word(session: Session, text: str) -> None:
    """Run a query in DuckDB's SQL, which only reads the lake; `-` is the standard input, `@FILE` a file."""
    asked = statement(text)
    with session.meaning():
        found = session.line.query(asked)
    with session.output.working("running"):
        rows = found.to_arrow()
    session.output.data(rows.column_names, arrow_rows(rows.to_batches()))
