"""All live files of a table, for whoever asks without a filter: counted by columns, and objects only when asked for."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter, lt
from typing import Any, Final, overload

import numpy
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from lakebed.catalog.data.checkpoints import load_part
from lakebed.catalog.data.deletion_vectors import live_rows, read_vector
from lakebed.catalog.data.table_files import TableFiles
from lakebed.catalog.transaction.context import Home
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.errors import Corrupt
from lakebed.files import Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Part
from lakebed.table.plan.file_rows import FileRows
from lakebed.table.plan.plan import PlannedFile

FIRST_WINDOW: Final = 64
LAST_WINDOW: Final = 8192
"""So many files of a checkpoint become objects at once: few at first, for those who want but a few rows."""

Places = NDArray[Any]


class EveryFile(Sequence[PlannedFile]):
    """A table's live files as they are when this is made, in the order of their rows' ids, a work's own ones last.

    `committed` are those of the work's base, of which `altered` are gone or among the work's `own`, by path. To make it
    and to ask how many there are costs no look at them.
    """

    def __init__(self, home: Home, committed: TableFiles, pending: Delta | None = None) -> None:
        self.committed = committed
        self.own = () if pending is None else (*pending.changed, *pending.added)
        self.altered = {} if pending is None else {one.path: one for one in (*pending.removed, *pending.changed)}
        self._home = home
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
