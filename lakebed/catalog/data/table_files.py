"""A table's live files at a version: those of the nearest checkpoint before it, and what deltas changed since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from lakebed.catalog.data.checkpoints import Checkpoint, find_checkpoint, load_part
from lakebed.catalog.data.deltas import history, record_of, whole_manifest
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Home
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.store import Version
from lakebed.table.entries.parts import files_in
from lakebed.table.manifest.live_file import LiveFile
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.snapshot import EMPTY, Overlay, over

LOOK_AGAIN = 64
"""So many deltas on top of what is remembered are worth a look for a newer checkpoint."""


ENTRY_BYTES = 100
"""What a file's entry takes at least, column by column."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The committed files of a table: a checkpoint, if there is one, and what deltas changed since.

    `newest` is the last delta, None if that is the checkpoint's or there is none; `metadata_bytes` are those of all
    manifests since the checkpoint.
    """

    checkpoint: Checkpoint | None
    overlay: Overlay
    newest: State | None = None
    metadata_bytes: int = 0

    @property
    def version(self) -> Version | None:
        """That of the last delta, None before the first."""
        if self.newest is not None:
            return self.newest.version
        return None if self.checkpoint is None else self.checkpoint.version

    def count(self) -> int:
        """How many files are live."""
        stored = 0 if self.checkpoint is None else sum(one.files for one in self.checkpoint.parts)
        return stored + len(self.overlay.added) - len(self.overlay.removed)

    def among(self, home: Home, wanted: Mapping[str, DataFileRef]) -> dict[str, LiveFile]:
        """Those of some files that are live, by path."""
        overlay = self.overlay
        found = {path: overlay.added[path] for path in wanted if path in overlay.added}
        asked = {path: one for path, one in wanted.items() if path not in found and path not in overlay.removed}
        if self.checkpoint is None or not asked:
            return found
        stored = files_in(self.checkpoint.parts, asked, lambda part: load_part(home, part))
        return found | {path: replace(one, file=overlay.changed.get(path, one.file)) for path, one in stored.items()}

    def all(self, home: Home) -> dict[str, LiveFile]:
        """Every live file by path."""
        return self.overlay.on(() if self.checkpoint is None else self.checkpoint.files(home))


def live_files(work: Work, state: TableState) -> dict[str, DataFileRef]:
    """The table's files by path, with what the work itself does to them; not remembered as read."""
    committed = committed_files(work, state)
    pending = work.deltas.get(state.id)
    return committed if pending is None else pending.live(committed)


def live_among(work: Work, state: TableState, wanted: Mapping[str, DataFileRef]) -> dict[str, DataFileRef]:
    """Those of some files that are live, as they are, by path; the others of the table are not looked at."""
    files, pending = table_files(work, state), work.deltas.get(state.id)
    own = {} if pending is None else {one.path: one for one in (*pending.changed, *pending.added)}
    gone = set() if pending is None else {one.path for one in pending.removed}
    found = {path: own[path] for path in wanted if path in own}
    asked = {path: one for path, one in wanted.items() if path not in own and path not in gone}
    return found | {path: one.file for path, one in files.among(work.home, asked).items()}


def committed_files(work: Work, state: TableState) -> dict[str, DataFileRef]:
    """The table's committed files by path."""
    return {path: one.file for path, one in table_files(work, state).all(work.home).items()}


def table_files(work: Work, state: TableState) -> TableFiles:
    """The table's committed files as the work's base has them.

    What a line was read as last is remembered, and costs the deltas since.
    """
    memory, place = work.home.memory, (work.ref.line.id, state.partition)
    known = cast("TableFiles | None", memory.get(place))
    if known is not None and known.version is not None and known.version <= work.base:
        found = _with(work.home, known, history(work, state.partition, known.version))
        if found.overlay.deltas < LOOK_AGAIN or not _is_behind(work, state, found):
            memory.put(place, found)
            return found
    found = folded(work, state)
    if known is None or (found.version is not None and known.version is not None and known.version <= found.version):
        memory.put(place, found)
    return found


def folded(work: Work, state: TableState) -> TableFiles:
    """The table's committed files, from the nearest checkpoint on, whatever is remembered."""
    checkpoint = find_checkpoint(work, state.partition)
    if checkpoint is None:
        return _with(work.home, TableFiles(None, EMPTY), history(work, state.partition))
    start = TableFiles(checkpoint, checkpoint.overlay())
    return _with(work.home, start, history(work, state.partition, checkpoint.version))


def replayed(work: Work, state: TableState) -> TableFiles:
    """The table's committed files, folded from its first delta on."""
    return _with(work.home, TableFiles(None, EMPTY), history(work, state.partition))


def _with(home: Home, before: TableFiles, newest_first: Sequence[State]) -> TableFiles:
    if not newest_first:
        return before
    overlay = over(before.overlay, (whole_manifest(home, one) for one in reversed(newest_first)))
    size = before.metadata_bytes + sum(_metadata_bytes(one) for one in newest_first)
    return TableFiles(before.checkpoint, overlay, newest_first[0], size)


def _metadata_bytes(delta: State) -> int:
    """About how many bytes its manifest has; of a large one the entries are in a file of their own."""
    record = record_of(delta)
    entries = sum(record.counts.get(f"{what}_files", 0) for what in ("added", "removed", "changed"))
    return max(record.manifest_length, ENTRY_BYTES * entries)


def _is_behind(work: Work, state: TableState, found: TableFiles) -> bool:
    """Whether there is a newer checkpoint than what was found is built on."""
    newest = work.reader.checkpoint(state.partition)
    if newest is None:
        return False
    return found.checkpoint is None or found.checkpoint.version < newest.version
