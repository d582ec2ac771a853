"""Compaction: rows that lie in many files, inline, in old partitions or among deleted ones, written again as few files.

No row changes: each keeps its id and the sequence number of its last change, as columns of the new files. Which files
are taken, and what the commit says of them, is decided here; an engine writes the rows.
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
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite
from lakebed.table.merge.sides import state as file_state
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.schema.metadata_columns import LAST_UPDATED, ROW_ID
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Extent:
    """How many files there are, what they take, and how many rows of theirs are deleted."""

    files: int
    bytes: int
    deleted_rows: int = 0

    @classmethod
    def of(cls, files: Files, entries: Sequence[DataFileRef]) -> "Extent":
        """That of these files. A vector is read only where the entry has not counted it."""
        deleted = sum(one.num_rows - live_rows(files, one) for one in entries)
        return cls(len(entries), sum(one.file_size for one in entries), deleted)

    def __str__(self) -> str:
        told = [_counted(self.files, "file"), _counted(self.bytes, "byte")]
        return ", ".join([*told, *([_counted(self.deleted_rows, "deleted row")] if self.deleted_rows else [])])


def report(before: Extent, after: Extent, left: int = 0) -> str:
    """`5 files, 4,160 bytes, 3 deleted rows -> 1 file, 1,230 bytes`; `left` are groups that others kept changing."""
    told = f"{before} -> {after}"
    return f"{told}; left alone: {_counted(left, 'group')} that others changed meanwhile" if left else told


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


PATIENCE: Final = 3
"""So often groups are written that others change meanwhile; then they are left, and the others of them committed."""

_ASKED: Final = 1  # the id of an order that is asked for: any but that of no order

Where = Callable[[Schema], Filter | None]
"""Which rows' files are compacted, as the table's schema of the moment has it."""

Made = list[DataFileRef]

Done = Callable[[Sequence[tuple[Group, Made]]], None]
"""Takes over groups that are written, each with its new files: all of them, also if it raises an error."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of a table are laid out: in which files, and in which order.

    `keys` is the order of the table's keys if it has levels. `sorts` is an order over all files of a group, if that is
    asked for; `order` is the one inside each file.
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
    """What an engine does of a compaction."""

    @abstractmethod
    def write(self, groups: Sequence[Group], done: Done) -> None:
        """Write the rows of each group that are not deleted, exactly these, to new files, and hand them over.

        An engine that can writes several groups at a time, and hands over, from any thread, those that it has written
        together. After an error none is under way, and of what was not handed over nothing is left behind.
        """


MakeWriter = Callable[[Target, Form], Writer]
"""How an engine writes the rows of groups."""


