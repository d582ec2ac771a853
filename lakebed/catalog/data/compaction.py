"""Compaction: rows in many small files, inline, in old partitions or among deleted rows, rewritten as few files.

No row changes: each keeps its id and the sequence number of its last change, as columns of the new files. Which files
are taken, and what the log reports of them, is decided here; an engine writes the rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakebed.catalog.data.deletion_vectors import check_same_rows, live_rows
from lakebed.catalog.data.levels import places
from lakebed.catalog.data.planning import plan_unread
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import Target, target_of, with_columns
from lakebed.catalog.tables.properties import WriteOptions, table_properties, write_options
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.filter.filter import Filter
from lakebed.table.keys.compaction import (
    OLDER_SPEC,
    Group,
    choose_by_key,
    choose_by_order,
    choose_by_size,
    most_gain_first,
)
from lakebed.table.keys.levels import Placed, clashes
from lakebed.table.keys.ranges import key_order
from lakebed.table.manifest.delta import replaced
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.merge.sides import state as file_state
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.schema.metadata_columns import LAST_UPDATED, ROW_ID
from lakebed.table.schema.schema import Schema

PATIENCE: Final = 3
"""How often groups are written that concurrent commits change; after that they are left, and the rest is committed."""

_ASKED: Final = 1  # the id of an order that a caller asks for: any but that of no order

FilterOf = Callable[[Schema], Filter | None]
"""Which rows' files are compacted, bound to the table's current schema."""

NewFiles = list[DataFileRef]

Done = Callable[[Sequence[tuple[Group, NewFiles]]], None]
"""Takes over written groups, each with its new files: all of them, even if it raises an error."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of a table are laid out: in which files, and in which order.

    `keys` is the order of the table's keys if it has levels. `sorts` is the order over all files of a group, if a
    caller asks for one; `order` is the order inside each file.
    """

    state: TableState
    options: WriteOptions
    keys: SortOrder | None = None
    sorts: SortOrder | None = None

    @property
    def order(self) -> SortOrder:
        return self.state.sort_order if self.sorts is None else self.sorts

    @property
    def written(self) -> TableState:
        """The table with the columns that the new files have: its own, and those of lineage."""
        return with_columns(self.state, ROW_ID, LAST_UPDATED)


class Writer(ABC):
    """An engine's part of a compaction."""

    @abstractmethod
    def write(self, groups: Sequence[Group], done: Done) -> None:
        """Write exactly the rows of each group that are not deleted to new files, and hand these to `done`.

        An engine may write several groups at a time, and call `done` from any thread with the groups that it wrote
        together. After an error no write is running, and files that were not handed over are deleted.
        """


MakeWriter = Callable[[Target, Form], Writer]
"""Makes an engine's writer for a table."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How many files there are, their bytes, and how many of their rows are deleted."""

    files: int
    bytes: int
    deleted_rows: int = 0

    @classmethod
    def of(cls, files: Files, entries: Sequence[DataFileRef]) -> "Extent":
        """The extent of these files. A vector is read only where the entry has no count of it."""
        deleted = sum(entry.num_rows - live_rows(files, entry) for entry in entries)
        return cls(len(entries), sum(entry.file_size for entry in entries), deleted)

    def __str__(self) -> str:
        counts = [_counted(self.files, "file"), _counted(self.bytes, "byte")]
        return ", ".join([*counts, *([_counted(self.deleted_rows, "deleted row")] if self.deleted_rows else [])])


