"""The words that look after a lake: compact, checkpoint, check, backup."""

from typing import Any

import click

from lakebed.cli import arguments
from lakebed.cli.failures import CHECK_FAILED
from lakebed.cli.session import Session, name_of, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import byte_text, counted


@word("lakebed compact sales.orders", "lakebed compact sales.orders --where \"day = '2026-11-01'\" --sort-by price")
@arguments.table
@arguments.where
@click.option("--target-bytes", type=click.IntRange(min=1), help="The size of new files.")
@click.option("--most-bytes", type=click.IntRange(min=1), help="Rewrite at most this much.")
@click.option("--sort-by", multiple=True, metavar="TERM", help="Sort files whose values overlap together.")
@arguments.described
@with_session
def compact_word(
    session: Session,
    table: str,
    where: str | None,
    target_bytes: int | None,
    most_bytes: int | None,
    sort_by: tuple[str, ...],
    **by: Any,
) -> None:
    """Rewrite small files, inline rows and deleted rows of a table. No result changes."""
    found = session.table(table)
    order: dict[str, Any] = {"strategy": "sort", "sort_by": list(sort_by)} if sort_by else {}
    with session.output.working(f"compacting {table}"):
        commit = found.compact(where=where, target_bytes=target_bytes, most_bytes=most_bytes, **order, **by)
    details = "" if commit is None else "; ".join(one.detail for one in commit.operations if one.detail)
    said = f"compacted {name_of(found)}{f': {details}' if details else ''}"
    session.output.commit(commit, said, f"{name_of(found)} has nothing to compact")


@word("lakebed checkpoint sales.orders")
@arguments.table
@with_session
def checkpoint_word(session: Session, table: str) -> None:
    """Write a checkpoint of a table, so that opening it reads only later commits. Commits start it by themselves."""
    found = session.table(table)
    session.output.record({"name": name_of(found), "version": found.checkpoint()})


@word("lakebed check", "lakebed check --deep", "lakebed check --orphans")
@click.option("--deep", is_flag=True, help="Read all files with their checksums.")
@click.option("--orphans", is_flag=True, help="List files that nothing refers to: not damage.")
@with_session
def check_word(session: Session, deep: bool, orphans: bool) -> int:
    """Look for damage: read every record, and look for every file. The exit code is 3 if something is wrong."""
    with session.output.working("checking"):
        found = session.lake.check(deep)
    lines = [("problem", text) for text in found] + [("orphan", path) for path in found.orphans if orphans]
    if session.output.is_json:
        for kind, text in lines:
            session.output.json({kind: text})
    else:
        for _, text in lines:
            session.output.text(text)
    if not lines:
        session.output.note("nothing is wrong")
    return CHECK_FAILED if found else 0


@word("lakebed backup /mnt/backups/shop")
@click.argument("folder")
@with_session
def backup_word(session: Session, folder: str) -> None:
    """Copy the lake, as it is at one moment, into a folder; into one with a backup, only what is new."""
    with session.output.working("copying"):
        done = session.lake.backup(folder)
    fields = {"path": done.path, "version": done.version, "files": done.files, "bytes": done.bytes}
    outside = counted(len(done.outside), "file")
    shown = {**fields, "bytes": byte_text(done.bytes)} if session.output.is_terminal else None
    session.output.record({**fields, "outside": list(done.outside)}, shown)
    if done.outside:
        session.output.note(f"not copied: {outside} outside the lake")
