"""The merge of a table's rows, where both sides changed the same files.

Everything is said in positions. `Moves` has, of one side, the places of the base that its rows left, and the places
where it has rows that the base does not have there. What theirs did applies to ours place by place, and no row is read,
unless a row left its place on both sides, or new rows of both sides may have one primary key. An engine reads those
rows, and answers which copies go and which rows to write (`RowMerger`). docs/internals/merge.md, "Rows", has the rules.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.catalog.data.deletion_vectors import put_vectors, read_vector
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.data.target import Target
from lakebed.catalog.feed.steps import Piece, differing, live_piece
from lakebed.catalog.tables.properties import Check
from lakebed.errors import Invalid
from lakebed.files import Files as FileStore
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import Files, state
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema

Places = Mapping[str, BitMap64]
"""Positions of rows, by the path of their file."""

Place = tuple[str, int]

Row = Mapping[str, object]
"""A row's values by the names of its columns."""

Choice = str | Row | None
"""How a conflict of a row is settled: `OURS`, `THEIRS`, or the row to write; None if it is not."""

OURS: Final = "ours"
THEIRS: Final = "theirs"


@dataclass(frozen=True, slots=True)
class DisputedRow:
    """A row that both sides changed in different ways: `what` is `row`, or `key` for two new rows with one key.

    It is `keys` for two rows that would have one primary key after the merge: one of them, which the merge writes or a
    side has in a new place, is `ours` or `theirs`, and the other side shows the other row. It is `overwrite` for a row
    that one side added or changed, and that is among those that the other overwrote.

    `base`, `ours` and `theirs` are its values, None where it is not there. `columns` are those with a dispute, `key` is
    its primary key. The places are where the base and each side have it: a file, and the position in it.
    """

    what: str
    row_id: int | None
    key: Row
    columns: tuple[str, ...]
    base: Row | None
    ours: Row | None
    theirs: Row | None
    base_place: Place | None = None
    ours_place: Place | None = None
    theirs_place: Place | None = None


Decide = Callable[[DisputedRow], Choice]


@dataclass(frozen=True, slots=True)
class Overwritten:
    """Rows of one side that may be among those that the other overwrote: the rows of some files that pass a filter."""

    filter: Filter
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Phantoms:
    """New rows of a side that the other's overwrites did not see. `left` are rows of the base that only the side moved.

    An overwrite says which rows there are where its condition is true: another one that a side adds there, or changes
    so that it gets there, is in dispute.
    """

    overwritten: tuple[Overwritten, ...]
    left: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RowSides:
    """What an engine compares: rows that left their place of the base on both sides, and the new places of each side.

    `contested` are rows of the base; `ours` and `theirs` are the rows that each side has elsewhere. All are read by the
    merged schema. `shared` are files that both sides got since, so that they count as the base's: a row that is also
    there left its older place on both sides together. `check_keys` says that new rows of both sides may have a primary
    key in common, `check_ids` that they may be the same rows: one side got or restored what the base does not have.
    `all_ids`: these are all rows that the sides do not both have in one place; `older` are those of the `Past`, and
    `single` the contested rows that only one of its commits has in their places. `phantoms` are by the side that has
    them.
    """

    sources: Sources
    schema: Schema
    contested: tuple[Piece, ...]
    ours: tuple[Piece, ...]
    theirs: tuple[Piece, ...]
    shared: tuple[Piece, ...]
    check_keys: bool
    check_ids: bool
    all_ids: bool = False
    older: tuple[Piece, ...] = ()
    single: tuple[Piece, ...] = ()
    phantoms: Mapping[str, Phantoms] = field(default_factory=dict)

    def new_rows(self, side: str) -> tuple[Piece, ...]:
        """The rows that a side has in new places."""
        return self.ours if side == OURS else self.theirs

    def tested_rows(self, side: str) -> int:
        """How many of them are tested by what the other side overwrote."""
        paths = frozenset[str]().union(*(one.paths for one in self.phantoms[side].overwritten))
        return sum(piece.rows for piece in self.new_rows(side) if piece.file.path in paths)


@dataclass(frozen=True, slots=True)
class Past:
    """The rows that both sides follow from: files, and positions that are left out of some, whatever their vectors say.

    `older` are rows from before, in places that two of the newest common ancestors left: a row that is now in one place
    was deleted by the other, and one that is in two places was changed by either. But a row that both have in one place
    was only moved: it is not among `single`, the places that one of them has.
    """

    files: Files
    left_out: Places = field(default_factory=dict)
    older: tuple[Piece, ...] = ()
    single: Places = field(default_factory=dict)

    def live(self, store: FileStore, file: DataFileRef | None) -> BitMap64:
        """The positions of a file that have rows."""
        if file is None:
            return BitMap64()
        known = self.left_out.get(file.path) if state(file) == state(self.files.get(file.path)) else None
        return live_rows(store, file) if known is None else every(file) - known


