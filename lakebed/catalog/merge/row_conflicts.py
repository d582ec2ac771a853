"""Conflicts of rows, with the commits that changed the row on each side."""

from pyroaring import BitMap64

from lakebed.catalog.data.deletion_vectors import read_vector
from lakebed.catalog.merge.rows import DisputedRow, Place
from lakebed.catalog.merge.sides import MergeSide
from lakebed.catalog.merge.states import ObjectState, kind_name
from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.files import Files
from lakebed.table.manifest.delta import ADDED, DELETED
from lakebed.table.merge.files import Side, SideDelta


def row_conflict(
    ours: MergeSide,
    theirs: MergeSide,
    our_files: Side,
    their_files: Side,
    state: ObjectState,
    name: str,
    disputed: DisputedRow,
) -> RowConflict:
    """What an engine found, as a caller sees it."""
    return RowConflict(
        state.id,
        name,
        kind_name(state),
        disputed.what,
        disputed.key,
        disputed.row_id,
        disputed.columns,
        disputed.base,
        disputed.ours,
        disputed.theirs,
        _commit(ours, our_files, disputed.base_place, disputed.ours_place),
        _commit(theirs, their_files, disputed.base_place, disputed.theirs_place),
    )


def _commit(side: MergeSide, files: Side, before: Place | None, after: Place | None) -> Commit | None:
    """The commit of a side that changed a row; None if its deltas don't show it, as after a compaction."""
    store = side.work.context.files
    for delta in reversed(files.deltas):
        if (after is not None and _brings(delta, after)) or (
            after is None and before and _removes(store, delta, before)
        ):
            found = (commit for commit in side.commits if commit.version == delta.stamp)
            return next(map(commit_of, found), None)
    return None


def _brings(delta: SideDelta, place: Place) -> bool:
    return place[0] in delta.paths(ADDED)


def _removes(store: Files, delta: SideDelta, place: Place) -> bool:
    path, position = place
    for file in delta.manifest.data_files:
        if file.path == path:
            return file.status == DELETED or position in (read_vector(store, file) or BitMap64())
    return False
