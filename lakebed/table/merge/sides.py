"""The two sides of a merge of files: their live files, their deltas since the base, and what they have in common."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, with_status

Files: TypeAlias = Mapping[str, pb.DataFileRef]
State: TypeAlias = tuple[str, int, int] | None  # None for an absent file

COMPACT: Final = "compact"
OVERWRITE: Final = "overwrite"


@dataclass(frozen=True, slots=True)
class SideDelta:
    """One delta of a side: its operation, its whole manifest, and when the side got it, as any ordered value.

    `is_at_base`: it merged what is at the base too.
    """

    operation: str
    manifest: pb.Manifest
    stamp: Any
    is_at_base: bool = False

    @property
    def overwrites(self) -> bool:
        """Whether it overwrote rows; a cherry-picked overwrite is known by its condition."""
        return self.operation == OVERWRITE or self.manifest.HasField("overwritten")

    def paths(self, *statuses: int) -> set[str]:
        return {file.path for file in self.manifest.data_files if file.status in statuses}

    def rewrites(self) -> Sequence[pb.Rewrite]:
        """Which outputs replace which inputs; a compaction without this information is one group."""
        if self.manifest.rewrites or self.operation != COMPACT:
            return self.manifest.rewrites
        return [pb.Rewrite(inputs=sorted(self.paths(DELETED)), outputs=sorted(self.paths(ADDED)))]

    def moves(self) -> tuple[set[str], set[str]]:
        """The files that it changed or removed, and those that it added, not counting compactions.

        If there are both, rows have moved from the former to the latter, as in an update.
        """
        inputs = {path for rewrite in self.rewrites() for path in rewrite.inputs}
        outputs = {path for rewrite in self.rewrites() for path in rewrite.outputs}
        return self.paths(EXISTING, DELETED) - inputs, self.paths(ADDED) - outputs


@dataclass(frozen=True, slots=True)
class Side:
    """The live files of one side, and its deltas since the base, oldest first, including merged ones."""

    files: Files
    deltas: Sequence[SideDelta] = ()


def state(file: pb.DataFileRef | None) -> State:
    """What a merge compares of a file: whether it exists, and its deletion vector."""
    return None if file is None else (file.dv_path, file.dv_offset, file.dv_length)


def has_fewer_deletes(file: pb.DataFileRef, before: pb.DataFileRef | None) -> bool:
    """Whether deleted rows of a live file were restored, as far as the counts of the deletion vectors show."""
    if before is None or not before.dv_path or state(file) == state(before):
        return False
    counted = file.HasField("deleted_rows") and before.HasField("deleted_rows")
    return not file.dv_path or (counted and file.deleted_rows <= before.deleted_rows)


def state_text(file: pb.DataFileRef | None) -> str:
    """A file's state as a conflict shows it."""
    if file is None:
        return "not there"
    if not file.dv_path:
        return "without deletes"
    return f"deletes of {file.dv_path} at {file.dv_offset}"


def common_base(base: Files, ours: Side, theirs: Side) -> dict[str, pb.DataFileRef]:
    """The base with what both sides got since, each in its own way: by cherry-pick, or by merges in both directions."""
    files = dict(base)
    both = (_got(ours) & _got(theirs)) - base.keys() - _given_up(ours) - _given_up(theirs)
    arrivals = [_arrivals(ours, both), _arrivals(theirs, both)]
    known = [{(file.path, state(file)) for _, file in _entries(side)} for side in (theirs, ours)]
    for path in both:
        found = [(one[path], others) for one, others in zip(arrivals, known, strict=True) if path in one]
        if found:
            files[path] = _given(path, found)
    restated = _common_vectors(ours, theirs, files, base)
    files.update(restated)
    undone = _removed_with(ours, restated) & _removed_with(theirs, restated)
    for path in _rewritten(ours, both) | _rewritten(theirs, both) | undone:
        files.pop(path, None)
    return files


@dataclass(frozen=True, slots=True)
class _Arrival:
    """When a side first got a file, its entry, and all files that came with it."""

    stamp: Any
    file: pb.DataFileRef
    with_it: frozenset[str]


def _given(path: str, arrivals: Sequence[tuple[_Arrival, Collection[tuple[str, State]]]]) -> pb.DataFileRef:
    """A file as one side gave it to the other: as the later side got it.

    If the other side never had it so, the later one's merge has deleted rows of it in the same commit, or it came from
    a third line. Then it is as in the arrival with fewer deleted rows, since what both have deleted is not a dispute;
    but if that merge wrote rows of its own instead, those that it deleted were never given as they are.
    """
    last, others = max(arrivals, key=lambda one: one[0].stamp)
    if (path, state(last.file)) in others:
        return last.file
    fewest, most = (choose(arrivals, key=_deletes) for choose in (min, max))
    wrote_its_own = not most[0].with_it <= {known for known, _ in most[1]}
    return (most if wrote_its_own else fewest)[0].file


def _deletes(arrival: tuple[_Arrival, Any]) -> tuple[bool, int]:
    file = arrival[0].file
    return bool(file.dv_path), file.deleted_rows


