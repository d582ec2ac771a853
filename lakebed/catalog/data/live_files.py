"""A table's live files: a checkpoint and the deltas since.

`TableFiles` are the committed files, folded once and remembered for each line; `LiveFiles` is the lazy sequence of them
that a plan has, with the files that a work itself adds or changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, lt
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, overload

from lakebed.caches import remembered
from lakebed.catalog.data.checkpoints import Checkpoint, find_checkpoint, find_checkpoints, load_part
from lakebed.catalog.data.deletion_vectors import live_rows, read_vector
from lakebed.catalog.data.deltas import histories, history, record_of, whole_manifest
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import numpy, pyarrow
from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.metastore import State
from lakebed.store import Version
from lakebed.table.entries.parts import files_in
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Part
from lakebed.table.manifest.snapshot import EMPTY, LiveFile, Overlay, over
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.plan.vectorized import FileRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOK_AGAIN: Final = 64
"""Deltas on top of the remembered files after which a newer checkpoint is looked for."""

ENTRY_BYTES: Final = 100
"""The least that a file's entry takes, column by column."""

FIRST_WINDOW: Final = 64
LAST_WINDOW: Final = 8192
"""How many files of a checkpoint become objects at once: few at first, for readers who want only a few rows."""

Places: TypeAlias = "NDArray[Any]"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The committed files of a table: a checkpoint, if there is one, and what deltas changed since.

    `newest` is the last delta after the checkpoint, None if there is none; `metadata_bytes` is the size of all
    manifests since the checkpoint.
    """

    checkpoint: Checkpoint | None
    overlay: Overlay
    newest: State | None = None
    metadata_bytes: int = 0

    @property
    def version(self) -> Version | None:
        """The version of the last delta, None before the first."""
        if self.newest is not None:
            return self.newest.version
        return None if self.checkpoint is None else self.checkpoint.version

    def count(self) -> int:
        """How many files are live."""
        stored = 0 if self.checkpoint is None else sum(part.files for part in self.checkpoint.parts)
        return stored + len(self.overlay.added) - len(self.overlay.removed)

    def among(self, context: Context, wanted: Mapping[str, DataFileRef]) -> dict[str, LiveFile]:
        """The wanted files that are live, by path."""
        overlay = self.overlay
        added = {path: overlay.added[path] for path in wanted if path in overlay.added}
        asked = {path: file for path, file in wanted.items() if path not in added and path not in overlay.removed}
        if self.checkpoint is None or not asked:
            return added
        stored = files_in(self.checkpoint.parts, asked, lambda part: load_part(context, part))
        return added | {path: replace(live, file=overlay.changed.get(path, live.file)) for path, live in stored.items()}

    def all(self, context: Context) -> dict[str, LiveFile]:
        """Every live file by path."""
        return self.overlay.on(() if self.checkpoint is None else self.checkpoint.files(context))


class LiveFiles(Sequence[PlannedFile]):
    """The files that were live when this was made, in the order of their rows' ids, then the work's own files.

    `committed` are the files at the work's base. `altered` are those of them that the work removes or changes, by path;
    `own` are the files that it changes or adds. Making it and asking for its length cost no look at the files.
    """

    def __init__(self, context: Context, committed: TableFiles, pending: Delta | None = None) -> None:
        self.committed = committed
        self.own = () if pending is None else (*pending.changed, *pending.added)
        self.altered = {} if pending is None else {file.path: file for file in (*pending.removed, *pending.changed)}
        self._context = context
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

    def live_rows(self) -> int:
        """How many of their rows are not deleted; a vector is read only where the entry has no count of it."""
        files = self._context.files
        stored = sum(_live_rows(files, part) for part in self._stored)
        return stored + sum(live_rows(files, file) for file in (*self._loose, *self.own))

    def _at(self, places: Sequence[int]) -> tuple[PlannedFile, ...]:
        border = len(self._order)
        committed = iter(self._files(self._order[[place for place in places if place < border]]))
        return tuple(PlannedFile(next(committed) if place < border else self.own[place - border]) for place in places)

    @remembered
    def _loose(self) -> list[DataFileRef]:
        """The committed files that deltas since the checkpoint added or changed."""
        overlay = self.committed.overlay
        files = (*overlay.changed.values(), *(live.file for live in overlay.added.values()))
        return [file for file in files if file.path not in self.altered] if self.altered else list(files)

    @remembered
    def _stored(self) -> list[FileRows]:
        """The files that are as the checkpoint has them, by its parts; `Corrupt` if a delta changes a missing file."""
        if self.committed.checkpoint is None:
            return []
        overlay = self.committed.overlay
        altered = {path: file for path, file in self.altered.items() if path not in overlay.added}
        gone = {**overlay.removed, **overlay.changed, **altered}
        paths, row_ids = numpy.array(list(gone), object), _row_ids(gone.values())
        parts = self.committed.checkpoint.parts
        stored = [self._remaining(part, paths[_may_be_in(part, row_ids)]) for part in parts]
        missing = sum(part.files for part in parts) - sum(map(len, stored))
        if missing != len(gone):
            raise Corrupt(
                "a delta changes a file that is missing from its checkpoint",
                subject=min(gone.keys() - self._stored_paths(parts), default=f"table {overlay.table_id}"),
                expected=f"{len(gone)} files that are removed or changed",
                found=missing,
            )
        return stored

    def _stored_paths(self, parts: Iterable[Part]) -> set[str]:
        return {path for part in parts for path in load_part(self._context, part).column("path").to_pylist()}

    def _remaining(self, part: Part, gone: Places) -> FileRows:
        """The files of a part, except those with these paths."""
        columns = load_part(self._context, part)
        if not len(gone):
            return FileRows(columns)
        paths = columns.column("path")
        is_gone = pyarrow.compute.is_in(paths, value_set=pyarrow.array(gone, paths.type))
        return FileRows(columns, numpy.flatnonzero(~is_gone.to_numpy(zero_copy_only=False)))

    @remembered
    def _order(self) -> Places:
        """The places of the committed files, by their first row ids and then by path.

        Places count through the parts, one after the other, and then through the loose files.
        """
        loose = numpy.array([file.first_row_id for file in self._loose], numpy.int64)
        ids = numpy.concatenate([*map(_first_row_ids, self._stored), loose])
        order: Places = numpy.argsort(ids, kind="stable")
        ordered = ids[order]
        return self._order_by_path_too(ids) if (ordered[1:] == ordered[:-1]).any() else order

    def _order_by_path_too(self, ids: Places) -> Places:
        loose = pyarrow.array([file.path for file in self._loose], pyarrow.string())
        paths = pyarrow.chunked_array([*(part.column("path") for part in self._stored), loose])
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
        stored: dict[int, DataFileRef] = {}
        start = 0
        for part in self._stored:
            here = places[(places >= start) & (places < start + len(part))]
            if len(here):
                files = part.at(here - start).files()
                stored |= {place: live.file for place, live in zip(here.tolist(), files, strict=True)}
            start += len(part)
        return [stored[place] if place in stored else self._loose[place - start] for place in places.tolist()]


def live_files(work: Work, state: TableState) -> dict[str, DataFileRef]:
    """The table's files by path, with what the work itself does to them; does not count as a read."""
    committed = committed_files(work, state)
    pending = work.deltas.get(state.partition)
    return committed if pending is None else pending.live(committed)


