"""The words that bring lines together and go back: merge, cherry-pick, revert, reset, restore."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lakebed.catalog.merge.merge import MergeResult
from lakebed.catalog.transaction.commits import Commit
from lakebed.cli import arguments
from lakebed.cli.addresses import parse_moment, spelled_name
from lakebed.cli.commands.conflicts import conflict_fields
from lakebed.cli.commands.log import find_commit
from lakebed.cli.output import commit_fields
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import counted
from lakebed.errors import Conflict

CONFLICT = 5

_strategy = click.option(
    "--strategy", type=click.Choice(["fail", "ours", "theirs"]), default="fail", help="How to settle conflicts."
)


@word(
    "lakebed merge dev",
    "lakebed merge dev --dry-run",
    "lakebed merge dev --keep-conflicts",
    "lakebed merge dev --strategy theirs --on main",
)
@click.argument("source", metavar="REF")
@click.option("--dry-run", is_flag=True, help="Change nothing: only show the conflicts.")
@_strategy
@click.option("--keep-conflicts", is_flag=True, help="Keep them, to be decided by `lakebed conflicts`.")
@arguments.described
@with_session
def merge_word(session: Session, source: str, dry_run: bool, strategy: str, keep_conflicts: bool, **by: Any) -> int:
    """Merge another branch, tag or version into this one: one commit for all tables, or none."""
    try:
        with session.output.working(f"merging {source}"):
            result = session.line.merge(
                session.ref(source), dry_run=dry_run, strategy=strategy, keep_conflicts=keep_conflicts, **by
            )
    except Conflict as error:
        error.advice = f"To decide them one by one: `lakebed merge {source} --keep-conflicts`; or use --strategy."
        raise
    if session.output.is_json:
        session.output.json(_fields(result, dry_run))
    else:
        _show(session, result, source, dry_run)
    return CONFLICT if result.in_progress or (dry_run and result.conflicts) else 0


def _fields(result: MergeResult, dry_run: bool) -> dict[str, object]:
    return {
        "commit": None if result.commit is None else commit_fields(result.commit),
        "conflicts": [conflict_fields(one) for one in result.conflicts],
        "in_progress": result.in_progress,
        "dry_run": dry_run,
    }


def _show(session: Session, result: MergeResult, source: str, dry_run: bool) -> None:
    settled = counted(len(result.conflicts), "conflict")
    if dry_run:
        session.output.text(f"{settled}; nothing was changed" if result.conflicts else f"{source} merges cleanly")
    elif result.in_progress:
        session.output.text(f"the merge of {source} waits: {settled} to decide")
    else:
        also = f", {settled} settled" if result.conflicts else ""
        session.output.commit(result.commit, f"merged {source}{also}", f"{source} has nothing new")
    for one in result.conflicts if dry_run or result.in_progress else ():
        session.output.sentences(f"  {one}")
    if result.in_progress:
        session.output.note("lakebed conflicts lists them")


@contextmanager
def _in_dispute(found: Commit) -> Iterator[None]:
    """Say of a conflict which version it is about, and what can be done from a shell."""
    try:
        yield
    except Conflict as error:
        error.subject = error.subject.replace(found.id, f"version {found.version}")
        error.advice = (
            f"Nothing was changed. Use --strategy, or settle this first; "
            f"`lakebed show {found.version}` shows what the commit did."
        )
        raise


@word("lakebed cherry-pick 17", "lakebed cherry-pick 17 --on main", "lakebed cherry-pick 17 --strategy theirs")
@click.argument("commit", metavar="VERSION_OR_ID")
@_strategy
@arguments.described
@with_session
def cherry_pick_word(session: Session, commit: str, strategy: str, **by: Any) -> None:
    """Do here what a commit of another branch did there."""
    found = find_commit(session, commit)
    with _in_dispute(found):
        made = session.line.cherry_pick(found, strategy=strategy, **by)
    session.output.commit(made, f"did again what version {found.version} did")


@word("lakebed revert", "lakebed revert 17 -m 'a mistake'", "lakebed revert -1", "lakebed revert 17 --strategy ours")
@click.argument("commit", required=False, metavar="[VERSION_OR_ID]")
@_strategy
@arguments.described
@with_session
def revert_word(session: Session, commit: str | None, strategy: str, **by: Any) -> None:
    """Undo what a commit did, the newest unless another is named, by a new one; what came later stays."""
    found = find_commit(session, commit)
    with _in_dispute(found):
        made = session.line.revert(found, strategy=strategy, **by)
    session.output.commit(made, f"undid version {found.version}")


@word("lakebed reset 17", "lakebed reset '1 hour ago' --yes")
@click.argument("moment")
@arguments.described
@with_session
def reset_word(session: Session, moment: str, **by: Any) -> None:
    """Make the branch what it was at a version or time, by a new commit: history stays, and can be read."""
    line = session.line
    there = line.at(parse_moment(moment))
    count = len(line.diff(there))
    changed = f"{counted(count, 'object')} {'changes' if count == 1 else 'change'}"
    session.output.confirm(f"Make {line.name}@{line.ref} what it was at version {there.version} ({changed})?")
    said = f"{line.ref} is what it was at version {there.version}"
    session.output.commit(line.reset(parse_moment(moment), **by), said, f"{line.ref} is that already")


@word(
    "lakebed restore sales.orders 17",
    "lakebed restore sales.orders -1        # before the last change of the table",
    "lakebed restore sales.orders yesterday",
)
@arguments.table
@click.argument("moment")
@arguments.described
@with_session
def restore_word(session: Session, table: str, moment: str, **by: Any) -> None:
    """Make a table what it was at a version or time, by a new commit.

    `-1` undoes the last commit that changed the table. A table that was dropped since comes back.
    """
    line, name = session.named(table)
    then = parse_moment(moment)
    commit: Commit | None
    if line.table_exists(name):
        found = line.table(name)
        version, commit = found.at(then).version, found.restore(then, **by)
    else:
        version, commit = line.at(then).version, line.restore_table(name, then, **by)
    said = f"{spelled_name(name)} is what it was at version {version}"
    now = "" if line.table_exists(name) else ", its name too: `lakebed ls -r` has it"
    session.output.commit(commit, f"{said}{now}", f"{spelled_name(name)} is that already")