def got_again(ours: Side, theirs: Side) -> Side:
    """Ours as if it had never had what it got, lost and is to get again, so that reverted commits can be picked again.

    Files lost by compaction, or to files that now hold their rows, do not count as lost. Files of ours that theirs also
    brings count as added in their state there, so that what ours did to them since stays.
    """
    brought = {path for path in theirs.files if path not in ours.files}
    rewritten = {path for delta in ours.deltas for rewrite in delta.rewrites() for path in rewrite.inputs}
    forgotten = brought.difference(rewritten, *map(_written_elsewhere, ours.deltas))
    given = (
        set(theirs.files) if not theirs.deltas else set[str]().union(*(delta.paths(ADDED) for delta in theirs.deltas))
    )
    here = {
        path: with_status(theirs.files[path], ADDED) for path in given if path in ours.files and path in theirs.files
    }
    undone = set(_undone_vectors(ours, theirs))
    return Side(ours.files, [_rewritten_delta(delta, forgotten, undone, here) for delta in ours.deltas])


def _undone_vectors(ours: Side, theirs: Side) -> Iterator[tuple[str, State]]:
    """The vectors of theirs that ours had, and gave up again: what they delete was reverted."""
    had: dict[str, pb.DataFileRef] = {}
    for _, file in _entries(ours):
        if file.path in had and has_fewer_deletes(file, had[file.path]):
            yield file.path, state(had.pop(file.path))
        elif file.dv_path and state(file) == state(theirs.files.get(file.path)):
            had[file.path] = file


def _written_elsewhere(delta: SideDelta) -> set[str]:
    """The files that a delta removed while it added younger ones; a revert removes the younger ones instead."""
    newest = max((file.first_row_id for file in delta.manifest.data_files if file.status == ADDED), default=0)
    gone = (file for file in delta.manifest.data_files if file.status == DELETED and not delta.overwrites)
    return {file.path for file in gone if file.first_row_id < newest}


def _rewritten_delta(
    delta: SideDelta, forgotten: Collection[str], undone: Collection[tuple[str, State]], here: Files
) -> SideDelta:
    manifest = pb.Manifest()
    manifest.CopyFrom(delta.manifest)
    del manifest.data_files[:]
    entries = (
        file
        for file in delta.manifest.data_files
        if file.path not in forgotten and (file.path, state(file)) not in undone
    )
    manifest.data_files.extend(here.get(file.path, file) if file.status == ADDED else file for file in entries)
    return SideDelta(delta.operation, manifest, delta.stamp, delta.is_at_base)


def _got(side: Side) -> set[str]:
    """The paths that the side has, or had since the base; a live file without a delta came before the first."""
    return set(side.files).union(*(delta.paths(ADDED) for delta in side.deltas))


def _given_up(side: Side) -> set[str]:
    """The files that the side had, and lost when it merged the base, which had lost them before."""
    merges = (delta.paths(DELETED) for delta in side.deltas if delta.is_at_base)
    return set[str]().union(*merges) - side.files.keys()


def _arrivals(side: Side, paths: set[str]) -> dict[str, _Arrival]:
    """(path) -> when the side first got the file, and its entry"""
    arrivals: dict[str, _Arrival] = {}
    for delta in side.deltas:
        added = frozenset(delta.paths(ADDED))
        for file in delta.manifest.data_files:
            if file.status == ADDED and file.path in paths:
                arrivals.setdefault(file.path, _Arrival(delta.stamp, file, added))
    return arrivals


def _common_vectors(ours: Side, theirs: Side, files: Files, base: Files) -> dict[str, pb.DataFileRef]:
    """The files that have had the same deletion vector on both sides since the base, with the last such vector.

    A vector is written once, so a vector on both sides is the same delete, cherry-picked or merged. Having given up the
    vector of the base is the same revert.
    """
    seen = {(file.path, state(file)) for file in _restated(theirs, base, ours)}
    common = (file for file in _restated(ours, base, theirs) if (file.path, state(file)) in seen)
    return {file.path: file for file in common if file.path in files}


def _restated(side: Side, base: Files, other: Side) -> Iterator[pb.DataFileRef]:
    """The entries of a side that give a file of the base a vector, or take the one that it has at the base.

    A revert that also removed files counts only if neither side has these: else they would come and go without it.
    """
    for delta in side.deltas:
        removed = delta.paths(DELETED)
        is_whole = removed.isdisjoint(side.files) and removed.isdisjoint(other.files)
        for file in delta.manifest.data_files:
            had_vector = file.path in base and bool(base[file.path].dv_path)
            if file.status != DELETED and (file.dv_path or (is_whole and had_vector)):
                yield file


def _removed_with(side: Side, restated: Files) -> set[str]:
    """The files that a side removed when it gave up vectors: they had the rows that the vectors delete."""
    given_up = {path for path, file in restated.items() if not file.dv_path}
    deltas = (delta for delta in side.deltas if given_up & delta.paths(EXISTING))
    return set[str]().union(*(delta.paths(DELETED) for delta in deltas)) - side.files.keys()


def _rewritten(side: Side, both: set[str]) -> set[str]:
    """The inputs of the compactions whose outputs both sides have got.

    A compaction that gave way is stated the other way round, and adds no file: what it says of older files was known.
    """
    shared = (
        rewrite
        for delta in side.deltas
        for rewrite in delta.rewrites()
        if rewrite.outputs and (both & delta.paths(ADDED)).issuperset(rewrite.outputs)
    )
    return {path for rewrite in shared for path in rewrite.inputs}


def _entries(side: Side) -> Iterator[tuple[SideDelta, pb.DataFileRef]]:
    return ((delta, file) for delta in side.deltas for file in delta.manifest.data_files)


def paths_of(files: Iterable[pb.DataFileRef]) -> frozenset[str]:
    return frozenset(file.path for file in files)
