"""The word that brings rows into the lake: load."""

from dataclasses import dataclass
from typing import Any

import click

from lakebed.catalog.transaction.commits import Commit
from lakebed.cli import arguments
from lakebed.cli.addresses import spelled_name
from lakebed.cli.column_types import types_of, with_types
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.sources import read_source
from lakebed.cli.values import counted
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.lake.arguments import schema_of
from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table

MODES = ("create", "append", "overwrite", "upsert")


@dataclass(frozen=True, slots=True)
class Asked:
    """How rows go into a table."""

    mode: str | None
    columns: dict[str, str]
    layout: dict[str, Any]
    on: list[str]
    evolve: bool


def _delimiter(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """The character that separates fields; a tab can't be typed."""
    character = "\t" if given in ("tab", "\\t") else given
    if character is not None and len(character) != 1:
        raise click.BadParameter(f"{given!r} is not one character.", context, option)
    return character


@word(
    "lakebed load sales.orders orders.csv",
    "lakebed load sales.orders more.csv --upsert --key id",
    "lakebed load sales.orders exports/2026/ --overwrite       # a folder of Parquet",
    "curl https://example.com/events.jsonl | lakebed load web.events - --format json",
    "lakebed load crm.people people.csv --column zip:string --primary-key id",
)
@arguments.table
@click.argument("source", nargs=-1, required=True, metavar="FILE...")
@click.option("--create", "mode", flag_value="create", help="The table must not be there.")
@click.option("--append", "mode", flag_value="append", help="Add the rows.")
@click.option("--overwrite", "mode", flag_value="overwrite", help="Replace all rows of the table.")
@click.option("--upsert", "mode", flag_value="upsert", help="Replace the rows with the same key, insert the rest.")
@click.option("--key", multiple=True, metavar="COLUMN", help="With --upsert: the key, if the table has none.")
@click.option("--format", type=click.Choice(["csv", "json", "parquet"]), help="Else by the file's name.")
@click.option("--delimiter", metavar="CHARACTER", callback=_delimiter, help="Of a CSV; `tab` for a tab, as in .tsv.")
@click.option("--column", multiple=True, metavar="NAME:TYPE", help="The type of a column, instead of the inferred one.")
@click.option("--primary-key", multiple=True, metavar="COLUMN", help="Of a new table.")
@click.option("--partition-by", multiple=True, metavar="TERM", help="Of a new table, such as day(ordered_at).")
@click.option("--sort-by", multiple=True, metavar="TERM", help="Of a new table.")
@click.option("--evolve", is_flag=True, help="Add columns that the table does not have.")
@arguments.described
@with_session
def load_word(
    session: Session,
    table: str,
    source: tuple[str, ...],
    mode: str | None,
    key: tuple[str, ...],
    format: str | None,
    delimiter: str | None,
    column: tuple[str, ...],
    primary_key: tuple[str, ...],
    partition_by: tuple[str, ...],
    sort_by: tuple[str, ...],
    evolve: bool,
    message: str | None,
    author: str | None,
    event_id: str | None,
) -> None:
    """Load CSV, JSON lines or Parquet into a table, in one commit; `-` is the standard input.

    A table that is not there is created, with its namespace, and with columns by what the rows have. Into one
    that is there rows are appended, or upserted if it has a primary key.
    """
    line, name = session.named(table)
    layout = {"primary_key": list(primary_key), "partition_by": list(partition_by), "sort_by": list(sort_by)}
    asked = Asked(mode, dict(map(arguments.typed_column, column)), layout, list(key), evolve)
    known = line.table(name) if line.table_exists(name) else None
    _check(asked, known, table)
    given = types_of(schema_of(asked.columns)) if asked.columns else {}
    types = {**({} if known is None else types_of(known.schema)), **given}
    with session.output.working(f"loading {table}"):
        rows = with_types(read_source(source, format, delimiter, types), given)
        by: dict[str, Any] = {"message": message, "author": author, "event_id": event_id}
        commit = _create(line, name, rows, asked, by) if known is None else _write(known, rows, asked, by)
    _show(session, line.table(name), commit, created=known is None, verb=_verb(asked, known))


def _check(asked: Asked, known: Table[Any] | None, table: str) -> None:
    if known is None and asked.mode in ("append", "upsert"):
        advice = f"Leave --{asked.mode} out, and it is created."
        raise NotFound("there is no such table", subject=table, advice=advice)
    if known is not None and asked.mode == "create":
        advice = "Use --append, --overwrite or --upsert, or choose another name."
        raise AlreadyExists("there is such a table", subject=table, advice=advice)
    if asked.on and _verb(asked, known) != "upsert":
        new = "The key of a new table: use --primary-key."
        advice = new if known is None else "To replace the rows with the same key, add --upsert."
        raise Invalid("--key is that of an upsert", subject=table, found=f"--key {asked.on[0]}", advice=advice)
    if known is not None and asked.evolve and _verb(asked, known) == "upsert":
        advice = f"Add them first: `lakebed evolve {table} --add COLUMN:TYPE`; or use --append."
        raise Invalid("an upsert adds no columns", subject=table, advice=advice)
    if known is not None and any(asked.layout.values()):
        advice = "`lakebed evolve` changes the key, the partitioning and the order of a table."
        raise Invalid("the table has a layout already", subject=table, advice=advice)


def _verb(asked: Asked, known: Table[Any] | None) -> str:
    """What is done with the rows: as asked, or an upsert if the table has a key."""
    if known is None:
        return "create"
    return asked.mode or ("upsert" if known.primary_key else "append")


def _create(line: Catalog, name: tuple[str, ...], rows: Any, asked: Asked, by: dict[str, Any]) -> Commit | None:
    with line.transaction(**by) as work:
        for depth in range(1, len(name)):
            work.create_namespace(name[:depth], if_not_exists=True)
        work.create_table(name, rows, **asked.layout)
    return work.committed


def _write(table: Table[Commit], rows: Any, asked: Asked, by: dict[str, Any]) -> Commit | None:
    evolve: Any = "add" if asked.evolve else None
    match _verb(asked, table):
        case "upsert":
            return table.upsert(rows, asked.on or None, cast=True, **by)
        case "overwrite":
            return table.overwrite(rows, evolve=evolve, cast=True, **by)
        case _:
            return table.append(rows, evolve=evolve, cast=True, **by)


_SAID = {"create": "loaded", "append": "appended", "overwrite": "overwritten with", "upsert": "upserted"}


def _show(session: Session, table: Table[Any], commit: Commit | None, *, created: bool, verb: str) -> None:
    counts = [one.counts.get("added_rows", 0) for one in commit.operations] if commit else [0]
    columns = [{"name": field.name, "type": str(field.type)} for field in table.schema.fields]
    name, rows = spelled_name(table.name), sum(counts)
    if created:
        session.output.noted_list(name, [" ".join(one.values()) for one in columns])
    into = "created, " if created else ""
    said = f"{name} {into}{_SAID[verb]} {counted(rows, 'row')}"
    session.output.commit(commit, said, table=name, rows=rows, created=created, columns=columns)
