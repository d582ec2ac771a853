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
    """One delta of a side: its operation, its whole manifest, and when the side got it, as any ordered value."""

    operation: str
    manifest: pb.Manifest
    stamp: Any

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
    both = (_got(ours) & _got(theirs)) - base.keys()
    arrivals = [_arrivals(ours, both), _arrivals(theirs, both)]
    for path in both:
        known = [arrival[path] for arrival in arrivals if path in arrival]
        if known:
            files[path] = max(known, key=lambda arrival: arrival[0])[1]
    files.update(_common_vectors(ours, theirs, files))
    for path in _rewritten(ours, both) | _rewritten(theirs, both):
        files.pop(path, None)
    return files


def got_again(ours: Side, theirs: Side) -> Side:
    """Ours as if it had never had the files that it got, lost and is to get again, so that reverts can be picked again.

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
    return Side(ours.files, [_rewritten_delta(delta, forgotten, here) for delta in ours.deltas])


def _written_elsewhere(delta: SideDelta) -> set[str]:
    """The files that a delta removed while it added younger ones; a revert removes the younger ones instead."""
    newest = max((file.first_row_id for file in delta.manifest.data_files if file.status == ADDED), default=0)
    gone = (file for file in delta.manifest.data_files if file.status == DELETED and not delta.overwrites)
    return {file.path for file in gone if file.first_row_id < newest}


def _rewritten_delta(delta: SideDelta, forgotten: Collection[str], here: Files) -> SideDelta:
    manifest = pb.Manifest()
    manifest.CopyFrom(delta.manifest)
    del manifest.data_files[:]
    entries = (file for file in delta.manifest.data_files if file.path not in forgotten)
    manifest.data_files.extend(here.get(file.path, file) if file.status == ADDED else file for file in entries)
    return SideDelta(delta.operation, manifest, delta.stamp)


def _got(side: Side) -> set[str]:
    """The paths that the side has, or had since the base; a live file without a delta came before the first."""
    return set(side.files).union(*(delta.paths(ADDED) for delta in side.deltas))


def _arrivals(side: Side, paths: set[str]) -> dict[str, tuple[Any, pb.DataFileRef]]:
    """(path) -> when the side first got the file, and its entry"""
    arrivals: dict[str, tuple[Any, pb.DataFileRef]] = {}
    for delta, file in _entries(side):
        if file.status == ADDED and file.path in paths:
            arrivals.setdefault(file.path, (delta.stamp, file))
    return arrivals


def _common_vectors(ours: Side, theirs: Side, base: Files) -> dict[str, pb.DataFileRef]:
    """The files that have the same deletion vector on both sides since the base, with the last such vector.

    A vector is written once, so a vector on both sides is the same delete, cherry-picked or merged.
    """
    seen = {(file.path, state(file)) for file in _with_vectors(theirs)}
    return {file.path: file for file in _with_vectors(ours) if file.path in base and (file.path, state(file)) in seen}


def _with_vectors(side: Side) -> Iterator[pb.DataFileRef]:
    return (file for _, file in _entries(side) if file.dv_path and file.status != DELETED)


def _rewritten(side: Side, both: set[str]) -> set[str]:
    """The inputs of the compactions whose outputs both sides have got."""
    shared = (rewrite for delta in side.deltas for rewrite in delta.rewrites() if _within(rewrite.outputs, both))
    return {path for rewrite in shared for path in rewrite.inputs}


def _within(paths: Sequence[str], whole: set[str]) -> bool:
    return bool(paths) and whole.issuperset(paths)


def _entries(side: Side) -> Iterator[tuple[SideDelta, pb.DataFileRef]]:
    return ((delta, file) for delta in side.deltas for file in delta.manifest.data_files)


def paths_of(files: Iterable[pb.DataFileRef]) -> frozenset[str]:
    return frozenset(file.path for file in files)
