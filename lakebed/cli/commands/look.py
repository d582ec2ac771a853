"""The words that look at objects: ls, describe, schema."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from lakebed.cli import arguments
from lakebed.cli.session import Handle, Session, kind_of, name_of, with_session
from lakebed.cli.settings import word
from lakebed.lake.catalog import Catalog
from lakebed.lake.namespace import Namespace
from lakebed.lake.view import View
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from lakebed.catalog.partitions.deltas import Delta
    from lakebed.lake.partition import Partition


@word("lakebed ls", "lakebed ls sales", "lakebed ls -r --on dev")
@click.argument("namespace", required=False)
@click.option("-r", "--recursive", is_flag=True, help="What is in namespaces inside it, too.")
@click.option("--prefix", help="Names that begin like this.")
@click.option("--catalogs", is_flag=True, help="The catalogs of the lake instead.")
@with_session
def ls_word(session: Session, namespace: str | None, recursive: bool, prefix: str | None, catalogs: bool) -> None:
    """List namespaces, tables and views: at the top, or in a namespace."""
    if catalogs:
        found = [one for one in session.lake.catalogs() if one.name.startswith(prefix or "")]
        listed = [(one.name, "catalog", one.version, one.properties.get("comment")) for one in found]
        session.output.rows(("name", "type", "version", "comment"), listed)
        return
    line, name = (session.line, None) if namespace is None else session.named(namespace)
    rows = [
        (name_of(one), kind_of(one), one.version, one.comment)
        for one in _listed(line, name, recursive=recursive, prefix=prefix)
    ]
    session.output.rows(("name", "type", "version", "comment"), rows)


def _listed(line: Catalog, namespace: tuple[str, ...] | None, **asked: Any) -> Iterator[Handle]:
    yield from line.namespaces(namespace, **asked)
    yield from line.tables(namespace, **asked)
    yield from line.views(namespace, **asked)


@word(
    "lakebed describe",
    "lakebed describe sales.orders",
    "lakebed describe sales.orders@dev#17",
    "lakebed describe 'sales|orders|1|…|…|5'      # a canonical string of __deltas",
)
@click.argument("name", required=False)
@with_session
def describe_word(session: Session, name: str | None) -> None:
    """Describe a table, a view or a namespace; without a name, the catalog.

    A canonical string also names an edition, a stream, a partition or a delta.
    """
    if name is not None and "|" in name:
        _describe_place(session, session.line.find(name))
    else:
        _describe(session, session.line if name is None else session.object(name))


def _describe_place(session: Session, found: Any) -> None:
    match found.locator.kind:
        case "partition":
            session.output.record(_partition(found))
        case "delta":
            session.output.record(_delta(found))
        case _:
            _describe(session, cast("Handle", found))


def _describe(session: Session, found: Handle | Catalog) -> None:
    if session.output.is_terminal:
        session.output.text(str(found.describe()))
    else:
        session.output.record(_described(found))


def _described(found: Handle | Catalog) -> dict[str, object]:
    if isinstance(found, Catalog):
        named = {"name": found.name, "type": "catalog", "ref": found.ref, "version": found.version}
        return {**named, "properties": found.properties}
    described: dict[str, object] = {
        "name": name_of(found),
        "type": kind_of(found),
        "id": found.id,
        "version": found.version,
        "properties": found.properties,
    }
    if isinstance(found, View):
        return {**described, "sql": found.sql, "columns": [] if found.schema is None else _columns(found.schema)}
    if isinstance(found, Namespace):
        return {**described, "location": found.location, "owner": found.owner}
    totals = found.snapshots()[0].totals
    return {
        **described,
        "location": found.location,
        **{name: totals.get(name, 0) for name in ("rows", "files", "bytes")},
        "primary_key": found.primary_key,
        "partition_by": [str(term) for term in found.spec],
        "sort_by": [str(term) for term in found.sort_order],
        "columns": _columns(found.schema),
    }


def _partition(found: "Partition[Any]") -> dict[str, object]:
    described = {"name": str(found.locator), "type": "partition", "id": found.id, "state": found.state}
    counts = {"rows": found.count(), "files": len(found.files()), "bytes": found.size}
    return {**described, "values": found.values, "location": found.location, **counts, "properties": found.properties}


def _delta(found: "Delta") -> dict[str, object]:
    described = {"name": str(found.locator), "type": "delta", "position": found.position}
    places = {"previous_position": found.previous_position, "snapshot_id": found.snapshot_id, "version": found.version}
    did = {"kind": found.type, "operation": found.operation, "time": found.time, **found.counts}
    return {**described, **places, **did, "manifest": found.manifest.path}


def _columns(schema: Schema) -> list[dict[str, object]]:
    return [dict(zip(_COLUMN, row, strict=True)) for row in _column_rows(schema)]


_COLUMN = ("name", "type", "required", "id", "comment")


def _column_rows(schema: Schema) -> Iterator[tuple[object, ...]]:
    for field in schema.fields:
        yield field.name, str(field.type), field.required, field.id, field.comment or None


@word("lakebed schema sales.orders", "lakebed schema sales.orders#17")
@arguments.table
@with_session
def schema_word(session: Session, table: str) -> None:
    """List the columns of a table."""
    session.output.rows(_COLUMN, _column_rows(session.table(table).schema))
