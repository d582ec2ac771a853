"""A table's live files: a checkpoint and the deltas since, read once and remembered; a lazy sequence of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, lt
from typing import Any, Final, cast, overload

import numpy
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from lakebed.catalog.data.checkpoints import Checkpoint, find_checkpoint, load_part
from lakebed.catalog.data.deletion_vectors import live_rows, read_vector
from lakebed.catalog.data.deltas import history, record_of, whole_manifest
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.metastore import State
from lakebed.store import Version
from lakebed.table.entries.parts import files_in
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Part
from lakebed.table.manifest.snapshot import EMPTY, LiveFile, Overlay, over
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.plan.vectorized import FileRows

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

    def among(self, context: Context, wanted: Mapping[str, DataFileRef]) -> dict[str, LiveFile]:
        """Those of some files that are live, by path."""
        overlay = self.overlay
        found = {path: overlay.added[path] for path in wanted if path in overlay.added}
        asked = {path: one for path, one in wanted.items() if path not in found and path not in overlay.removed}
        if self.checkpoint is None or not asked:
            return found
        stored = files_in(self.checkpoint.parts, asked, lambda part: load_part(context, part))
        return found | {path: replace(one, file=overlay.changed.get(path, one.file)) for path, one in stored.items()}

    def all(self, context: Context) -> dict[str, LiveFile]:
        """Every live file by path."""
        return self.overlay.on(() if self.checkpoint is None else self.checkpoint.files(context))


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
    return found | {path: one.file for path, one in files.among(work.context, asked).items()}


def committed_files(work: Work, state: TableState) -> dict[str, DataFileRef]:
    """The table's committed files by path."""
    return {path: one.file for path, one in table_files(work, state).all(work.context).items()}


def table_files(work: Work, state: TableState) -> TableFiles:
    """The table's committed files as the work's base has them.

    What a line was read as last is remembered, and costs the deltas since.
    """
    memory, place = work.context.memory, (work.ref.line.id, state.partition)
    known = cast("TableFiles | None", memory.get(place))
    if known is not None and known.version is not None and known.version <= work.base:
        found = _with(work.context, known, history(work, state.partition, known.version))
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
        return _with(work.context, TableFiles(None, EMPTY), history(work, state.partition))
    start = TableFiles(checkpoint, checkpoint.overlay())
    return _with(work.context, start, history(work, state.partition, checkpoint.version))


def replayed(work: Work, state: TableState) -> TableFiles:
    """The table's committed files, folded from its first delta on."""
    return _with(work.context, TableFiles(None, EMPTY), history(work, state.partition))


def _with(context: Context, before: TableFiles, newest_first: Sequence[State]) -> TableFiles:
    if not newest_first:
        return before
    overlay = over(before.overlay, (whole_manifest(context, one) for one in reversed(newest_first)))
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


FIRST_WINDOW: Final = 64
LAST_WINDOW: Final = 8192
"""So many files of a checkpoint become objects at once: few at first, for those who want but a few rows."""

Places = NDArray[Any]


