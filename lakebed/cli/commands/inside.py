"""The words that look inside: files, explain, inspect, usage."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from lakebed.catalog.inspect.registry import SYSTEM_TABLES, find_system_table
from lakebed.cli import arguments
from lakebed.cli.arrow_rows import arrow_rows
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import byte_text, json_value
from lakebed.table.filter.column import col
from lakebed.table.manifest.framed import FramedManifest

FRAME = b"MRUB"
"""What a manifest begins with."""

_FILE_COLUMNS = {
    "path": "file_path",
    "rows": "record_count",
    "bytes": "file_size_bytes",
    "deleted_rows": "deleted_rows",
    "partition": "partition_values",
    "level": "level",
}


@word("lakebed files sales.orders", "lakebed files sales.orders#17 --json")
@arguments.table
@with_session
def files_word(session: Session, table: str) -> None:
    """List the live files of a table."""
    line, _ = session.named(table)
    name = name_of(session.table(table))
    found = line.inspect("__files", col("table_name") == name, list(_FILE_COLUMNS.values()))
    session.output.rows(tuple(_FILE_COLUMNS), _rows(session, "__files", found))


@word("lakebed explain sales.orders --where 'id = 17'", "lakebed explain sales.orders")
@arguments.table
@arguments.where
@with_session
def explain_word(session: Session, table: str, where: str | None) -> None:
    """Show how a scan chooses its files: what each step skips, and why not more."""
    found = session.table(table)
    explained = found.scan(where).explain()
    if session.output.is_json:
        session.output.json({"name": name_of(found), **explained.counts, "text": str(explained)})
    else:
        session.output.sentences(explained)


@word(
    "lakebed inspect",
    "lakebed inspect __files",
    "lakebed inspect __tables --where \"namespace = 'sales'\" -c table_name,total_rows",
    "lakebed inspect __records --where \"name = 'sales.orders'\" --json",
    "lakebed inspect lakebed:…/snapshots/5/manifest      # a manifest_path of __manifests",
    "lakebed inspect inline:1500624689213930453          # a path of `lakebed files`",
)
@click.argument("what", metavar="SYSTEM_TABLE_OR_PATH", required=False)
@arguments.where
@click.option("-c", "--columns", metavar="NAMES", help="These columns, such as table_name,total_rows.")
@with_session
def inspect_word(session: Session, what: str | None, where: str | None, columns: str | None) -> None:
    """Show the rows of a system table, or what a path of one stands for: a manifest list, a manifest, entries of files.

    Without a name, list the system tables.
    """
    if what is None:
        session.output.rows(("name", "columns"), [(table.name, table.schema.names) for table in SYSTEM_TABLES.values()])
        return
    if not what.startswith("__"):
        _show_document(session, what)
        return
    wanted = None if columns is None else [name.strip() for name in columns.split(",")]
    found = session.line.inspect(what, where, wanted)
    session.output.data(found.column_names, _rows(session, what, found))


def _rows(session: Session, name: str, found: Any) -> Iterable[Sequence[object]]:
    """The rows of a system table. In JSON, what a column has as JSON is an object; elsewhere it is its text."""
    rows = arrow_rows(found.to_batches())
    if not session.output.is_json:
        return rows
    texts = {field.name for field in find_system_table(name).schema.fields if (field.comment or "").startswith("JSON")}
    are_json = [name in texts for name in found.column_names]
    return (
        [_parsed(value) if is_json else value for value, is_json in zip(row, are_json, strict=True)] for row in rows
    )


def _parsed(text: object) -> object:
    return json.loads(text) if isinstance(text, bytes) else text


def _show_document(session: Session, path: str) -> None:
    """A manifest list, which is JSON, or what a manifest's frame says."""
    data = session.line.open(path)
    document = FramedManifest(path, data).decoded() if data.startswith(FRAME) else json.loads(data)
    shown = json_value(document)
    session.output.text(json.dumps(shown, indent=None if session.output.is_json else 2))


@word("lakebed usage", "lakebed usage --by ref", "lakebed usage --json")
@click.option("--by", type=click.Choice(["table", "hold", "version", "ref"]), default="table", help="Sums by this.")
@with_session
def usage_word(session: Session, by: str) -> None:
    """Show what the lake's files take, and what holds them."""
    usage = session.lake.usage()
    if by != "table":
        sums = getattr(usage, f"by_{by}")()
        session.output.rows((by, "bytes"), [(key or "(none)", size) for key, size in sums.items()])
        return
    sums_by_table: dict[tuple[str, str], list[int]] = {}
    for row in usage.rows:
        sum_of = sums_by_table.setdefault((row.table or row.table_id or "(no table)", row.hold.value), [0, 0])
        sum_of[0] += row.files
        sum_of[1] += row.bytes
    rows = [(table, hold, files, size) for (table, hold), (files, size) in sums_by_table.items()]
    session.output.rows(("table", "held_by", "files", "bytes"), rows)
    session.output.note(f"{byte_text(usage.bytes)} in all")
