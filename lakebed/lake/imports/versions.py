"""Imports of tables of other formats, version by version: what differs from the version before is done here too.

    (the table's property) kind, place -> {"source": place, "id": the source's own, "version": number}

A version is compared with the one that was imported last, never with the table: rows that were added here stay, and so
do rows that were deleted here, as long as the source leaves their files alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lakebed.catalog.data.foreign import ForeignVersion
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.names import shown_name
from lakebed.catalog.transaction.scopes import Open
from lakebed.errors import Expired
from lakebed.lake.imports.answer import Import
from lakebed.lake.imports.batches import answered_before
from lakebed.lake.imports.into import in_one_commit
from lakebed.lake.imports.step import VersionStep, missing_files
from lakebed.lake.imports.table import Position, TableImport
from lakebed.lake.sql.names import Line


def imported_table(line: Line, asked: TableImport, request: Request, *, history: bool, dry_run: bool) -> Import:
    """Import the newest version by one commit; with its history, each version that is new by a commit of its own."""
    if history:
        return _dry_history(line, asked, request) if dry_run else _history(line, asked, request)
    known = None if dry_run else line._scope.replayed(request)
    if known is not None:
        return answered_before(line, asked.kind, asked.table.place, asked.into.parts, known)
    newest = asked.newest(asked.table.newest)
    return in_one_commit(
        line._scope, request, dry_run, lambda scope: VersionStep(asked, scope, newest, dry_run=dry_run).make()
    )


def _history(line: Line, asked: TableImport, request: Request) -> Import:
    done = list[Import]()
    while later := asked.to_come(position := asked.position(line._scope.read())):
        version = asked.version(later[0])
        _check_there(asked, version, later)
        said = "\n\n".join(filter(None, (version.message, request.message)))
        own = replace(request, message=said, author=request.author or version.author)
        found = in_one_commit(line._scope, own, False, partial(_next_version, asked, position, later[0]))
        if found.is_new:
            done.append(found)
    return _sum(asked, done)


def _next_version(asked: TableImport, position: Position | None, at: Position, scope: Open) -> Import:
    """Import a version in a transaction, unless another call has imported one since the position was read."""
    if asked.position(scope.read()) != position:
        return _sum(asked, ())
    return VersionStep(asked, scope, at).make()


def _dry_history(line: Line, asked: TableImport, request: Request) -> Import:
    """The newest version as it would be at the end; that all the others are there is looked up."""
    later = asked.to_come(asked.position(line._scope.read()))
    for at in later:
        _check_there(asked, asked.version(at), later)
    newest = asked.newest(asked.table.newest)
    found = in_one_commit(
        line._scope, request, True, lambda scope: VersionStep(asked, scope, newest, dry_run=True).make()
    )
    return replace(found, versions=len(later))


def _check_there(asked: TableImport, version: ForeignVersion, all_of_them: Sequence[Position]) -> None:
    """`Expired` if files of a version were deleted, as VACUUM and expiring snapshots do."""
    gone = missing_files(version.files)
    if not gone:
        return
    later = [at for at in all_of_them if at.number != version.number]
    first = next((at.number for at in later if not missing_files(asked.table.version(at.number).files)), None)
    begin = "" if first is None else f" Or begin a new table with the oldest version that is whole: since={first}."
    raise Expired(
        f"files of {version.called} were deleted in the source",
        subject=asked.table.place,
        found=f"{len(gone):,} gone, such as {gone[0]}",
        advice=f"Import the newest version alone: history=False.{begin}",
    )


def _sum(asked: TableImport, done: Sequence[Import]) -> Import:
    """What all versions did, together."""
    if not done:
        return Import(asked.kind, asked.table.place, shown_name(asked.into.parts))
    return replace(
        done[-1],
        created=any(one.created for one in done),
        files=sum(one.files for one in done),
        bytes=sum(one.bytes for one in done),
        source_rows=sum(one.source_rows or 0 for one in done),
        rows=sum(one.rows or 0 for one in done),
        versions=len(done),
        known_files=0,
        notes=tuple(dict.fromkeys(note for one in done for note in one.notes)),
    )
