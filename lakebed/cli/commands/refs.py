"""The words for branches and tags: branch, switch, tag."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

import click

from lakebed.catalog.transaction.commits import Commit
from lakebed.cli import arguments
from lakebed.cli.addresses import parse_moment
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.errors import Invalid, NotFound
from lakebed.lake.catalog import Catalog


@word(
    "lakebed branch",
    "lakebed branch dev",
    "lakebed branch dev --at yesterday",
    "lakebed branch -m dev next",
    "lakebed branch -d dev",
)
@click.argument("name", required=False)
@click.argument("new_name", required=False)
@click.option("-d", "--drop", is_flag=True, help="Drop it; `lakebed undrop` brings it back.")
@click.option("-m", "--rename", is_flag=True, help="Rename it: the old name, then the new one.")
@click.option("--prefix", help="List names that begin like this.")
@arguments.described_at_length
@with_session
def branch_word(
    session: Session,
    name: str | None,
    new_name: str | None,
    drop: bool,
    rename: bool,
    prefix: str | None,
    **by: Any,
) -> None:
    """List the branches, or create, rename or drop one. A new one begins where you are, or where `--at` says."""
    line = session.line
    if name is None:
        _refuse_names(drop or rename, "branch")
        here = session.place.partition("#")[0]
        rows = [(one.ref, one.version, f"{one.name}@{one.ref}" == here) for one in line.branches(prefix=prefix)]
        _list_branches(session, rows)
    elif drop:
        _refuse_second(new_name)
        show_dropped_ref(session, line.drop_branch(name, **by), "branch", name)
    elif rename:
        session.output.commit(line.rename_branch(name, _required(new_name), **by), f"branch {name} is now {new_name}")
        _follow(session, name, str(new_name))
    else:
        _refuse_second(new_name)
        _created(session, line.create_branch(name, **by), "branch")


def _list_branches(session: Session, rows: Sequence[tuple[str, object, bool]]) -> None:
    if session.output.is_terminal and not session.output.is_quiet:
        shown = [("*" if current else "", name, version) for name, version, current in rows]
        session.output.rows(("", "branch", "version"), shown)
    else:
        session.output.rows(("name", "version", "current"), rows)


def _follow(session: Session, name: str, new_name: str) -> None:
    """Stay on a branch that was renamed."""
    catalog, _, ref = session.current_place.partition("@")
    if session.switched.place and ref == name:
        session.switch(f"{catalog}@{new_name}", session.switched.before or "")


@word("lakebed tag", "lakebed tag 2026-q4", "lakebed tag audited 17 -m 'for the books'", "lakebed tag -d 2026-q4")
@click.argument("name", required=False)
@click.argument("moment", required=False)
@click.option("-d", "--drop", is_flag=True, help="Drop it; `lakebed undrop` brings it back.")
@click.option("--rename", is_flag=True, help="Rename it: the old name, then the new one.")
@click.option("--prefix", help="List names that begin like this.")
@arguments.described
@with_session
def tag_word(
    session: Session,
    name: str | None,
    moment: str | None,
    drop: bool,
    rename: bool,
    prefix: str | None,
    **by: Any,
) -> None:
    """List the tags, or tag this branch: at its newest version, or at a version or time."""
    line = session.line
    if name is None:
        _refuse_names(drop or rename, "tag")
        session.output.rows(("name", "version"), [(one.ref, one.version) for one in line.tags(prefix=prefix)])
    elif drop:
        _refuse_second(moment)
        show_dropped_ref(session, line.drop_tag(name, **by), "tag", name)
    elif rename:
        session.output.commit(line.rename_tag(name, _required(moment), **by), f"tag {name} is now {moment}")
    else:
        _created(session, line.create_tag(name, None if moment is None else parse_moment(moment), **by), "tag")


@word("lakebed switch dev", "lakebed switch -c dev", "lakebed switch -", "lakebed switch main")
@click.argument("ref", required=False)
@click.option("-c", "--create", is_flag=True, help="Create the branch first.")
@with_session
def switch_word(session: Session, ref: str | None, create: bool) -> None:
    """Work on another branch from now on. `-` goes back to the one before; without a name, show where you are."""
    if ref is None:
        line = session.line
    else:
        place = _wanted(session, ref)
        line = session.line.create_branch(ref) if create else session.lake.catalog(place)
        session.switch(f"{line.name}@{line.ref}", session.current_place)
    if session.output.is_json:
        session.output.json({"catalog": line.name, "ref": line.ref, "version": line.version})
    elif not session.output.is_quiet:
        session.output.text(f"{'on' if ref is None else 'switched to'} {line.name}@{line.ref}, version {line.version}")


def _wanted(session: Session, ref: str) -> str:
    """The address of the line to switch to; a moment can't be switched to."""
    if ref == "-":
        if session.switched.before is None:
            raise NotFound("there is no branch before this one", advice="Name a branch: `lakebed switch main`")
        return session.switched.before
    if "#" in ref:
        raise Invalid("only a branch, tag or share can be switched to", subject=ref, advice=f"Use --at for {ref}.")
    if session.switched.place and not session.lake.catalog_exists(session.switched.place):
        return ref if "@" in ref else f"{session.current_place.partition('@')[0]}@{ref}"
    return session.place_of(ref)


def _created(session: Session, made: Catalog, kind: str) -> None:
    if session.output.is_json:
        session.output.json({"name": made.ref, "version": made.version, "current": False})
    elif not session.output.is_quiet:
        session.output.text(f"created {kind} {made.ref} at version {made.version}")
        if kind == "branch":
            session.output.note(f"to work on it: lakebed switch {quote(made.ref)}")


def show_dropped_ref(session: Session, commit: Commit | None, kind: str, name: str) -> None:
    """Answer the drop of a branch, a tag or a share with the line that undoes it."""
    session.leave(name)
    id = ["--id", commit.operations[0].object_id] if commit is not None and commit.operations else []
    undrop = session.typed(session.place, "undrop", name, "--type", kind, *id)
    session.output.commit(commit, f"dropped {kind} {name}", undrop=undrop)
    session.output.note(f"undo: {undrop}")


def _required(new_name: str | None) -> str:
    if new_name is None:
        raise click.UsageError("Give the old name, then the new one.")
    return new_name


def _refuse_second(given: str | None) -> None:
    if given is not None:
        raise click.UsageError(f"Unexpected argument {given!r}. To begin elsewhere, use --on and --at.")


def _refuse_names(needs_name: bool, kind: str) -> None:
    if needs_name:
        raise click.UsageError(f"Name the {kind}.")