class Compaction:
    """One compaction, which is made again if files that it takes are changed before its commit.

    Groups of files that are as they were are not written again for that.
    """

    def __init__(
        self,
        writer: MakeWriter,
        where: Where,
        target_bytes: int | None = None,
        *,
        most_bytes: int | None = None,
        sort_by: Sequence[str] | None = None,
    ) -> None:
        self._writer = writer
        self._where = where
        self._target = _checked("target_bytes", target_bytes)
        self._most = _checked("most_bytes", most_bytes)
        self._sort_by = sort_by
        self._done: dict[object, tuple[Group, Made]] = {}
        self._last: RowChange | None = None
        self._attempts = 0

    def make(self, work: Work, state: TableState) -> RowChange | None:
        """Write the rows of the files that are worth it; None if there are none. After an error nothing is left."""
        self._attempts += 1
        try:
            self._last = self._made(work, state)
        except BaseException:
            self.discard(work.context.files)
            raise
        return self._last

    def discard(self, files: Files) -> None:
        """Take away all that was written. What can't be deleted now is left for garbage collection."""
        self._last = None
        self.discard_unused(files)
        self._done.clear()

    def discard_unused(self, files: Files) -> None:
        """The same, but for what the last change has."""
        used = set() if self._last is None else {one.path for one in self._last.written.files}
        files.delete_many(path for _, one in list(self._done.values()) for path in file_paths(one) if path not in used)

    def _made(self, work: Work, state: TableState) -> RowChange | None:
        form = self._form(work, state)
        choice = _Choice(work, form, self._where(state.schema))
        kept = choice.still_good([done for key, done in self._done.items() if key == self._key(form, done[0])])
        chosen = choice.chosen(kept)
        left = len(chosen) if kept and self._attempts > PATIENCE else 0
        groups = self._within([*(one for one, _ in kept), *(() if left else chosen)], form.options.file_bytes)
        if not groups:
            return None
        self._write(work, form, groups)
        return _change(work, groups, [self._copies(form, one) for one in groups], left)

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
        """Those of the groups that gain most, up to the bytes that are allowed, and one at least."""
        ordered = most_gain_first(groups, target)
        if self._most is None:
            return ordered
        size, taken = 0, list[Group]()
        for one in ordered:
            size += one.size
            if taken and size > self._most:
                break
            taken.append(one)
        return taken

    def _write(self, work: Work, form: Form, groups: Sequence[Group]) -> None:
        """Write those of the groups that are not yet."""

        def done(made: Sequence[tuple[Group, Made]]) -> None:
            self._done.update((self._key(form, group), (group, files)) for group, files in made)
            for group, files in made:
                check_same_rows(work.context.files, group.files, files)

        missing = [one for one in groups if self._key(form, one) not in self._done]
        if missing:
            self._writer(target_of(work, form.state), form).write(missing, done)

    def _copies(self, form: Form, group: Group) -> Made:
        """What was written for a group, for a commit that completes it, and may have to do it again."""
        return [_copied(one) for one in self._done[self._key(form, group)][1]]

    def _key(self, form: Form, group: Group) -> object:
        """What is the same as long as the group would be written as it was."""
        state, files = form.state, frozenset((one.path, file_state(one)) for one in group.files)
        return state.schema.id, state.spec.id, state.sort_order.id, files


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which files of a table are taken, and which of them go together."""

    work: Work
    form: Form
    filter: Filter | None

    def chosen(self, kept: Sequence[tuple[Group, Made]]) -> list[Group]:
        """Groups of files, but for those that are in groups that are kept."""
        state, target = self.form.state, self.form.options.file_bytes
        gone = {one.path for group, _ in kept for one in group.files}
        files = [one for one in _committed(self.work, state, None) if one.path not in gone]
        asked = files if self.filter is None else _committed(self.work, state, self.filter)
        paths = frozenset(one.path for one in asked)
        wanted = files if self.form.keys is not None else [one for one in files if one.path in paths]
        placed = [self._placed(one) for one in places(self.work, state, wanted)]
        if self.form.keys is not None:
            own = (*_own(self.work, state), *(file for _, made in kept for file in made))
            return choose_by_key(placed, paths, target, [one for one in self._places(own) if one.level > 0])
        if self.form.sorts is not None:
            return choose_by_order(placed, self.form.sorts, state.schema, target)
        return choose_by_size(placed, target)

    def still_good(self, done: Sequence[tuple[Group, Made]]) -> list[tuple[Group, Made]]:
        """Those of the groups that were written whose files are as they were, and whose keys no other file has now."""
        live = {one.path: file_state(one) for one in _committed(self.work, self.form.state, None)} if done else {}
        kept = list[tuple[Group, Made]]()
        for group, made in reversed(done):
            if all(one.path in live and live[one.path] == file_state(one) for one in group.files):
                kept.append((group, made))
                for one in group.files:
                    del live[one.path]
        return kept if self.form.keys is None else self._apart(kept)

    def _apart(self, kept: list[tuple[Group, Made]]) -> list[tuple[Group, Made]]:
        files = [one for one in _committed(self.work, self.form.state, None) if one.level > 0] if kept else []
        own = _own(self.work, self.form.state)
        while kept:
            gone = {one.path for group, _ in kept for one in group.files}
            others = self._places([one for one in (*files, *own) if one.path not in gone])
            clashing = {
                one.file.path for one, _ in clashes(self._places(one for _, made in kept for one in made), others)
            }
            if not clashing:
                break
            kept = [one for one in kept if clashing.isdisjoint(file.path for file in one[1])]
        return kept

    def _places(self, files: Iterable[DataFileRef]) -> list[Placed]:
        return places(self.work, self.form.state, files)

    def _placed(self, one: Placed) -> Placed:
        return replace(one, partition=OLDER_SPEC) if one.file.spec_id != self.form.state.spec.id else one


def _change(work: Work, groups: Sequence[Group], outputs: Sequence[Made], left: int) -> RowChange:
    removed = [file for one in groups for file in one.files]
    written = [file for one in outputs for file in one]
    return RowChange(
        removed=removed,
        written=Written(written),
        rewrites=[
            Rewrite(inputs=_paths(group.files), outputs=_paths(made))
            for group, made in zip(groups, outputs, strict=True)
        ],
        detail=report(Extent.of(work.context.files, removed), Extent.of(work.context.files, written), left),
    )


def _checked_keys(state: TableState, keys: SortOrder, order: SortOrder, asked: Sequence[str]) -> SortOrder:
    """The order of the keys, if it is the one that is asked for."""
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
    """The files that may have rows that pass, but for those that the work itself added or changed.

    Their rows have no ids yet, or were deleted by nobody but the work.
    """
    own = {one.path for one in _own(work, state)}
    return [one.file for one in plan_unread(work, state, filter).files if one.file.path not in own]


def _own(work: Work, state: TableState) -> tuple[DataFileRef, ...]:
    pending = work.deltas.get(state.id)
    return () if pending is None else (*pending.added, *pending.changed)


def _with_target(options: WriteOptions, target: int | None) -> WriteOptions:
    """Files of about the target's size, which takes row groups that are smaller."""
    file_bytes = options.file_bytes if target is None else target
    return replace(options, file_bytes=file_bytes, group_bytes=max(1, min(options.group_bytes, file_bytes // 2)))


def _checked(name: str, size: int | None) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size > 0):
        return size
    raise Invalid("this is no size of files", subject=name, expected="1 or more", found=repr(size))


def _copied(file: DataFileRef) -> DataFileRef:
    copy = DataFileRef()
    copy.CopyFrom(file)
    return copy


def _paths(files: Sequence[DataFileRef]) -> list[str]:
    return [one.path for one in files]