class Compaction:
    """One compaction, which is made again if files that it takes are changed before its commit.

    Groups whose files are unchanged are not written again.
    """

    def __init__(
        self,
        writer: MakeWriter,
        where: FilterOf,
        target_bytes: int | None = None,
        *,
        most_bytes: int | None = None,
        sort_by: Sequence[str] | None = None,
    ) -> None:
        self._writer = writer
        self._where = where
        self._target = _checked_size("target_bytes", target_bytes)
        self._most = _checked_size("most_bytes", most_bytes)
        self._sort_by = sort_by
        self._done: dict[object, tuple[Group, NewFiles]] = {}
        self._last: RowChange | None = None
        self._attempts = 0

    def make(self, work: Work, state: TableState) -> RowChange | None:
        """Rewrite the files that are worth it; None if there are none. After an error no new file is left behind."""
        self._attempts += 1
        try:
            self._last = self._attempt(work, state)
        except BaseException:
            self.discard(work.context.files)
            raise
        return self._last

    def discard(self, files: Files) -> None:
        """Delete everything that was written. What can't be deleted now is left for garbage collection."""
        self._last = None
        self.discard_unused(files)
        self._done.clear()

    def discard_unused(self, files: Files) -> None:
        """Delete what was written, except for the files of the last change."""
        used = set() if self._last is None else {file.path for file in self._last.written.files}
        files.delete_many(path for _, new in list(self._done.values()) for path in file_paths(new) if path not in used)

    def _attempt(self, work: Work, state: TableState) -> RowChange | None:
        form = self._form(work, state)
        choice = _Choice(work, form, self._where(state.schema))
        reused = choice.still_good([done for key, done in self._done.items() if key == self._key(form, done[0])])
        chosen = choice.chosen(reused)
        left = len(chosen) if reused and self._attempts > PATIENCE else 0
        groups = self._within([*(group for group, _ in reused), *(() if left else chosen)], form.options.file_bytes)
        if not groups:
            return None
        self._write(work, form, groups)
        return _change(work, groups, [self._copies(form, group) for group in groups], left)

    def _form(self, work: Work, state: TableState) -> Form:
        options = _with_target(write_options(table_properties(work, state.id), state.schema), self._target)
        keys = key_order(state.schema, state.sort_order)
        if self._sort_by is None:
            return Form(state, options, keys)
        order = make_sort_order(state.schema, self._sort_by, order_id=_ASKED) if self._sort_by else state.sort_order
        if keys is not None:
            return Form(state, options, _checked_keys(state, keys, order, self._sort_by))
        if order == UNSORTED:
            raise Invalid(
                "the table has no sort order",
                subject="compact",
                advice="Name columns, as sort_by=[…], or give the table an order: evolve().sort_by([…]).",
            )
        return Form(state, options, keys, order)

    def _within(self, groups: Sequence[Group], target: int) -> list[Group]:
        """The groups that gain most, up to the allowed bytes, but at least one."""
        ordered = most_gain_first(groups, target)
        if self._most is None:
            return ordered
        size, taken = 0, list[Group]()
        for group in ordered:
            size += group.size
            if taken and size > self._most:
                break
            taken.append(group)
        return taken

    def _write(self, work: Work, form: Form, groups: Sequence[Group]) -> None:
        """Write the groups that are not written yet."""

        def done(written: Sequence[tuple[Group, NewFiles]]) -> None:
            self._done.update((self._key(form, group), (group, files)) for group, files in written)
            for group, files in written:
                check_same_rows(work.context.files, group.files, files)

        missing = [group for group in groups if self._key(form, group) not in self._done]
        if missing:
            self._writer(target_of(work, form.state), form).write(missing, done)

    def _copies(self, form: Form, group: Group) -> NewFiles:
        """Copies of a group's new entries: a commit completes them, and the next attempt needs them as they were."""
        return [replaced(file) for file in self._done[self._key(form, group)][1]]

    def _key(self, form: Form, group: Group) -> object:
        """A value that stays the same as long as the group would be written in the same way."""
        state, files = form.state, frozenset((file.path, file_state(file)) for file in group.files)
        return state.schema.id, state.spec.id, state.sort_order.id, files


