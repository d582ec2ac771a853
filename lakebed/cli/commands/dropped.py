"""The words for what was dropped: dropped, undrop, purge."""

from typing import Any

import click

from lakebed.catalog.inspect.dropped import DroppedObject
from lakebed.cli import arguments
from lakebed.cli.addresses import Typed, parse_typed, spelled_name
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.errors import Ambiguous, Invalid, NotFound

TYPES = ("table", "view", "namespace", "branch", "tag", "share", "catalog")
LEVELS = ("edition", "stream", "partition")
"""What comes back by a call of its table, and is purged with it."""
_COLUMNS = ("name", "type", "id", "catalog", "version", "time", "author", "message")

kind = click.option(
    "--type", "kind", type=click.Choice((*TYPES, *LEVELS)), help="What it was, if several things had the name."
)
which = click.option("--id", help="Its id, if several had the name: `lakebed dropped` lists them.")


@word("lakebed dropped", "lakebed dropped --on dev", "lakebed dropped --json")
@with_session
def dropped_word(session: Session) -> None:
    """List what can be undropped; the last dropped comes first."""
    rows = [tuple(getattr(one, name) for name in _COLUMNS) for one in _dropped(session)]
    if session.output.is_terminal:
        shown = [(row[0], row[1], row[5], row[6], row[2]) for row in rows]
        session.output.rows(("name", "type", "dropped", "by", "id"), shown)
    else:
        session.output.rows(_COLUMNS, rows)


@word(
    "lakebed undrop sales.orders",
    "lakebed undrop sales.orders --as sales.orders_again",
    "lakebed undrop dev --type branch",
)
@arguments.name
@kind
@which
@click.option("--as", "as_name", metavar="NAME", help="Under another name.")
@arguments.described
@with_session
def undrop_word(session: Session, name: str, kind: str | None, id: str | None, as_name: str | None, **by: Any) -> None:
    """Bring back what was dropped: a table or what is in it, a view, a namespace, a branch, a tag, a share, …."""
    typed = parse_typed(name)
    found = _found(session, typed, kind, id)
    if found in LEVELS:
        if as_name is not None:
            raise click.UsageError(f"{_one(found)} comes back under its own name.")
        session.output.commit(
            _undrop_level(session, typed, found, id, by), f"{found} {spelled_name(typed.name)} is back"
        )
        return
    holder: Any = session.lake if found == "catalog" else session._holder(typed)
    new_name = None if as_name is None else parse_typed(as_name).name
    target = new_name[0] if new_name is not None and found not in TYPES[:3] else new_name
    commit = getattr(holder, f"undrop_{found}")(_asked(typed, found), id, target, **by)
    session.output.commit(commit, f"{found} {spelled_name(new_name or typed.name)} is back")


@word("lakebed purge sales.orders", "lakebed purge sales.orders --yes")
@arguments.name
@kind
@which
@arguments.described
@with_session
def purge_word(session: Session, name: str, kind: str | None, id: str | None, **by: Any) -> None:
    """Erase something dropped for good, with its past and its files."""
    typed = parse_typed(name)
    found = _found(session, typed, kind, id)
    if found in LEVELS:
        raise Invalid(f"{_one(found)} is purged with its table", subject=spelled_name(typed.name))
    session.output.confirm(f"Erase the dropped {found} {name}, its history and its files, for good?")
    holder: Any = session.lake if found == "catalog" else session._holder(typed)
    commit = getattr(holder, f"purge_{found}")(_asked(typed, found), id, **by)
    session.output.commit(commit, f"purged {found} {name}")


def _asked(typed: Typed, kind: str) -> Any:
    """The name as the call of a kind takes it: refs and catalogs have names of one part."""
    return typed.name if kind in TYPES[:3] else ".".join(typed.name)


def _undrop_level(session: Session, typed: Typed, kind: str, id: str | None, by: dict[str, Any]) -> Any:
    """Bring back what was dropped from a table or from an edition, which the name before the last part says."""
    table, own = session._holder(typed).table(typed.name[:-1]), typed.name[-1]
    if kind == "edition":
        return table.undrop_edition(own.partition("_")[2], id, **by)
    return getattr(table, f"undrop_{kind}")(id=id or _id_of(session, typed, kind), **by)


def _id_of(session: Session, typed: Typed, kind: str) -> str:
    """The id of the only one of a kind that had a name."""
    rows = [one for one in _of_name(session, typed) if one.type == kind]
    if not rows:
        raise NotFound(f"no {kind} of this name was dropped here", subject=spelled_name(typed.name))
    if len(rows) > 1:
        found = ", ".join(f"{one.id} (dropped {one.time:%Y-%m-%d %H:%M:%S})" for one in rows)
        raise Ambiguous(f"several dropped {kind}s had this name", found=found, advice="Name one by its id: --id ….")
    return rows[0].id


def _of_name(session: Session, typed: Typed) -> list[DroppedObject]:
    spelled = spelled_name(typed.name).casefold()
    return [one for one in _dropped(session) if one.name.casefold() == spelled]


def _one(kind: str) -> str:
    return f"an {kind}" if kind == "edition" else f"a {kind}"


def _dropped(session: Session) -> list[DroppedObject]:
    catalogs = [one for one in session.lake.dropped() if one.type == "catalog"]
    return sorted([*session.line.dropped(), *catalogs], key=lambda one: one.version, reverse=True)


def _found(session: Session, typed: Typed, kind: str | None, id: str | None) -> str:
    """What was dropped under a name, if it is not said: tables first, since their names are typed most often."""
    if kind is not None:
        return kind
    rows = [one for one in _dropped(session) if one.id == id] if id else _of_name(session, typed)
    kinds = [one.type for one in rows]
    if not kinds:
        advice = "`lakebed dropped` lists what was; another branch is named by --on."
        raise NotFound("nothing of this name was dropped here", subject=".".join(typed.name), advice=advice)
    return min(kinds, key=(*TYPES, *LEVELS).index)
