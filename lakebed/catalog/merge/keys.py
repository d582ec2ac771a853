"""Primary keys after a merge: which rows may repeat one, and where rows with their keys may be.

Each side has a key once. A merge can repeat it by rows that no side has (with cells of both, or given by somebody), and
by rows of a side that did not have to keep the merged key. Only the keys of these rows are looked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.steps import Piece, live_piece
from lakebed.catalog.merge.rows import OURS, THEIRS, KeyCheck, LiveRows, RowMerge, every, live_rows
from lakebed.catalog.transaction.context import Context
from lakebed.files import Files as FileStore
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.files import FileMerge
from lakebed.table.merge.sides import Files, state
from lakebed.table.plan.blooms import bloom_matches
from lakebed.table.plan.pruning import may_match, row_group_matches
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """A merge file by file: the files of both sides, and the delta onto ours."""

    ours: Files
    theirs: Files
    delta: FileMerge

    def live(self, store: FileStore) -> LiveRows:
        """The files after the merge."""
        gone = {file.path for file in self.delta.removed}
        kept = {path: file for path, file in self.ours.items() if path not in gone}
        return LiveRows(kept | {file.path: file for file in (*self.delta.added, *self.delta.changed)})


def key_check(
    context: Context, sources: Sources, schema: Schema, sides: tuple[Schema, Schema], merged: RowMerge | MergedFiles
) -> KeyCheck | None:
    """What to look at after a merge; None if no key can come twice. `sides` are the schemas of ours and theirs."""
    ours_knows, theirs_knows = (_implies(side, schema) for side in sides)
    rows = merged.merged if isinstance(merged, RowMerge) else None
    is_known = ours_knows and theirs_knows
    if not schema.identifier_ids or (is_known and (rows is None or not (rows.is_rekeyed or rows.back))):
        return None
    live = merged.live(sources.files)

    def holders(filter: Filter | None) -> list[Piece]:
        return [piece for piece in _holders(context, sources.files, live, filter) if piece.rows]

    if is_known:
        return KeyCheck(sources, schema, OURS, tuple(_kept(merged)), holders)
    # What a side that knows the key has repeats it no more than once; if neither knows it, any two rows may have one.
    known = merged.ours if ours_knows else merged.theirs if theirs_knows else {}
    pieces = tuple(_beyond(sources.files, live, known))
    return KeyCheck(sources, schema, THEIRS if ours_knows else OURS, pieces, holders)


def _implies(side: Schema, merged: Schema) -> bool:
    """Whether rows with the side's primary key can't repeat the merged one."""
    return bool(side.identifier_ids) and set(side.identifier_ids) <= set(merged.identifier_ids)


def _holders(context: Context, store: FileStore, live: LiveRows, filter: Filter | None) -> Iterator[Piece]:
    """The live rows of the row groups that may have rows for the filter."""
    for file in live.files.values():
        if (others := _other_groups(context, file, filter)) is not None:
            yield Piece(file, live_piece(store, file).left_out | others)
    for file, left_out in live.changed.values():
        if (others := _other_groups(context, file, filter)) is not None:
            yield Piece(file, FrozenBitMap64(left_out | others))


def _kept(merged: RowMerge | MergedFiles) -> Iterator[Piece]:
    """The rows that stay where they are because a change of their keys, perhaps, lost a dispute."""
    if isinstance(merged, RowMerge) and merged.merged is not None:
        for path, positions in merged.merged.back.items():
            yield from _rest(merged.ours.get(path) or merged.theirs[path], positions)


def _beyond(store: FileStore, live: LiveRows, known: Files) -> Iterator[Piece]:
    """The live rows that a side does not have where they are."""
    for path, file in live.files.items():
        if path not in known:
            yield live_piece(store, file)
        elif state(file) != state(known[path]):
            yield from _rest(file, live_rows(store, file) - live_rows(store, known[path]))
    for path, (file, left_out) in live.changed.items():
        before = live_rows(store, known[path]) if path in known else BitMap64()
        yield from _rest(file, every(file) - left_out - before)


def _rest(file: DataFileRef, positions: BitMap64) -> Iterator[Piece]:
    if positions:
        yield Piece(file, FrozenBitMap64(every(file) - positions))


def _other_groups(context: Context, file: DataFileRef, filter: Filter | None) -> FrozenBitMap64 | None:
    """The positions in row groups that have no row for the filter; None if no group has one."""
    others = BitMap64()
    if filter is None:
        return FrozenBitMap64()
    if not may_match(filter, file):
        return None

    def bloom(path: str, offset: int, length: int) -> bytes:
        return context.blooms.get((path, offset, length), lambda: context.files.read(path, offset, length))

    groups = row_group_matches(filter, file)
    left = set(bloom_matches(filter, file, (0,) if groups is None else groups, bloom))
    first = 0
    for number, block in enumerate(file.blocks):
        if number not in left:
            others.add_range(first, first + block.num_rows)
        first += block.num_rows
    return FrozenBitMap64(others) if left else None