def report(before: Extent, after: Extent, left: int = 0) -> str:
    """`5 files, 4,160 bytes, 3 deleted rows -> 1 file, 1,230 bytes`; `left` groups kept being changed by others."""
    text = f"{before} -> {after}"
    return f"{text}; left alone: {_counted(left, 'group')} that others changed meanwhile" if left else text


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which files of a table are taken, and which of them go together."""

    work: Work
    form: Form
    filter: Filter | None

    def chosen(self, reused: Sequence[tuple[Group, NewFiles]]) -> list[Group]:
        """Groups of files, without the files of the groups that are reused."""
        state, target = self.form.state, self.form.options.file_bytes
        taken = _group_paths(reused)
        files = [file for file in _committed(self.work, state, None) if file.path not in taken]
        asked = files if self.filter is None else _committed(self.work, state, self.filter)
        paths = frozenset(file.path for file in asked)
        wanted = files if self.form.keys is not None else [file for file in files if file.path in paths]
        placed = [self._with_spec(place) for place in places(self.work, state, wanted)]
        if self.form.keys is not None:
            own = (*_own(self.work, state), *(file for _, new in reused for file in new))
            return choose_by_key(placed, paths, target, [place for place in self._places(own) if place.level > 0])
        if self.form.sorts is not None:
            return choose_by_order(placed, self.form.sorts, state.schema, target)
        return choose_by_size(placed, target)

    def still_good(self, done: Sequence[tuple[Group, NewFiles]]) -> list[tuple[Group, NewFiles]]:
        """The written groups whose files are unchanged, and whose keys no other file has now."""
        live = {file.path: file_state(file) for file in _committed(self.work, self.form.state, None)} if done else {}
        good = list[tuple[Group, NewFiles]]()
        for group, new in reversed(done):
            if all(file.path in live and live[file.path] == file_state(file) for file in group.files):
                good.append((group, new))
                for file in group.files:
                    del live[file.path]
        return good if self.form.keys is None else self._without_clashes(good)

    def _without_clashes(self, good: list[tuple[Group, NewFiles]]) -> list[tuple[Group, NewFiles]]:
        files = [file for file in _committed(self.work, self.form.state, None) if file.level > 0] if good else []
        own = _own(self.work, self.form.state)
        while good:
            taken = _group_paths(good)
            others = self._places([file for file in (*files, *own) if file.path not in taken])
            new_places = self._places(file for _, new in good for file in new)
            clashing = {place.file.path for place, _ in clashes(new_places, others)}
            if not clashing:
                break
            good = [(group, new) for group, new in good if clashing.isdisjoint(file.path for file in new)]
        return good

    def _places(self, files: Iterable[DataFileRef]) -> list[Placed]:
        return places(self.work, self.form.state, files)

    def _with_spec(self, place: Placed) -> Placed:
        return replace(place, partition=OLDER_SPEC) if place.file.spec_id != self.form.state.spec.id else place


def _change(work: Work, groups: Sequence[Group], outputs: Sequence[NewFiles], left: int) -> RowChange:
    removed = [file for group in groups for file in group.files]
    written = [file for new in outputs for file in new]
    return RowChange(
        removed=removed,
        written=Written(written),
        rewrites=[
            Rewrite(inputs=_paths(group.files), outputs=_paths(new)) for group, new in zip(groups, outputs, strict=True)
        ],
        detail=report(Extent.of(work.context.files, removed), Extent.of(work.context.files, written), left),
    )


def _checked_keys(state: TableState, keys: SortOrder, order: SortOrder, asked: Sequence[str]) -> SortOrder:
    """The order of the keys; `Invalid` unless it is the order that the caller asks for."""
    if order.fields and order.fields[: len(keys.fields)] != keys.fields[: len(order.fields)]:
        raise Invalid(
            "a table with levels is sorted by its primary key",
            subject="sort_by",
            expected=", ".join(state.schema.key),
            found=", ".join(asked),
            advice="Give the table a sort order that does not begin with its key: it has no levels then.",
        )
    return keys


def _committed(work: Work, state: TableState, filter: Filter | None) -> list[DataFileRef]:
    """The files that may have rows that pass, except for those that the work itself added or changed.

    Their rows have no ids yet, or their deletions are not committed.
    """
    own = {file.path for file in _own(work, state)}
    return [planned.file for planned in plan_unread(work, state, filter).files if planned.file.path not in own]


def _own(work: Work, state: TableState) -> tuple[DataFileRef, ...]:
    pending = work.deltas.get(state.partition)
    return () if pending is None else (*pending.added, *pending.changed)


def _with_target(options: WriteOptions, target: int | None) -> WriteOptions:
    """Options for files of about the target's size; row groups must be smaller than that."""
    file_bytes = options.file_bytes if target is None else target
    return replace(options, file_bytes=file_bytes, group_bytes=max(1, min(options.group_bytes, file_bytes // 2)))


def _checked_size(name: str, size: int | None) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size > 0):
        return size
    raise Invalid("this is not a size of files", subject=name, expected="1 or more", found=repr(size))


def _group_paths(groups: Iterable[tuple[Group, NewFiles]]) -> set[str]:
    return {file.path for group, _ in groups for file in group.files}


def _paths(files: Sequence[DataFileRef]) -> list[str]:
    return [file.path for file in files]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