WRITTEN: Final = ""
"""What stands for the file of a row that the merge writes; its position is its id."""


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Where a merge may repeat a primary key: `pieces` are rows of a side whose keys have to be looked for.

    Rows to write whose key is not that of both sides are looked for in any case. `holders` answers the live rows among
    which there may be one that a filter keeps, apart from the rows to write.
    """

    sources: Sources
    schema: Schema
    side: str
    pieces: tuple[Piece, ...]
    holders: Callable[[Filter | None], Sequence[Piece]]

    def each_once(self, rekeyed: Collection[int], pairs: Iterable[tuple[Place, Place]]) -> list[tuple[Place, Place]]:
        """Pairs of a row that is looked for and a row with its key, without those of one row; each pair comes once.

        `rekeyed` are the ids of the rows to write that are looked for.
        """
        places = places_of(self.pieces)

        def is_asked(file: str, position: int) -> bool:
            return position in (rekeyed if file == WRITTEN else places.get(file, _NONE))

        return sorted((one, other) for one, other in pairs if one < other or not is_asked(*other))

    def disputed(self, place: Place, row_id: int | None, row: Row, other_place: Place, other: Row) -> DisputedRow:
        """The conflict of a row that is looked for and one with its key."""
        sides, places = (row, other), tuple(None if one[0] == WRITTEN else one for one in (place, other_place))
        if place[0] != WRITTEN and self.side == THEIRS:
            sides, places = sides[::-1], places[::-1]
        return DisputedRow("keys", row_id, key_of(self.schema, row), (), None, *sides, None, *places)


class MergedRows(Protocol):
    """The answer of an engine: which copies go, the conflicts, and the rows to write, which are not written yet."""

    @property
    def ours_gone(self) -> Places: ...

    @property
    def theirs_gone(self) -> Places: ...

    @property
    def back(self) -> Places:
        """Places that rows keep although a copy there would go: the side that moved the row lost its dispute."""

    @property
    def conflicts(self) -> Sequence[DisputedRow]: ...

    @property
    def unsettled(self) -> Sequence[DisputedRow]: ...

    @property
    def rows_read(self) -> int: ...

    def broken(self, checks: Sequence[Check]) -> Sequence[DisputedRow]:
        """The rows to write that break checks of the table, though no side broke them."""

    @property
    def is_rekeyed(self) -> bool:
        """Whether a row to write may have another primary key than it has on one of the sides."""

    def repeated_keys(self, check: KeyCheck) -> Sequence[DisputedRow]:
        """Rows with one primary key: rows to write that a side has under another key, and those of the check."""

    def write(self, target: Target) -> Written:
        """Write the rows that neither side has as they are, with their ids."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Where a row is, and the sequence number of its last change."""

    place: Place
    sequence: int


class NumberedRows(Protocol):
    """Rows by their ids."""

    def get(self, row_id: int) -> Numbered | None: ...


class RowNumbers(Protocol):
    """Reads the ids and sequence numbers of rows; files without ids in a range may be left out."""

    def numbered_rows(
        self, sources: Sources, pieces: Sequence[Piece], ids_within: range | None = None
    ) -> NumberedRows: ...


class RowMerger(RowNumbers, Protocol):
    """Compares the rows that both sides changed, and asks `decide` for each that it can't merge."""

    def merge_sides(self, sides: RowSides, decide: Decide) -> MergedRows: ...

    def release(self) -> None:
        """Let go of what was kept for writing the rows of all answers so far."""


class RowChecker(Protocol):
    """Tests rows of one side by what only the other side demands: checks, and a primary key."""

    def broken_rows(
        self, sources: Sources, schema: Schema, pieces: Sequence[Piece], checks: Sequence[Check], side: str
    ) -> Sequence[DisputedRow]: ...

    def repeated_keys(self, check: KeyCheck) -> Sequence[DisputedRow]:
        """The rows of the check whose primary key another row has."""


class RowEngine(RowMerger, RowChecker, Protocol):
    """Reads rows for a merge."""


def key_of(schema: Schema, row: Row) -> dict[str, object]:
    """The primary key of a row by the paths of its columns."""
    ways = {schema.path_of(id): schema.way_by_id(id) for id in schema.identifier_ids}
    return {path: _inside(row, [field.name for field in way]) for path, way in ways.items()}


