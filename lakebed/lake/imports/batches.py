"""Imports that copy rows, cut into batches: more than one go to a branch, which is merged when all of them are there.

A batch is a commit of the branch, with the files that it had. So an import that was killed goes on where it stopped,
and nobody who reads the line sees a part of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Protocol

from lakebed.catalog.merge.merge import merge
from lakebed.catalog.merge.settling import Settling
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import shown_name
from lakebed.catalog.transaction.scopes import Open
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict
from lakebed.lake.engines import row_engine
from lakebed.lake.imports.answer import Import, check_fits
from lakebed.lake.imports.into import Into, in_one_commit
from lakebed.lake.imports.listing import Source, SourceFile
from lakebed.lake.sql.names import Line
from lakebed.table.merge.strategy import Settle

BATCH_BYTES = 1 << 30
"""A batch ends with the file that makes it this large: what a killed import may have to do again."""

BATCH_FILES = 50_000
"""A commit has 10 MB, and remembering a file takes some 40 bytes."""


class FilesImport(Protocol):
    """An import of files."""

    @property
    def kind(self) -> str:
        """The word for what is imported."""

    @property
    def source(self) -> Source: ...

    @property
    def into(self) -> Into: ...

    @property
    def copy(self) -> bool:
        """Whether rows are copied: then batches are limited by bytes, else only by files."""

    def new_files(self, work: Work) -> list[SourceFile]:
        """The files that are new, without a look into them."""

    def make(self, scope: Open, chosen: frozenset[str] | None = None, *, dry_run: bool = False) -> Import:
        """Import what is new, or of it the chosen files, in a transaction; for a dry run no row is copied."""


def imported(line: Line, asked: FilesImport, request: Request, dry_run: bool) -> Import:
    """Import all that is new: in one commit, or on a branch batch by batch, and then by one merge."""
    if dry_run:
        return in_one_commit(line._scope, request, True, lambda scope: asked.make(scope, dry_run=True))
    known = line._scope.replayed(request)
    if known is not None:
        return answered_before(line, asked.kind, asked.source.text, asked.into.parts, known)
    name = _branch_name(asked)
    staged = line.branch(name) if line.branch_exists(name) else None
    batches = list(_batches(asked, (staged or line)._scope.read()))
    if staged is None and len(batches) < 2:
        return in_one_commit(line._scope, request, False, asked.make)
    return _staged(line, line.create_branch(name, if_not_exists=True), asked, batches, request)


def _staged(
    line: Line, branch: Line, asked: FilesImport, batches: Sequence[frozenset[str]], request: Request
) -> Import:
    done = [_batch(branch, asked, batch) for batch in batches]
    engine = row_engine()
    settling = Settling(Settle.FAIL, merger=engine, checker=engine)
    said = replace(request, message=request.message or f"import {asked.source.text}")
    try:
        commit = merge(line._scope, branch._head(), settling, said, branch.ref).commit
    except Conflict as error:
        error.advice = f"The rows are on the branch {branch.ref}: merge it and settle the conflicts, or drop it."
        raise
    line.drop_branch(branch.ref)
    return replace(_sum(asked, done), commit=commit)


def _batch(branch: Line, asked: FilesImport, batch: frozenset[str]) -> Import:
    found = in_one_commit(branch._scope, Request("import"), False, lambda scope: asked.make(scope, batch))
    check_fits(found)
    return found


def _sum(asked: FilesImport, done: Sequence[Import]) -> Import:
    """What all batches did, together."""
    if not done:
        return Import(asked.kind, asked.source.text, shown_name(asked.into.parts))
    return replace(
        done[0],
        created=any(one.created for one in done),
        files=sum(one.files for one in done),
        bytes=sum(one.bytes for one in done),
        empty_files=sum(one.empty_files for one in done),
        source_rows=sum(one.source_rows or 0 for one in done),
        rows=sum(one.rows or 0 for one in done),
        quarantined=sum(one.quarantined for one in done),
    )


def answered_before(line: Line, kind: str, source: str, parts: tuple[str, ...], commit: Commit) -> Import:
    """The answer to a call that was made before, from its commit."""
    table = line.table(shown_name(parts))
    done = [one for one in commit.operations if table.id in (one.object_id, one.table)]
    counts = Counter[str]()
    for operation in done:
        counts.update(operation.counts)
    return Import(
        kind,
        source,
        shown_name(parts),
        commit,
        created=any(one.type == "create" for one in done),
        files=counts["added_files"],
        bytes=counts["added_bytes"],
        rows=counts["added_rows"] - counts["removed_rows"],
    )


def _batches(asked: FilesImport, work: Work) -> Iterator[frozenset[str]]:
    batch, size = set[str](), 0
    for file in asked.new_files(work):
        batch.add(file.path)
        size += file.size if asked.copy else 0
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield frozenset(batch)
            batch, size = set(), 0
    if batch:
        yield frozenset(batch)


def _branch_name(asked: FilesImport) -> str:
    text = "\n".join([*asked.into.parts, asked.source.text])
    return f"import-{blake2b(text.encode(), digest_size=6).hexdigest()}"
