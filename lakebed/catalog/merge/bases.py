"""What both sides of a merge follow from, where merges crossed.

Two lines that merged older states of each other, or of a third line, follow from several commits of which none leads to
another. The newest of them is the base of all objects. The rows of a table are merged from all of them first, place by
place, as git's recursive strategy does with files: what one of them deleted is not seen as brought back by the side to
which it came another way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.logs import Logs
from lakebed.catalog.merge.merge_base import Divergence, Head, common_commits, divergence, merges_of_base
from lakebed.catalog.merge.rows import Past, every, live_rows
from lakebed.catalog.merge.sides import MergeSide
from lakebed.catalog.merge.states import read_states
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Commit
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.compactions import Group, Uncompacted, uncompacted
from lakebed.table.merge.sides import Side, SideDelta, common_base, state


@dataclass(frozen=True, slots=True)
class Bases:
    """The newest common ancestors of two heads."""

    context: Context
    apart: Divergence
    logs: Logs | None = None
    _known: dict[str, Past | None] = field(default_factory=dict)

    @property
    def common(self) -> frozenset[tuple[str, Version]]:
        """The commits that both sides have and the newest does not lead to: none unless merges have crossed."""
        return common_commits(self.apart)

    def past(self, object_id: str) -> Past | None:
        """The rows that a table has at all of them; None if merges have not crossed, or none of them has the table."""
        if not self.common:
            return None
        if object_id not in self._known:
            self._known[object_id] = self._past(self.apart, object_id)
        return self._known[object_id]

    def _past(self, apart: Divergence, object_id: str) -> Past | None:
        table, past = self._at(apart.base, object_id)
        for head in self._others(apart):
            other, there = self._at(head, object_id)
            if other is None or there is None:
                continue
            if table is None or past is None:
                table, past = other, there
                continue
            between = self._between(apart.base, head)
            before = self._past(between, object_id) or Past({})
            one = Side(past.files, self._deltas(apart.base, between.ours, between, table))
            two = Side(there.files, self._deltas(head, between.theirs, between, other))
            past = self._of_both(before, past, one, two)
        return past

    def _of_both(self, before: Past, past: Past, one: Side, two: Side) -> Past:
        """The rows of two states, place by place: what one of them removed or added is removed or added."""
        common = common_base(before.files, one, two)
        mine, other = uncompacted(one, common), uncompacted(two, common)
        merged, older = _Merged(self.context), list(past.older)
        for path in dict.fromkeys((*common, *mine.files, *other.files)):
            files = [side.get(path) for side in (common, mine.files, other.files)]
            if len({state(file) for file in files}) == 1 and path not in {*before.left_out, *past.left_out}:
                merged.put(files[1], single=past.single.get(path))
                continue
            states = zip((before, past, Past({})), files, strict=True)
            base, ours, theirs = (rows_of.live(self.context.files, file) for rows_of, file in states)
            live = (ours & theirs) | ((ours | theirs) - base)
            single = live & ((live - (ours & theirs)) | past.single.get(path, BitMap64()))
            merged.put(files[1] or files[2], live, single)
            if files[0] is not None and (gone := base - ours - theirs):
                older.append(Piece(files[0], FrozenBitMap64(every(files[0]) - gone)))
        for side in (mine, other):
            merged.compact_again(side)
        return Past(merged.files, merged.left_out, tuple(older), merged.single)

    def _at(self, head: Head, object_id: str) -> tuple[TableState | None, Past | None]:
        work = Work(self.context, head.ref, head.version)
        found = read_states(work, [object_id]).get(object_id)
        if found is None or found.table is None:
            return None, None
        return found.table, Past(committed_files(work, found.table))

    def _deltas(
        self, head: Head, commits: tuple[Commit, ...], apart: Divergence, table: TableState
    ) -> Sequence[SideDelta]:
        work = Work(self.context, head.ref, head.version)
        side = MergeSide(work, commits, {}, merges_of_base(apart), common_commits(apart))
        return side.files(table).deltas

    def _others(self, apart: Divergence) -> Iterator[Head]:
        """The newest common ancestors that do not lead to the base, nor to each other."""
        common = common_commits(apart)
        left = {place: commit for commit in apart.ours if (place := (commit.line, commit.version)) in common}
        while left:
            newest = max(left.values(), key=lambda commit: commit.version)
            head = Head(open_line(self.context, apart.base.ref.catalog, newest.line), newest.version)
            yield head
            for commit in self._between(apart.base, head).theirs:
                left.pop((commit.line, commit.version), None)

    def _between(self, one: Head, other: Head) -> Divergence:
        return divergence(self.context, one, other, self.logs)


class _Merged:
    """The rows of two states, file by file."""

    def __init__(self, context: Context) -> None:
        self.files: dict[str, DataFileRef] = {}
        self.left_out: dict[str, BitMap64] = {}
        self.single: dict[str, BitMap64] = {}  # places that only one of the states has
        self._store = context.files

    def put(self, file: DataFileRef | None, live: BitMap64 | None = None, single: BitMap64 | None = None) -> None:
        """Add a file with all its rows, or with these, of which one state alone has the `single` ones."""
        if file is None or live == BitMap64():
            return
        self.files[file.path] = file
        if live is not None and live != live_rows(self._store, file):
            self.left_out[file.path] = every(file) - live
        if single:
            self.single[file.path] = single

    def compact_again(self, side: Uncompacted) -> None:
        """Do the compactions of a side again whose inputs are as they were."""
        for group in side.undone:
            if all(self._is_as_it_was(path, file) for path, file in group.inputs.items()):
                self._replace(group)

    def _is_as_it_was(self, path: str, file: DataFileRef | None) -> bool:
        return path not in self.left_out and state(self.files.get(path)) == state(file)

    def _replace(self, group: Group) -> None:
        had_single = [path for path in group.inputs if self.single.pop(path, None)]
        for path in group.inputs:
            del self.files[path]
        for file in group.outputs.values():
            self.put(file, single=every(file) if had_single and file is not None else None)
