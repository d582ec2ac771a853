"""The words that read rows: head, count."""

import click

from lakebed.cli import arguments
from lakebed.cli.arrow_rows import arrow_rows
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word


@word("lakebed head sales.orders", 'lakebed head sales.orders -n 5 --where "id > 3"', "lakebed head sales.orders@dev")
@arguments.table
@arguments.limit(10)
@arguments.where
@click.option("-c", "--columns", metavar="NAMES", help="These columns, such as id,price.")
@with_session
def head_word(session: Session, table: str, limit: int, where: str | None, columns: str | None) -> None:
    """Show the first rows of a table."""
    wanted = None if columns is None else [name.strip() for name in columns.split(",")]
    scan = session.table(table).scan(where, wanted, limit)
    session.output.data(scan.schema.names, arrow_rows(scan.to_batches()))


@word("lakebed count sales.orders", "lakebed count sales.orders --where \"status = 'open'\"")
@arguments.table
@arguments.where
@with_session
def count_word(session: Session, table: str, where: str | None) -> None:
    """Count the rows of a table. Without a condition no file is opened."""
    found = session.table(table)
    rows = found.scan(where).count()
    if session.output.is_json:
        session.output.json({"name": name_of(found), "rows": rows})
    else:
        session.output.text(str(rows))
