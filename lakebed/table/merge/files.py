"""The three-way merge of a table's files: the delta that turns our live files into the merged ones, and the conflicts.

Pure: the caller answers what needs data (whether a file is in an overwritten part, whether two files share keys).
docs/internals/table.md, "Merging files", has the rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING, with_status
from lakebed.table.merge.compactions import (
    Uncompacted,
    compact_again,
    moving_only,
    net_rewrites,
    reversed_rewrites,
    uncompacted,
)
from lakebed.table.merge.conflicts import (
    Clash,
    FallsIn,
    FileConflict,
    MayShareKeys,
    clashes,
    links,
    overwrites_in_force,
    reached,
)
from lakebed.table.merge.sides import Files, Side, SideDelta, common_base, state
from lakebed.table.merge.strategy import Settle

__all__ = ["Compared", "FileConflict", "FileMerge", "Side", "SideDelta", "compare_files", "merge_files"]


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


@dataclass(frozen=True, slots=True)
class Compared:
    """The files of two sides, without their compactions, and what clashes: files that both changed, and overwrites.

    `is_moved`: both sides lost a file of the base, and got another one that may have its rows. Which of these each side
    still has is known by their ids alone. `by_ours` and `by_theirs` are the overwrites of each side.
    """

    ours: Files
    base: Files
    mine: Uncompacted
    other: Uncompacted
    clashes: tuple[Clash, ...]
    is_moved: bool = False
    by_ours: tuple[SideDelta, ...] = ()
    by_theirs: tuple[SideDelta, ...] = ()

    @property
    def has_disputed_rows(self) -> bool:
        """Whether rows have to be compared: files clash, or rows moved on both sides."""
        return self.is_moved or bool(self.clashes)


def compare_files(
    base: Files, ours: Side, theirs: Side, *, falls_in: FallsIn, may_share_keys: MayShareKeys | None = None
) -> Compared:
    """What both sides did to the files of the base, and what clashes. It does not depend on how that is settled."""
    common = common_base(base, ours, theirs)
    mine, other = uncompacted(ours, common), uncompacted(theirs, common)
    found = tuple(clashes(common, mine, other, falls_in, may_share_keys))
    is_moved = bool(common.keys() - base.keys()) and any(
        path not in mine.files and path not in other.files for path in base.keys() & common.keys()
    )
    by_ours, by_theirs = tuple(overwrites_in_force(mine, other)), tuple(overwrites_in_force(other, mine))
    return Compared(ours.files, common, mine, other, found, is_moved, by_ours, by_theirs)


def merge_files(
    base: Files,
    ours: Side,
    theirs: Side,
    settle: Settle,
    *,
    falls_in: FallsIn,
    may_share_keys: MayShareKeys | None = None,
) -> FileMerge:
    """Merge the files of theirs into ours, whatever rows they have: a file that both changed is a conflict.

    With `Settle.FAIL`, a merge with conflicts has only the conflicts.
    """
    return settled_files(compare_files(base, ours, theirs, falls_in=falls_in, may_share_keys=may_share_keys), settle)


def settled_files(compared: Compared, settle: Settle) -> FileMerge:
    """The merge of files whose clashes are all settled file by file."""
    conflicts = tuple(clash.conflict for clash in compared.clashes)
    if compared.clashes and settle is Settle.FAIL:
        return FileMerge(conflicts=conflicts)
    mine, other = compared.mine, compared.other
    winner, loser = (other, mine) if settle is Settle.THEIRS else (mine, other)
    merged = _merged_files(mine, other, winner, _lost_files(compared.clashes, loser, settle))
    return merged_delta(compared, merged, conflicts)


def merged_delta(compared: Compared, merged: Files, conflicts: tuple[FileConflict, ...] = ()) -> FileMerge:
    """The delta that turns ours into merged files, with the compactions done again that still can be."""
    files, _ = compact_again(merged, compared.mine.undone)
    files, done = compact_again(files, compared.other.undone)
    moves = net_rewrites(moving_only(compared.ours, done))
    rewrites = [*moves, *reversed_rewrites(set(compared.other.undone).difference(done))]
    return _delta(compared.ours, files, conflicts, rewrites)


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
