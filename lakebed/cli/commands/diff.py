"""The word that compares: diff."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.addresses import parse_typed, spelled_name
from lakebed.cli.folding import folded_for
from lakebed.cli.session import Session, found_object, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import safe_text, styled

_COUNTS = ("files_added", "files_removed", "files_changed", "rows_added", "rows_removed")
_COLUMNS = ("name", "kind", "type", "old_name", "changes", *_COUNTS)
_ROW_COLUMNS = ("table", "change", "key", "row_id", "columns", "before", "after")
_SIGNS = {"created": ("+", "green"), "dropped": ("-", "red"), "renamed": ("→", "cyan"), "changed": ("~", "yellow")}
_ROW_COLOURS = {"inserted": "green", "deleted": "red", "updated": "yellow"}


@word(
    "lakebed diff main dev",
    "lakebed diff -1",
    "lakebed diff 17 20 sales.orders",
    "lakebed diff main dev sales.orders --rows --where 'price > 100'",
    "lakebed diff main dev --summary",
)
@click.argument("first")
@click.argument("second", required=False)
@click.argument("name", required=False)
@click.option("--rows", is_flag=True, help="Show the rows that differ, before and after.")
@click.option("--summary", is_flag=True, help="Show how many rows and cells differ.")
@arguments.where
@arguments.limit(None)
@with_session
def diff_word(
    session: Session,
    first: str,
    second: str | None,
    name: str | None,
    rows: bool,
    summary: bool,
    where: str | None,
    limit: int | None,
) -> None:
    """Show what would turn the first branch, tag or version into the second: objects, columns, files, rows.

    Without a second one it is where you are.
    """
    old, new = session.ref(first), session.line if second is None else session.ref(second)
    found: list[Any] = list(old.diff(new))
    if name is not None:
        parts = parse_typed(name).name
        wanted = spelled_name(parts).casefold()
        found = [one for one in found if wanted in (one.name.casefold(), (one.old_name or "").casefold())]
        if not found:
            found_object(new, parts)  # which says that there is none: a misspelt name is not one without differences
    tables = [one for one in found if one.type == "table"]
    if summary:
        _show_summary(session, tables)
    elif rows or where is not None:
        _show_rows(session, tables, where, limit)
    else:
        _show_objects(session, found)


def _show_objects(session: Session, found: Sequence[Any]) -> None:
    if session.output.is_json:
        for one in found:
            session.output.json(_fields(one))
    elif session.output.is_terminal:
        lines = [_styled(f"{_SIGNS[one.kind][0]} {one}", _SIGNS[one.kind][1]) for one in found]
        session.output.drawn("\n".join(lines) or "no difference", paged=True)
    else:
        session.output.rows(_COLUMNS, [tuple(_fields(one).values()) for one in found])


def _styled(line: str, colour: str) -> str:
    """A line for a terminal; pagers forget a colour at the end of one, so each part has its own."""
    return "\n".join(styled(part, fg=colour) for part in folded_for(sys.stdout, safe_text(line)).split("\n"))


def _fields(one: Any) -> dict[str, object]:
    named = {"name": one.name, "kind": one.kind, "type": one.type, "old_name": one.old_name}
    changes = [asdict(change) for change in one.changes]
    return {**named, "changes": changes, **{name: getattr(one, name) for name in _COUNTS}}


def _show_rows(session: Session, tables: Sequence[Any], where: str | None, limit: int | None) -> None:
    if session.output.is_terminal:
        lines = []
        for one in tables:
            lines.append(styled(safe_text(one.name), bold=True))
            lines += [_styled(f"  {row}", _ROW_COLOURS[row.change]) for row in one.rows(limit, where)]
        session.output.drawn("\n".join(lines) or "no difference", paged=True)
        return
    found = (
        (one.name, row.change, row.key, row.row_id, row.columns, row.before, row.after)
        for one in tables
        for row in one.rows(limit, where)
    )
    session.output.data(_ROW_COLUMNS, found)


def _show_summary(session: Session, tables: Sequence[Any]) -> None:
    """Counts of rows, and of cells in the columns that differ."""
    rows = []
    for table in tables:
        found = table.summary()
        cells = {column: count for column, count in found.cells.items() if count}
        rows.append((table.name, found.inserted, found.deleted, found.updated, cells))
    session.output.rows(("table", "inserted", "deleted", "updated", "cells"), rows)