class LiveFiles(Sequence[PlannedFile]):
    """A table's live files as they are when this is made, in the order of their rows' ids, a work's own ones last.

    `committed` are those of the work's base, of which `altered` are gone or among the work's `own`, by path. To make it
    and to ask how many there are costs no look at them.
    """

    def __init__(self, context: Context, committed: TableFiles, pending: Delta | None = None) -> None:
        self.committed = committed
        self.own = () if pending is None else (*pending.changed, *pending.added)
        self.altered = {} if pending is None else {one.path: one for one in (*pending.removed, *pending.changed)}
        self._home = context
        self._count = committed.count() + (0 if pending is None else pending.more_files)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[PlannedFile]:
        yield from map(PlannedFile, self._ordered() if self._stored else _by_row_id(self._loose))
        yield from map(PlannedFile, self.own)

    @overload
    def __getitem__(self, place: int) -> PlannedFile: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[PlannedFile, ...]: ...

    def __getitem__(self, place: int | slice) -> PlannedFile | tuple[PlannedFile, ...]:
        chosen = range(len(self))[place]
        return self._at([chosen])[0] if isinstance(chosen, int) else self._at(chosen)

    def _at(self, places: Sequence[int]) -> tuple[PlannedFile, ...]:
        border = len(self._order)
        committed = iter(self._files(self._order[[one for one in places if one < border]]))
        return tuple(PlannedFile(next(committed) if one < border else self.own[one - border]) for one in places)

    def live_rows(self) -> int:
        """How many of their rows are not deleted; a vector is read only where the entry has not counted it."""
        files = self._home.files
        stored = sum(_live_rows(files, one) for one in self._stored)
        return stored + sum(live_rows(files, one) for one in (*self._loose, *self.own))

    @cached_property
    def _loose(self) -> list[DataFileRef]:
        """The committed files that are not as a checkpoint has them."""
        overlay = self.committed.overlay
        files = (*overlay.changed.values(), *(one.file for one in overlay.added.values()))
        return [one for one in files if one.path not in self.altered] if self.altered else list(files)

    @cached_property
    def _stored(self) -> list[FileRows]:
        """The files that are as a checkpoint has them, by its parts; `Corrupt` if one was altered that it lacks."""
        if self.committed.checkpoint is None:
            return []
        overlay = self.committed.overlay
        own = {path: one for path, one in self.altered.items() if path not in overlay.added}
        gone = {**overlay.removed, **overlay.changed, **own}
        paths, row_ids = numpy.array(list(gone), object), _row_ids(gone.values())
        parts = self.committed.checkpoint.parts
        stored = [self._left(part, paths[_may_be_in(part, row_ids)]) for part in parts]
        found = sum(one.files for one in parts) - sum(map(len, stored))
        if found != len(gone):
            raise Corrupt(
                "a delta changes a file that its checkpoint lacks",
                subject=min(gone.keys() - self._stored_paths(parts), default=f"table {overlay.table_id}"),
                expected=f"{len(gone)} files that are removed or changed",
                found=found,
            )
        return stored

    def _stored_paths(self, parts: Iterable[Part]) -> set[str]:
        return {path for one in parts for path in load_part(self._home, one).column("path").to_pylist()}

    def _left(self, part: Part, gone: Places) -> FileRows:
        """The files of a part without those of some paths."""
        columns = load_part(self._home, part)
        if not len(gone):
            return FileRows(columns)
        paths = columns.column("path")
        is_gone = pyarrow.compute.is_in(paths, value_set=pyarrow.array(gone, paths.type))
        return FileRows(columns, numpy.flatnonzero(~is_gone.to_numpy(zero_copy_only=False)))

    @cached_property
    def _order(self) -> Places:
        """The places of the committed files, those of each part after those of the last and the loose ones at the end,
        by the ids of their rows, and by path where these are the same."""
        loose = numpy.array([one.first_row_id for one in self._loose], numpy.int64)
        ids = numpy.concatenate([*map(_first_row_ids, self._stored), loose])
        order: Places = numpy.argsort(ids, kind="stable")
        ordered = ids[order]
        return self._by_path_too(ids) if (ordered[1:] == ordered[:-1]).any() else order

    def _by_path_too(self, ids: Places) -> Places:
        loose = pyarrow.array([one.path for one in self._loose], pyarrow.string())
        paths = pyarrow.chunked_array([*(one.column("path") for one in self._stored), loose])
        keys = pyarrow.table({"id": ids, "path": paths})
        order: Places = pyarrow.compute.sort_indices(keys, [("id", "ascending"), ("path", "ascending")]).to_numpy()
        return order.astype(numpy.int64)

    def _ordered(self) -> Iterator[DataFileRef]:
        start, window = 0, FIRST_WINDOW
        while start < len(self._order):
            yield from self._files(self._order[start : start + window])
            start, window = start + window, min(2 * window, LAST_WINDOW)

    def _files(self, places: Places) -> list[DataFileRef]:
        """The committed files in these places."""
        found: dict[int, DataFileRef] = {}
        start = 0
        for stored in self._stored:
            here = places[(places >= start) & (places < start + len(stored))]
            if len(here):
                files = stored.at(here - start).files()
                found |= {place: one.file for place, one in zip(here.tolist(), files, strict=True)}
            start += len(stored)
        return [found[one] if one in found else self._loose[one - start] for one in places.tolist()]


def _by_row_id(files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
    """Files in their order, which is mostly that of the deltas: so a look is taken first, in half the time."""
    ids = [one.first_row_id for one in files]
    return files if all(map(lt, ids, ids[1:])) else sorted(files, key=attrgetter("first_row_id", "path"))


def _row_ids(files: Iterable[DataFileRef]) -> Places:
    """The first of each file's rows' ids, -1 if they have none."""
    return numpy.array([one.first_row_id if one.HasField("first_row_id") else -1 for one in files], numpy.int64)


def _may_be_in(part: Part, row_ids: Places) -> Places:
    """Which files can be in a part, by the ids of their rows: to look at its paths costs more."""
    found: Places = (row_ids == -1) | ((row_ids >= part.first_row_id) & (row_ids <= part.last_row_id))
    return found


def _first_row_ids(stored: FileRows) -> Places:
    found: Places = stored.column("first_row_id").fill_null(0).to_numpy()
    return found


def _live_rows(files: Files, stored: FileRows) -> int:
    rows, deleted = (pyarrow.compute.sum(stored.column(one)).as_py() or 0 for one in ("num_rows", "deleted_rows"))
    uncounted = (read_vector(files, one) for one in _uncounted(stored))
    return int(rows - deleted) - sum(len(one) for one in uncounted if one is not None)


def _uncounted(stored: FileRows) -> list[DataFileRef]:
    """The files that have a vector of deletes, but no number of its positions."""
    places = [name for name in ("dv_path", "dv_offset", "dv_length") if stored.columns.has(name)]
    if not places:
        return []
    has_vector = numpy.any([_is_set(stored, name) for name in places], axis=0)
    found = numpy.flatnonzero(has_vector & ~_is_set(stored, "deleted_rows"))
    return [one.file for one in stored.at(found).files()] if len(found) else []


def _is_set(stored: FileRows, name: str) -> Places:
    found: Places = stored.column(name).is_valid().to_numpy(zero_copy_only=False)
    return found