def phantom_row(
    schema: Schema,
    side: str,
    row_id: int,
    row: tuple[Row, Place],
    before: tuple[Row, Place] | None,
    columns: tuple[str, ...],
) -> DisputedRow:
    """A row of a side among those that the other overwrote; `before` is as the other has it, if it has it."""
    values, place = row
    old, old_place = before or (None, None)
    ours, theirs = (values, old) if side == OURS else (old, values)
    our_place, their_place = (place, None) if side == OURS else (None, place)
    return DisputedRow(
        "overwrite", row_id, key_of(schema, values), columns, old, ours, theirs, old_place, our_place, their_place
    )


def _inside(values: object, path: Sequence[str]) -> object:
    for name in path:
        values = values[name] if isinstance(values, Mapping) else None
    return values


def given_row(schema: Schema, given: Row, subject: DisputedRow) -> dict[str, object]:
    """The row that somebody decided for, with all columns; `Invalid` if it has one that the table has not."""
    unknown = [name for name in given if name not in schema.names]
    if unknown:
        raise Invalid(
            "a row that settles a conflict has a column that the table has not",
            subject=", ".join(f"{name}" for name in unknown),
            expected=", ".join(schema.names),
            advice="Give all columns of the table, by their names.",
        )
    before = subject.ours or subject.theirs or {}
    return {name: given.get(name, before.get(name)) for name in schema.names}


def has_other_key(schema: Schema, row: Row, subject: DisputedRow) -> bool:
    """Whether a row that somebody decided for may have another primary key than it had on one of the sides."""
    if subject.what == "key" and subject.row_id is not None:  # one of the two is a row that the merge would write
        return True
    sides = (subject.ours, subject.theirs)
    return any(side is None or key_of(schema, side) != key_of(schema, row) for side in sides)


@dataclass(frozen=True, slots=True)
class Moves:
    """The places that a side's rows left, and those where it has rows that the base does not have there."""

    left: tuple[Piece, ...]
    new: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RowMerge:
    """A planned merge of rows: what becomes of each file of ours, and what an engine has to write."""

    ours: Files
    theirs: Files
    left: Places
    new: Places
    merged: MergedRows | None = None

    @property
    def rows_read(self) -> int:
        return 0 if self.merged is None else self.merged.rows_read

    def live(self, store: FileStore) -> "LiveRows":
        """The files after the merge, without the rows that are still to be written."""
        ours_gone, theirs_gone = ({}, {}) if self.merged is None else (self.merged.ours_gone, self.merged.theirs_gone)
        files, changed = dict(self.ours), {}
        back = {} if self.merged is None else self.merged.back
        for path in dict.fromkeys([*self.left, *self.new, *ours_gone, *back]):
            file = self.ours.get(path) or self.theirs.get(path)
            if file is None:  # both sides removed it
                continue
            before = live_rows(store, self.ours[path]) if path in self.ours else BitMap64()
            added = self.new.get(path, _NONE) - theirs_gone.get(path, _NONE)
            after = (before - self.left.get(path, _NONE) - ours_gone.get(path, _NONE)) | added | back.get(path, _NONE)
            files.pop(path, None)
            if after and after == live_rows(store, file):
                files[path] = file
            elif after:  # a vector of its own, even if theirs has deleted the same: a shared one says that both have it
                changed[path] = (file, every(file) - after)
        return LiveRows(files, changed)


@dataclass(frozen=True, slots=True)
class LiveRows:
    """Files as they are, and those that get another vector."""

    files: Files
    changed: Mapping[str, tuple[DataFileRef, BitMap64]] = field(default_factory=dict)

    def write(self, store: FileStore, folder: str) -> dict[str, DataFileRef]:
        """All files, after the vectors are written."""
        written = put_vectors(store, folder, list(self.changed.values()))
        return {**self.files, **{file.path: file for file in written}}


_NONE: Final = BitMap64()