def live_among(work: Work, state: TableState, wanted: Mapping[str, DataFileRef]) -> dict[str, DataFileRef]:
    """The live entries of the wanted files, by path; no other file of the table is looked at."""
    files, pending = table_files(work, state), work.deltas.get(state.partition)
    own = {} if pending is None else {file.path: file for file in (*pending.changed, *pending.added)}
    removed = set() if pending is None else {file.path for file in pending.removed}
    live = {path: own[path] for path in wanted if path in own}
    asked = {path: file for path, file in wanted.items() if path not in own and path not in removed}
    return live | {path: found.file for path, found in files.among(work.context, asked).items()}


def committed_files(work: Work, state: TableState) -> dict[str, DataFileRef]:
    """The table's committed files by path."""
    return {path: live.file for path, live in table_files(work, state).all(work.context).items()}


def table_files(work: Work, state: TableState) -> TableFiles:
    """The table's committed files at the work's base.

    The files last read on a line are remembered: reading them again costs the deltas since.
    """
    memory, place = work.context.memory, (work.ref.line.id, state.partition)
    known = cast("TableFiles | None", memory.get(place))
    if known is not None and known.version is not None and known.version <= work.base:
        files = _with_deltas(work.context, known, history(work, state.partition, known.version))
        if files.overlay.deltas < LOOK_AGAIN or not _is_behind(work, state, files):
            memory.put(place, files)
            return files
    files = files_since_checkpoint(work, state)
    if known is None or (files.version is not None and known.version is not None and known.version <= files.version):
        memory.put(place, files)
    return files


