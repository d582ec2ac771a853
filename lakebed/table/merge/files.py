"""The three-way merge of a table's files: the delta that turns our live files into the merged ones, and the conflicts.

Pure: the caller answers what needs data (whether a file is in an overwritten part, whether two files share keys).
docs/internals/table.md, "Merging files", has the rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, with_status
from lakebed.table.merge.compactions import Uncompacted, compact_again, net_rewrites, reversed_rewrites, uncompacted
from lakebed.table.merge.conflicts import Clash, FallsIn, FileConflict, MayShareKeys, clashes, links, reached
from lakebed.table.merge.sides import Files, Side, SideDelta, common_base, state
from lakebed.table.merge.strategy import Settle

__all__ = ["FileConflict", "FileMerge", "Side", "SideDelta", "merge_files"]


@dataclass(frozen=True, slots=True)
class FileMerge:
    """A delta onto ours, with all conflicts, settled or not.

    Entries have their status; added entries keep the ids and sequences of their rows. `rewrites` are the compactions
    from theirs, and, with inputs and outputs swapped, those that gave way. The merge's manifest has to state them.
    """

    added: tuple[pb.DataFileRef, ...] = ()
    removed: tuple[pb.DataFileRef, ...] = ()
    changed: tuple[pb.DataFileRef, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()
    rewrites: tuple[pb.Rewrite, ...] = ()


def merge_files(
    base: Files,
    ours: Side,
    theirs: Side,
    settle: Settle,
    *,
    falls_in: FallsIn,
    may_share_keys: MayShareKeys | None = None,
) -> FileMerge:
    """Merge the files of theirs into ours. The conflicts do not depend on how they are settled.

    With `Settle.FAIL`, a merge with conflicts has only the conflicts.
    """
    common = common_base(base, ours, theirs)
    mine, other = uncompacted(ours, common), uncompacted(theirs, common)
    found = clashes(common, mine, other, falls_in, may_share_keys)
    conflicts = tuple(clash.conflict for clash in found)
    if found and settle is Settle.FAIL:
        return FileMerge(conflicts=conflicts)
    winner, loser = (other, mine) if settle is Settle.THEIRS else (mine, other)
    merged = _merged_files(mine, other, winner, _lost_files(found, loser, settle))
    merged, _ = compact_again(merged, mine.undone)
    merged, done = compact_again(merged, other.undone)
    rewrites = [*net_rewrites(done), *reversed_rewrites(set(other.undone).difference(done))]
    return _delta(ours.files, merged, conflicts, rewrites)


def _lost_files(found: Sequence[Clash], loser: Uncompacted, settle: Settle) -> frozenset[str]:
    """The loser's files that take the winner's state."""
    lost = frozenset[str]().union(*(clash.if_ours if settle is Settle.OURS else clash.if_theirs for clash in found))
    return reached(lost, links(loser)) if lost else lost


def _merged_files(
    ours: Uncompacted, theirs: Uncompacted, winner: Uncompacted, lost: frozenset[str]
) -> dict[str, pb.DataFileRef]:
    """File by file: the state of the side that changed it, or the winner's state for lost files."""
    merged: dict[str, pb.DataFileRef] = {}
    for path in dict.fromkeys((*ours.files, *theirs.files)):
        side = winner if path in lost else theirs if path not in ours.changed else ours
        file = side.files.get(path)
        if file is not None:
            merged[path] = file
    return merged


def _delta(
    ours: Files, merged: Files, conflicts: tuple[FileConflict, ...], rewrites: Sequence[pb.Rewrite]
) -> FileMerge:
    kept = [(ours[path], file) for path, file in merged.items() if path in ours]
    return FileMerge(
        added=tuple(with_status(file, ADDED) for path, file in merged.items() if path not in ours),
        removed=tuple(with_status(file, DELETED) for path, file in ours.items() if path not in merged),
        changed=tuple(with_status(file, EXISTING) for before, file in kept if state(before) != state(file)),
        conflicts=conflicts,
        rewrites=tuple(rewrites),
    )
