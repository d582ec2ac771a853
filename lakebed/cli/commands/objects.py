"""The words that create, drop and rename objects: create, drop, rename."""

from collections.abc import Iterator
from contextlib import contextmanager
from shlex import join, quote
from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.addresses import parse_typed, spelled_name
from lakebed.cli.session import Session, kind_of, place_of, with_session
from lakebed.cli.settings import word
from lakebed.errors import NotFound


@word(
    "lakebed create --namespace sales",
    "lakebed create sales.orders id:long price:'decimal(10,2)' --primary-key id",
    "lakebed create sales.days day:date --partition-by 'month(day)' --parents",
    "lakebed create sales.big --view 'select * from sales.orders where price > 100'",
)
@arguments.name
@click.argument("columns", nargs=-1, metavar="[COLUMN:TYPE]...")
@click.option("--namespace", is_flag=True, help="Create a namespace.")
@click.option("--view", metavar="QUERY", help="Create a view of this query.")
@click.option("--catalog", is_flag=True, help="Create a catalog.")
@click.option("--primary-key", multiple=True, metavar="COLUMN", help="A column of the key.")
@click.option("--partition-by", multiple=True, metavar="TERM", help="Such as day(ordered_at) or bucket(16, id).")
@click.option("--sort-by", multiple=True, metavar="TERM", help="Such as price desc.")
@click.option("--comment", help="A description.")
@click.option("-p", "--parents", is_flag=True, help="Create its namespaces, too, in the same commit.")
@click.option("--if-not-exists", is_flag=True, help="Leave one that is there as it is.")
@arguments.described
@with_session
def create_word(
    session: Session,
    name: str,
    columns: tuple[str, ...],
    namespace: bool,
    view: str | None,
    catalog: bool,
    parents: bool,
    if_not_exists: bool,
    comment: str | None,
    message: str | None,
    author: str | None,
    event_id: str | None,
    **layout: Any,
) -> None:
    """Create a table of some columns; or a namespace, a view or a catalog."""
    by: dict[str, Any] = {"message": message, "author": author, "event_id": event_id}
    _check_is_no_kind(name, columns)
    _check_kind(columns, namespace, view, catalog)
    if catalog:
        is_new = not session.lake.catalog_exists(name)
        made = session.lake.create_catalog(name, if_not_exists=if_not_exists, **by)
        _show(session, "catalog", made.name, made.version, is_new=is_new)
        return
    line, parts = session.named(name)
    kind = "namespace" if namespace else "table" if view is None else "view"
    is_new = not (if_not_exists and getattr(line, f"{kind}_exists")(parts))
    with _namespaces_missing(), line.transaction(**by) as work:
        for depth in range(1, len(parts)) if parents else ():
            work.create_namespace(parts[:depth], if_not_exists=True)
        if namespace:
            work.create_namespace(parts, comment=comment, if_not_exists=if_not_exists)
        elif view is not None:
            work.create_view(parts, view, comment=comment, if_not_exists=if_not_exists)
        else:
            schema = dict(map(arguments.typed_column, columns))
            work.create_table(parts, schema, comment=comment, if_not_exists=if_not_exists, **layout)
    _show(session, kind, spelled_name(parts), line.version, is_new=is_new)


@contextmanager
def _namespaces_missing() -> Iterator[None]:
    """Say how a namespace is created to who names one that is not there."""
    try:
        yield
    except NotFound as error:
        if "namespace" in error.problem:
            error.advice = f"`lakebed create --namespace {quote(error.subject)}` creates it; or add --parents."
        raise


def _check_is_no_kind(name: str, columns: tuple[str, ...]) -> None:
    """Say how it is written to who writes SQL's `create table sales.items id:long`."""
    kind = name.lower()
    if not columns or ":" in columns[0] or kind not in ("table", "namespace", "schema", "database", "view", "catalog"):
        return
    option = {"table": "", "view": "--view QUERY ", "catalog": "--catalog "}.get(kind, "--namespace ")
    rest = [*columns[:1], *(columns[1:] if kind == "table" else ())]
    raise click.UsageError(f"The kind is not written, or an option: lakebed create {option}{join(rest)}")