def plan_rows(
    sources: Sources,
    schema: Schema,
    files: tuple[Files, Files, Files],
    shared: Iterable[DataFileRef],
    share_keys: bool,
    share_ids: bool,
    past: Past | None,
    merger: RowMerger | None,
    decide: Decide,
    overwritten: Mapping[str, Sequence[Filter]],
) -> RowMerge | int:
    """How the rows of base, ours and theirs merge. Without an engine to read them, how many rows both sides moved.

    `overwritten` has for each side what the other overwrote.

    If a `past` is given, rows are known by their ids alone: the sides may have got one row in two places.
    """
    base, ours, theirs = files
    if past is not None and merger is not None:
        return _plan_by_ids(sources, schema, files, shared, share_keys, past, merger, decide, overwritten)
    moved = _moves(sources.files, base, theirs)
    left, new = places_of(moved.left), places_of(moved.new)
    own = _moves(sources.files, base, ours)
    contested = tuple(_among(moved.left, places_of(own.left)))
    share_ids = share_ids and bool(own.new and moved.new)
    phantoms = _phantoms(overwritten, own, moved)
    if not contested and not share_keys and not share_ids and not phantoms:
        return RowMerge(ours, theirs, left, new)
    if merger is None:
        rows = sum(piece.rows for piece in contested)
        return rows or (1 if share_keys or phantoms else RowMerge(ours, theirs, left, new))
    pieces = tuple(live_piece(sources.files, file) for file in shared) if contested else ()
    sides = RowSides(sources, schema, contested, own.new, moved.new, pieces, share_keys, share_ids, phantoms=phantoms)
    return RowMerge(ours, theirs, left, new, merger.merge_sides(sides, decide))


def _plan_by_ids(
    sources: Sources,
    schema: Schema,
    files: tuple[Files, Files, Files],
    shared: Iterable[DataFileRef],
    share_keys: bool,
    past: Past,
    merger: RowMerger,
    decide: Decide,
    overwritten: Mapping[str, Sequence[Filter]],
) -> RowMerge:
    """The merge of all rows that the sides do not both have in one place, by their ids."""
    base, ours, theirs = files
    theirs_only, ours_only = differing(sources.files, theirs, ours)
    if not theirs_only and not ours_only:
        return RowMerge(ours, theirs, {}, {})
    contested = []
    for path, file in base.items():
        sides = ours.get(path), theirs.get(path)
        if path in past.left_out or any(state(side) != state(file) for side in sides):
            here, there = (BitMap64() if side is None else live_rows(sources.files, side) for side in sides)
            if left := past.live(sources.files, file) - (here & there):
                contested.append(Piece(file, FrozenBitMap64(every(file) - left)))
    contested.sort(key=lambda piece: (piece.file.first_row_id, piece.file.path))
    pieces = tuple(live_piece(sources.files, file) for file in shared)
    compared = RowSides(
        sources,
        schema,
        tuple(contested),
        ours_only,
        theirs_only,
        pieces,
        share_keys,
        check_ids=True,
        all_ids=True,
        older=past.older,
        phantoms=_phantoms(overwritten, Moves(tuple(contested), ours_only), Moves(tuple(contested), theirs_only)),
        single=tuple(_among(contested, past.single)) if past.older else (),
    )
    return RowMerge(ours, theirs, {}, places_of(theirs_only), merger.merge_sides(compared, decide))


def _phantoms(overwritten: Mapping[str, Sequence[Filter]], ours: Moves, theirs: Moves) -> dict[str, Phantoms]:
    """The new rows of each side that may be among those that the other overwrote, as far as bounds show."""
    found = {}
    for side, moves in ((OURS, ours), (THEIRS, theirs)):
        by_filter = [
            Overwritten(filter, frozenset(piece.file.path for piece in moves.new if may_match(filter, piece.file)))
            for filter in dict.fromkeys(overwritten.get(side, ()))
        ]
        if fitting := tuple(one for one in by_filter if one.paths):
            found[side] = Phantoms(fitting, moves.left)
    return found


def _among(pieces: Iterable[Piece], places: Places) -> Iterator[Piece]:
    """The rows of pieces that are in these places."""
    for piece in pieces:
        if found := positions_of(piece) & places.get(piece.file.path, _NONE):
            yield Piece(piece.file, FrozenBitMap64(every(piece.file) - found))


def new_pieces(store: FileStore, base: Files, side: Files) -> tuple[Piece, ...]:
    """The rows that a side has where the base has none."""
    return _moves(store, base, side).new


def _moves(store: FileStore, base: Files, side: Files) -> Moves:
    return Moves(*differing(store, base, side))


def places_of(pieces: Iterable[Piece]) -> dict[str, BitMap64]:
    """The positions of the rows of pieces."""
    places: defaultdict[str, BitMap64] = defaultdict(BitMap64)
    for piece in pieces:
        places[piece.file.path] |= positions_of(piece)
    return dict(places)


def positions_of(piece: Piece) -> BitMap64:
    return every(piece.file) - piece.left_out


def every(file: DataFileRef) -> BitMap64:
    """All positions of a file."""
    positions = BitMap64()
    positions.add_range(0, file.num_rows)
    return positions


def live_rows(store: FileStore, file: DataFileRef) -> BitMap64:
    """The positions that a file's vector does not delete."""
    return every(file) - (read_vector(store, file) or _NONE)