def files_of_tables(work: Work, states: Sequence[TableState]) -> list[TableFiles]:
    """The committed files of many tables: two round trips for all. What is remembered is used, but not replaced."""
    known = [cast("TableFiles | None", work.context.memory.get((work.ref.line.id, one.partition))) for one in states]
    starts = [files if _is_past(work, files) else None for files in known]
    unknown = [state.partition for state, start in zip(states, starts, strict=True) if start is None]
    newest = iter(find_checkpoints(work, unknown))
    begun = [_start(next(newest)) if start is None else start for start in starts]
    deltas = histories(work, [(state.partition, start.version) for state, start in zip(states, begun, strict=True)])
    return [_with_deltas(work.context, start, own) for start, own in zip(begun, deltas, strict=True)]


def _is_past(work: Work, files: TableFiles | None) -> bool:
    return files is not None and files.version is not None and files.version <= work.base


def _start(checkpoint: Checkpoint | None) -> TableFiles:
    return TableFiles(None, EMPTY) if checkpoint is None else TableFiles(checkpoint, checkpoint.overlay())


def files_since_checkpoint(work: Work, state: TableState) -> TableFiles:
    """The table's committed files, folded from the nearest checkpoint on; nothing remembered is used."""
    start = _start(find_checkpoint(work, state.partition))
    return _with_deltas(work.context, start, history(work, state.partition, start.version))


def _with_deltas(context: Context, before: TableFiles, newest_first: Sequence[State]) -> TableFiles:
    if not newest_first:
        return before
    overlay = over(before.overlay, (whole_manifest(context, delta) for delta in reversed(newest_first)))
    size = before.metadata_bytes + sum(_metadata_bytes(delta) for delta in newest_first)
    return TableFiles(before.checkpoint, overlay, newest_first[0], size)


def _metadata_bytes(delta: State) -> int:
    """About how many bytes a delta's manifest has; a large manifest keeps its entries in a file of their own."""
    record = record_of(delta)
    entries = sum(record.counts.get(f"{what}_files", 0) for what in ("added", "removed", "changed"))
    return max(record.manifest_length, ENTRY_BYTES * entries)


def _is_behind(work: Work, state: TableState, files: TableFiles) -> bool:
    """Whether there is a newer checkpoint than the one that the files are built on."""
    newest = work.reader.checkpoint(state.partition)
    if newest is None:
        return False
    return files.checkpoint is None or files.checkpoint.version < newest.version


def _by_row_id(files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
    """The files by the ids of their rows. Deltas mostly come in that order: checking first takes half the time."""
    ids = [file.first_row_id for file in files]
    return files if all(map(lt, ids, ids[1:])) else sorted(files, key=attrgetter("first_row_id", "path"))


def _row_ids(files: Iterable[DataFileRef]) -> Places:
    """The first row id of each file, -1 if its rows have no ids."""
    return numpy.array([file.first_row_id if file.HasField("first_row_id") else -1 for file in files], numpy.int64)


def _may_be_in(part: Part, row_ids: Places) -> Places:
    """Which files can be in a part, judged by their row ids: looking at its paths costs more."""
    may_be: Places = (row_ids == -1) | ((row_ids >= part.first_row_id) & (row_ids <= part.last_row_id))
    return may_be


def _first_row_ids(stored: FileRows) -> Places:
    ids: Places = stored.column("first_row_id").fill_null(0).to_numpy()
    return ids


def _live_rows(files: Files, stored: FileRows) -> int:
    rows, deleted = (pyarrow.compute.sum(stored.column(name)).as_py() or 0 for name in ("num_rows", "deleted_rows"))
    uncounted = (read_vector(files, file) for file in _uncounted(stored))
    return int(rows - deleted) - sum(len(vector) for vector in uncounted if vector is not None)


def _uncounted(stored: FileRows) -> list[DataFileRef]:
    """The files that have a deletion vector, but no count of its positions."""
    places = [name for name in ("dv_path", "dv_offset", "dv_length") if stored.columns.has(name)]
    if not places:
        return []
    has_vector = numpy.any([_is_set(stored, name) for name in places], axis=0)
    uncounted = numpy.flatnonzero(has_vector & ~_is_set(stored, "deleted_rows"))
    return [live.file for live in stored.at(uncounted).files()] if len(uncounted) else []


def _is_set(stored: FileRows, name: str) -> Places:
    is_set: Places = stored.column(name).is_valid().to_numpy(zero_copy_only=False)
    return is_set
