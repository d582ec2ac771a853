"""The word for shares: share."""

from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.addresses import parse_typed
from lakebed.cli.commands.refs import show_dropped_ref
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.lake.catalog import Catalog


@word(
    "lakebed share",
    "lakebed share partners sales.orders sales.items",
    "lakebed share partners --grant sales.prices",
    "lakebed share partners --revoke sales.items",
    "lakebed share -d partners",
)
@click.argument("name", required=False)
@click.argument("objects", nargs=-1)
@click.option("--grant", multiple=True, metavar="NAME", help="Show this object, too.")
@click.option("--revoke", multiple=True, metavar="NAME", help="Stop showing this object.")
@click.option("-d", "--drop", is_flag=True, help="Drop it; `lakebed undrop` brings it back.")
@click.option("--rename", metavar="NEW", help="Give it another name.")
@arguments.described
@with_session
def share_word(
    session: Session,
    name: str | None,
    objects: tuple[str, ...],
    grant: tuple[str, ...],
    revoke: tuple[str, ...],
    drop: bool,
    rename: str | None,
    **by: Any,
) -> None:
    """List the shares; or create one that shows some objects of this branch, change or drop it."""
    line, output = session.line, session.output
    if name is None:
        rows = [(one.ref, one.version, _objects(one)) for one in line.shares()]
        output.rows(("name", "version", "objects"), rows)
    elif drop:
        show_dropped_ref(session, line.drop_share(name, **by), "share", name)
    elif rename:
        output.commit(line.rename_share(name, rename, **by), f"share {name} is now {rename}")
    elif grant or revoke:
        _change(session, name, grant, revoke, by)
    elif objects:
        made = line.create_share(name, _names(objects), **by)
        output.record({"name": made.ref, "version": made.version, "objects": _objects(made)})
    else:
        found = line.share(name)
        output.record({"name": found.ref, "version": found.version, "objects": _objects(found)})


def _change(session: Session, name: str, grant: tuple[str, ...], revoke: tuple[str, ...], by: dict[str, Any]) -> None:
    if grant and revoke:
        raise click.UsageError("Grant and revoke in two calls: each is a commit.")
    if grant:
        said = f"share {name} shows {', '.join(grant)}"
        session.output.commit(session.line.grant_share(name, _names(grant), **by), said)
    else:
        said = f"share {name} no longer shows {', '.join(revoke)}"
        session.output.commit(session.line.revoke_share(name, _names(revoke), **by), said)


def _names(given: tuple[str, ...]) -> list[str | tuple[str, ...]]:
    return [parse_typed(one).name for one in given]


def _objects(share: Catalog) -> list[str]:
    tables, views = share.tables(recursive=True), share.views(recursive=True)
    return sorted([*map(name_of, tables), *map(name_of, views)])
