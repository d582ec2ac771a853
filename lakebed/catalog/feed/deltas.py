"""A table's deltas as a feed reads them: which files each commit removed, changed and added, without compactions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakebed.catalog.data.changes import COPIES
from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.catalog.data.deltas import history, record_of, whole_manifest
from lakebed.catalog.data.live_files import table_files
from lakebed.catalog.feed.steps import same_vector
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.pending_delta import new_rows
from lakebed.catalog.transaction.work import Work
from lakebed.files import Files
from lakebed.metastore import State
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.store import Version
from lakebed.table.manifest.delta import ADDED, DELETED
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Manifest, Rewrite

Entries = dict[str, DataFileRef]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A compaction: the entries that it replaced, and those that it wrote."""

    inputs: Mapping[str, DataFileRef]
    outputs: Mapping[str, DataFileRef]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit did to files: the entries that differ, before and after it, apart from what was only rewritten.

    `is_brought` says that rows came from another line or from the past, with the numbers that they had there.
    """

    version: Version
    sequence: int
    schema_id: int
    before: Mapping[str, DataFileRef]
    after: Mapping[str, DataFileRef]
    rewritten: tuple[Rewritten, ...] = ()
    is_brought: bool = False


def manifests_between(
    work: Work, partition: str, since: Version | None, before: Version | None = None
) -> list[tuple[State, Manifest]]:
    """The deltas of a partition after a version, and before another, oldest first."""
    states = [state for state in history(work, partition, since) if before is None or state.version < before]
    return [(state, whole_manifest(work.context, state)) for state in reversed(states)]


def touched(deltas: Iterable[tuple[State, Manifest]]) -> Entries:
    """One entry of every file that the deltas name."""
    return {file.path: file for _, manifest in deltas for file in manifest.data_files}


def live_entries(work: Work, state: TableState | None, wanted: Mapping[str, DataFileRef]) -> Entries:
    """The live entries of the wanted files."""
    if state is None or not wanted:
        return {}
    return {path: live.file for path, live in table_files(work, state).among(work.context, wanted).items()}


def all_entries(work: Work, state: TableState | None) -> Entries:
    """Every live file of a table by path."""
    if state is None:
        return {}
    return {path: live.file for path, live in table_files(work, state).all(work.context).items()}


def file_changes(
    context: Context, start: Mapping[str, DataFileRef], deltas: Iterable[tuple[State, Manifest]]
) -> Iterator[FileChange]:
    """The change of each delta; `start` are the entries before the first of those that the deltas name."""
    known = dict(start)
    for state, manifest in deltas:
        record = record_of(state)
        before = {file.path: known[file.path] for file in manifest.data_files if file.path in known}
        after = {file.path: file for file in manifest.data_files if file.status != DELETED}
        for path in before:
            del known[path]
        known |= after
        rewritten = tuple(_rewritten(context.files, _rewrites(record, manifest), before, after))
        for group in rewritten:
            before = {path: file for path, file in before.items() if path not in group.inputs}
            after = {path: file for path, file in after.items() if path not in group.outputs}
        own = range(record.first_row_id, record.first_row_id + new_rows(record))
        added = (file for path, file in after.items() if file.status == ADDED)
        # A revert also brings rows back by taking a vector away, and a branch may have got its ids later than the line.
        brought = operation_name(record.operation) in COPIES or any(file.first_row_id not in own for file in added)
        yield FileChange(
            state.version, record.sequence_number, record.schema_id, before, after, rewritten, is_brought=brought
        )


def _rewrites(record: pb.TableHistory, manifest: Manifest) -> Sequence[Rewrite]:
    """Which outputs replace which inputs; a compaction from before manifests said so is one group."""
    if manifest.rewrites or record.operation != pb.COMPACT:
        return manifest.rewrites
    inputs = [file.path for file in manifest.data_files if file.status == DELETED]
    return [Rewrite(inputs=inputs, outputs=[file.path for file in manifest.data_files if file.status == ADDED])]


def _rewritten(files: Files, rewrites: Iterable[Rewrite], before: Entries, after: Entries) -> Iterator[Rewritten]:
    """The compactions whose outputs have just the rows of their inputs; a merge may state others."""
    for rewrite in rewrites:
        inputs = {path: before[path] for path in rewrite.inputs if path in before and path not in after}
        outputs = {path: after[path] for path in rewrite.outputs if path in after and path not in before}
        is_whole = len(inputs) == len(rewrite.inputs) and len(outputs) == len(rewrite.outputs)
        if is_whole and _row_count(files, inputs.values()) == _row_count(files, outputs.values()):
            yield Rewritten(inputs, outputs)


def _row_count(files: Files, entries: Iterable[DataFileRef]) -> int:
    return sum(live_rows(files, file) for file in entries)


def uncompacted(entries: Mapping[str, DataFileRef], changes: Iterable[FileChange]) -> Entries:
    """The entries as if nobody had compacted: outputs that are as they were written give way to their inputs."""
    files = dict(entries)
    for change in reversed(list(changes)):
        for group in reversed(change.rewritten):
            if all(path in files and same_vector(files[path], file) for path, file in group.outputs.items()):
                files = {path: file for path, file in files.items() if path not in group.outputs}
                files |= group.inputs
    return files
