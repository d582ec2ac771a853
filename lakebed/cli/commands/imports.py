"""The word that brings what others wrote, and the next time only what is new: import."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from lakebed.catalog.transaction.names import parse_name, spelled
from lakebed.cli import arguments
from lakebed.cli.failures import exit_code
from lakebed.cli.output import commit_fields
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.errors import Invalid

if TYPE_CHECKING:
    from lakebed.lake.imports.answer import Import

PASSWORD = "LAKEBED_DATABASE_PASSWORD"
"""The variable with a database's password: what stands in a command line is seen by everybody on the machine."""

KINDS = ("parquet", "csv", "json", "delta", "iceberg", "database")
FILES = ("parquet", "csv", "json")
TEXT = ("csv", "json")
TABLES = ("delta", "iceberg")

_OF: dict[str, tuple[str, ...]] = {
    "copy": ("parquet", *TABLES),
    "verify": ("parquet", *TABLES),
    "history": TABLES,
    "since": (*TABLES, "database"),
    "column": (*FILES, "database"),
    "leave_out": (*FILES, "database"),
    "partition_by": (*FILES, "database"),
    "no_partitions": ("parquet",),
    "delimiter": ("csv",),
    "no_header": ("csv",),
    "null": ("csv",),
    "quarantine": TEXT,
    "table_of": ("database",),
    "query": ("database",),
    "user": ("database",),
    "replace": ("database",),
}
"""The kinds that an option is of; others are of all."""

_NAMED = {
    "column": "types of --column",
    "table_of": "--table",
    "leave_out": "--leave-out",
    "partition_by": "--partition-by",
    "no_partitions": "--no-partitions",
    "no_header": "--no-header",
}


@word(
    "lakebed import parquet sales.orders exports/orders --dry-run",
    "lakebed import csv crm.people people/*.csv --column zip:string --quarantine",
    "lakebed import delta sales.orders /data/orders --history",
    "lakebed import iceberg crm.visits /data/visits/metadata/00003-….metadata.json",
    f"{PASSWORD}=… lakebed import database shop.orders postgresql://ada@db/shop --table orders --since changed",
)
@click.argument("kind", type=click.Choice(KINDS), metavar=f"KIND ({', '.join(KINDS)})")
@arguments.table
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--dry-run", is_flag=True, help="Say what would come and what does not fit; change nothing.")
@click.option("--history", is_flag=True, help="Each version or snapshot of the source is a commit.")
@click.option("--since", metavar="WHAT", help="The version that a history begins with; a database's column that grows.")
@click.option("--copy", is_flag=True, help="Write the rows to files of the table; else files stay where they are.")
@click.option("--verify", is_flag=True, help="Also read columns of text and decimals.")
@click.option("--column", multiple=True, metavar="NAME:TYPE", help="The type of a column, instead of the inferred one.")
@click.option("--leave-out", multiple=True, metavar="COLUMN", help="A column that the table does not get.")
@click.option("--partition-by", multiple=True, metavar="TERM", help="Of a new table, such as day(ordered_at).")
@click.option("--no-partitions", is_flag=True, help="Folders such as month=01 mean nothing.")
@click.option("--delimiter", metavar="CHARACTER", help="Of a CSV; `tab` for a tab, as in .tsv.")
@click.option("--no-header", is_flag=True, help="The CSV has none: --column names all columns, in order.")
@click.option("--null", multiple=True, metavar="TEXT", help="A text that is null in every column.")
@click.option(
    "--quarantine", is_flag=True, help="Rows that can't be read go to TABLE__rejects; else they refuse it all."
)
@click.option("--table", "table_of", metavar="NAME", help="The database's table, such as public.orders.")
@click.option("--query", metavar="SELECT", help="A query of the database, instead of a table.")
@click.option("--user", metavar="NAME", help=f"Of the database; its password is taken from {PASSWORD}.")
@click.option("--replace", is_flag=True, help="Replace all rows of the table by all rows of the database.")
@click.option("--primary-key", multiple=True, metavar="COLUMN", help="Of a new table.")
@click.option("--sort-by", multiple=True, metavar="TERM", help="Of a new table.")
@click.option("--evolve", is_flag=True, help="Add columns that the table does not have.")
@arguments.described
@with_session
def import_word(session: Session, kind: str, table: str, source: tuple[str, ...], **asked: Any) -> int:
    """Bring files, a table of another format, or a database's rows into a table; again, and only what is new comes.

    The source is never changed, and one commit has all of it. Call it again after an interruption: nothing comes
    twice. Ends with 9 if not all fits, in a dry run too.
    """
    _check_options(kind, asked)
    line, name = session.named(table)
    with session.output.working(f"importing {table}"):
        found = _imported(line, kind, name, source, asked)
    _show(session, found)
    return exit_code(Invalid("")) if found.misfits else 0