def _check_kind(columns: tuple[str, ...], namespace: bool, view: str | None, catalog: bool) -> None:
    chosen = (bool(columns), namespace, view is not None, catalog).count(True)
    if chosen > 1:
        raise click.UsageError("Give columns, or --namespace, --view or --catalog.")
    if not chosen:
        raise click.UsageError("Give its columns, such as id:long; or --namespace, --view or --catalog.")


def _show(session: Session, kind: str, name: str, version: object, *, is_new: bool) -> None:
    if session.output.is_json:
        session.output.json({"name": name, "type": kind, "version": version})
    elif not session.output.is_quiet:
        done = f"version {version}: created {kind} {name}"
        session.output.text(done if is_new else f"nothing changed: there is a {kind} {name} already")


@word("lakebed drop sales.orders", "lakebed drop sales --cascade", "lakebed drop sales.old --if-exists")
@arguments.name
@click.option("--cascade", is_flag=True, help="A namespace or a catalog with all that is in it.")
@click.option("--catalog", is_flag=True, help="It is a catalog.")
@click.option("--if-exists", is_flag=True, help="It need not be there.")
@arguments.described
@with_session
def drop_word(session: Session, name: str, cascade: bool, catalog: bool, if_exists: bool, **by: Any) -> None:
    """Drop a table, a view, a namespace or a catalog. Its name is free at once, and `undrop` brings it back."""
    if catalog:
        _drop_catalog(session, name, cascade=cascade, if_exists=if_exists, by=by)
        return
    line, parts = session.named(name)
    if if_exists and not any((line.table_exists(parts), line.view_exists(parts), line.namespace_exists(parts))):
        session.output.commit(None, "", f"there is no {name}", undrop=None)
        return
    found = session.object(name)
    kind = kind_of(found)
    undrop = session.typed(place_of(line), "undrop", spelled_name(parts), "--id", found.id)
    if kind == "namespace":
        commit = line.drop_namespace(parts, cascade, **by)
    else:
        commit = line.drop_view(parts, **by) if kind == "view" else line.drop_table(parts, **by)
    session.output.commit(commit, f"dropped {kind} {spelled_name(parts)}", undrop=undrop)
    session.output.note(f"undo: {undrop}")


def _drop_catalog(session: Session, name: str, *, cascade: bool, if_exists: bool, by: dict[str, Any]) -> None:
    if if_exists and not session.lake.catalog_exists(name):
        session.output.commit(None, "", f"there is no catalog {name}", undrop=None)
        return
    commit = session.lake.drop_catalog(name, cascade, **by)
    id = ["--id", commit.operations[0].object_id] if commit is not None and commit.operations else []
    undrop = session.typed(session.current_place, "undrop", name, "--type", "catalog", *id)
    session.output.commit(commit, f"dropped catalog {name}", undrop=undrop)
    session.output.note(f"undo: {undrop}")


@word("lakebed rename sales.orders sales.old_orders", "lakebed rename sales shop", "lakebed rename eu emea --catalog")
@arguments.name
@click.argument("new_name")
@click.option("--catalog", is_flag=True, help="It is a catalog.")
@arguments.described
@with_session
def rename_word(session: Session, name: str, new_name: str, catalog: bool, **by: Any) -> None:
    """Give a table, a view, a namespace or a catalog another name. Its id, its history and its files stay."""
    if catalog:
        renamed = session.lake.rename_catalog(name, new_name, **by)
        session.output.commit(renamed, f"catalog {name} is now {new_name}")
        return
    found: Any = session.object(name)
    target = parse_typed(new_name).name
    said = f"{kind_of(found)} {spelled_name(parse_typed(name).name)} is now {spelled_name(target)}"
    session.output.commit(found.rename(target, **by), said)
