"""The words about changes of rows: changes, blame, bisect."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import click

from lakebed.cli import arguments
from lakebed.cli.addresses import parse_moment
from lakebed.cli.arrow_rows import arrow_rows
from lakebed.cli.output import commit_fields
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import plain_text
from lakebed.errors import Invalid
from lakebed.lake.table import Table

_COUNTS = ("name", "commits", "added_rows", "removed_rows", "first", "last")


@word(
    "lakebed changes --since yesterday",
    "lakebed changes sales.orders --since 17",
    "lakebed changes sales.orders --since 17 --until 20 --net --where \"region = 'eu'\"",
    "lakebed changes sales.orders --since 17 --summary",
)
@click.argument("table", required=False)
@click.option("--since", required=True, metavar="MOMENT", help="After this version or time.")
@click.option("--until", metavar="MOMENT", help="Up to and with this one; else up to now.")
@click.option("--net", is_flag=True, help="Each row once, as it was and as it is.")
@click.option("--summary", is_flag=True, help="Only how many rows were inserted, deleted and updated.")
@arguments.where
@with_session
def changes_word(
    session: Session, table: str | None, since: str, until: str | None, net: bool, summary: bool, where: str | None
) -> None:
    """Show the rows of a table that were inserted, updated and deleted; without a table, which tables changed."""
    ends = parse_moment(since), None if until is None else parse_moment(until)
    if table is None:
        found = session.line.changes(*ends)
        session.output.rows(_COUNTS, [tuple(getattr(one, name) for name in _COUNTS) for one in found])
        return
    feed = session.table(table).changes(*ends, net=net, where=where)
    if summary:
        counts = feed.summary()
        session.output.record({name: getattr(counts, name) for name in ("inserted", "deleted", "updated", "commits")})
    else:
        session.output.data(feed.schema.names, arrow_rows(feed.to_batches()))


@word("lakebed blame sales.orders 17", "lakebed blame sales.orders --where \"region = 'eu'\" -n 5")
@arguments.table
@click.argument("key", nargs=-1)
@arguments.where
@arguments.limit(None)
@with_session
def blame_word(session: Session, table: str, key: tuple[str, ...], where: str | None, limit: int | None) -> None:
    """Show which commits wrote the cells of a row, by its primary key; or of the rows that pass a condition."""
    found: Any = session.table(table)
    blamed = found.blame(*_key(found, key)) if key else found.blame(where=where, limit=limit)
    cells = blamed.to_arrow()
    if session.output.is_terminal:
        _show_blame(session, cells.to_pylist())
    else:
        session.output.data(cells.column_names, arrow_rows(cells.to_batches()))


def _show_blame(session: Session, cells: Sequence[dict[str, Any]]) -> None:
    """The cells of rows; which row it is stands at its first cell, and not at all if there is one row."""
    columns = ["column", "value", "version", "time", "author", "message"]
    rows = [tuple(cell[name] for name in columns) for cell in cells]
    ids = [cell["row_id"] for cell in cells]
    if len(set(ids)) > 1:
        names = [cell["key"] or f"row {cell['row_id']}" for cell in cells]
        firsts = [name if place == 0 or ids[place - 1] != ids[place] else "" for place, name in enumerate(names)]
        columns, rows = ["row", *columns], [(first, *row) for first, row in zip(firsts, rows, strict=True)]
    session.output.rows(columns, rows)


def _key(table: Table[Any], given: tuple[str, ...]) -> list[object]:
    """The values of a key, which the table's columns give their types."""
    types = {field.name: str(field.type) for field in table.schema.fields}
    names = table.primary_key
    if len(names) != len(given):
        expected = f"the key {', '.join(names)}" if names else "a condition, since the table has no primary key"
        raise Invalid("a row is named by its key", expected=expected, found=" ".join(given), advice="Or use --where.")
    return [_value(types[name], text) for name, text in zip(names, given, strict=True)]


_READERS: dict[str, Callable[[str], object]] = {
    "boolean": {"true": True, "false": False}.__getitem__,
    "int": int,
    "long": int,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamptz": lambda text: _instant(datetime.fromisoformat(text)),
    "uuid": UUID,
    "binary": str.encode,
}


def _value(type: str, text: str) -> object:
    read = _READERS.get(type, Decimal if type.startswith("decimal") else str)
    try:
        return read(text)
    except (ValueError, ArithmeticError, KeyError):
        advice = "Or use --where."
        raise Invalid("this is not a value of the key", expected=type, found=repr(text), advice=advice) from None


def _instant(moment: datetime) -> datetime:
    """A time without a zone is UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@word(
    'lakebed bisect --good 120 --bad 184 "select count(*) = 0 from sales.orders where price < 0"',
    'lakebed bisect --good yesterday "select count(*) > 0 from sales.orders"',
)
@click.argument("check", metavar="QUERY")
@click.option("--good", required=True, metavar="MOMENT", help="A version or time at which it holds.")
@click.option("--bad", metavar="MOMENT", help="One at which it fails; else now.")
@with_session
def bisect_word(session: Session, check: str, good: str, bad: str | None) -> None:
    """Find the first commit after which a check fails: a query that answers one truth value."""
    line: Any = session.line
    last = line.version if bad is None else parse_moment(bad)
    found = line.bisect(parse_moment(good), last, check)
    for one in found.tested:
        session.output.note(f"version {one.version} is {'good' if one.is_good else 'bad'}")
    fields = commit_fields(found.commit)
    if session.output.is_json:
        session.output.json(fields)
    else:
        shown = {name: fields[name] for name in ("version", "time", "author", "message")}
        session.output.record(shown)
        session.output.note(f"lakebed show {plain_text(found.commit.version)} shows what it did")