def _imported(
    line: Any, kind: str, name: tuple[str, ...], source: tuple[str, ...], asked: Mapping[str, Any]
) -> "Import":
    more: dict[str, Any] = {key: asked[key] for key in ("dry_run", "message", "author", "event_id")}
    more |= {"primary_key": asked["primary_key"], "sort_by": asked["sort_by"]}
    more |= {"evolve": "add"} if asked["evolve"] else {}
    types = dict(map(arguments.typed_column, asked["column"]))
    chosen = {"leave_out": asked["leave_out"]}
    found: Import
    match kind:
        case "parquet":
            more |= {"copy": asked["copy"], "verify": asked["verify"], "types": types, **chosen}
            if asked["no_partitions"] or asked["partition_by"]:
                more["partitions"] = asked["partition_by"] or None
            found = line.import_parquet(name, source, **more)
        case "csv":
            delimiter = "\t" if asked["delimiter"] in ("tab", "\\t") else asked["delimiter"]
            more |= {"delimiter": delimiter, "header": not asked["no_header"], "nulls": asked["null"] or None}
            found = line.import_csv(name, source, **more, **_of_text(asked, types), **chosen)
        case "json":
            found = line.import_json(name, source, **more, **_of_text(asked, types), **chosen)
        case "delta" | "iceberg":
            more |= {"history": asked["history"], "copy": asked["copy"], "verify": asked["verify"]}
            call = line.import_delta if kind == "delta" else line.import_iceberg
            found = call(name, _single(source), since=_version(asked["since"]), **more)
        case _:
            more |= {"table": asked["table_of"], "query": asked["query"], "since": asked["since"], "schema": types}
            more |= {"user": asked["user"], "password": os.environ.get(PASSWORD), "replace": asked["replace"]}
            found = line.import_database(name, _single(source), partition_by=asked["partition_by"], **more, **chosen)
    return found


def _of_text(asked: Mapping[str, Any], types: dict[str, str]) -> dict[str, Any]:
    bad = "quarantine" if asked["quarantine"] else "fail"
    return {"schema": types, "partition_by": asked["partition_by"], "on_bad": bad}


def _check_options(kind: str, asked: Mapping[str, Any]) -> None:
    """Refuse what the kind does not heed, before anything is read."""
    for name, kinds in _OF.items():
        if asked[name] and kind not in kinds:
            raise click.UsageError(f"{_NAMED.get(name, f'--{name}')} is of {', '.join(kinds)}, not of {kind}.")


def _single(source: tuple[str, ...]) -> str:
    if len(source) != 1:
        raise Invalid("a table is imported from one place", found=", ".join(source))
    return source[0]


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise click.UsageError(f"--since {text!r} is not the number of a version or snapshot.")
    return int(text)


def _show(session: Session, found: "Import") -> None:
    if session.output.is_json:
        session.output.json(_fields(found))
    elif not session.output.is_quiet:
        session.output.text(str(found))


def _fields(found: "Import") -> dict[str, Any]:
    columns = [
        {"source": each.source, "source_type": each.source_type, "name": each.name, "type": each.type}
        for each in found.columns
    ]
    return {
        **commit_fields(found.commit),
        "table": spelled(parse_name(found.table)),
        "kind": found.kind,
        "source": found.source,
        "dry_run": found.dry_run,
        "created": found.created,
        "files": found.files,
        "bytes": found.bytes,
        "known_files": found.known_files,
        "empty_files": found.empty_files,
        "source_rows": found.source_rows,
        "rows": found.rows,
        "quarantined": found.quarantined,
        "versions": found.versions,
        "columns": columns,
        "misfits": [{"subject": each.subject, "problem": each.problem} for each in found.misfits],
        "notes": list(found.notes),
    }
