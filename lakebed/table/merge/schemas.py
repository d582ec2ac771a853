"""Merging schemas: what two sides made of one, field by field, by the ids that fields keep.

What one side alone changed is taken, and so is what both changed alike. What they changed differently is a conflict: an
aspect of a field (its name, its type, whether it is required, its comment, its default), a field that one side dropped
and the other changed, a name that two fields would have, the primary key.

`Settle` says whose state each conflict gets, but for types: there the wider one is taken, since both sides have files.
Where a name is lost, the field takes the one that it has on the winner's side, and leaves the schema if it is not
there; its id is retired and the files stay as they are.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

from lakebed.errors import Invalid
from lakebed.table.merge.strategy import Settle
from lakebed.table.schema.evolution import widens
from lakebed.table.schema.schema import Schema, check_identifier, dotted_path
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Fields, Way, children_of, walk, with_children

Side = TypeVar("Side")

_NOTHING = "none"
_Fields = dict[int, Field]


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """What two sides made of one thing, and what it was before, for people to read."""

    what: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class SchemaMerge:
    """The merged schema, and the conflicts that were settled for it; with `Settle.FAIL` and conflicts it is just ours.

    It is ours or theirs, with its id, if it is equal to one of them. Else its id is 0, and the caller gives it one.
    """

    schema: Schema
    conflicts: tuple[SchemaConflict, ...]


def merge_schemas(
    base: Schema, ours: Schema, theirs: Schema, settle: Settle, kept: Collection[int] = ()
) -> SchemaMerge:
    """Bring together what two sides made of the schema `base`; no column of `kept` goes that the winner has."""
    merging = _Merging(settle, kept=kept)
    fields = merging.fields(base.fields, ours.fields, theirs.fields)
    key = _key(merging, fields, base, ours, theirs)
    if key is None:
        # A winner's key needs its columns, whatever the other side did to them.
        winner = merging.winner(ours, theirs)
        needed = {one.id for id in winner.identifier_ids for one in winner.ways[id]}
        again = _Merging(settle, needed, kept)
        key, fields = winner.identifier_ids, again.fields(base.fields, ours.fields, theirs.fields)
    if settle is Settle.FAIL and merging.conflicts:
        return SchemaMerge(ours, tuple(merging.conflicts))
    return SchemaMerge(_known(Schema(fields, 0, key), ours, theirs), tuple(merging.conflicts))


def _key(merging: "_Merging", fields: Fields, base: Schema, ours: Schema, theirs: Schema) -> tuple[int, ...] | None:
    """The merged primary key; None, and a conflict, if both changed it or if its columns can't be a key any more."""
    before, here, there = base.identifier_ids, ours.identifier_ids, theirs.identifier_ids
    if here == there or before in (here, there):
        key = there if before == here else here
        if _is_key(fields, key):
            return key
    merging.add("primary key", *(", ".join(one.key) or _NOTHING for one in (base, ours, theirs)))
    return None


def _is_key(fields: Fields, ids: tuple[int, ...]) -> bool:
    ways = {way[-1].id: way for way in walk(fields)}
    try:
        for id in ids:
            check_identifier(ways[id])
    except (KeyError, Invalid):
        return False
    return True


def _known(schema: Schema, ours: Schema, theirs: Schema) -> Schema:
    """The side that the schema is equal to but for its id, or the schema."""
    for side in (ours, theirs):
        if (schema.fields, schema.identifier_ids) == (side.fields, side.identifier_ids):
            return side
    return schema


class _Merging:
    """One pass over all fields, and the conflicts that it met.

    Neither `needed` fields nor `kept` ones go if the winner has them; what a key needs stays required besides.
    """

    def __init__(self, settle: Settle, needed: Collection[int] = (), kept: Collection[int] = ()) -> None:
        self.conflicts: list[SchemaConflict] = []
        self._settle = settle
        self._needed = frozenset(needed)
        self._kept = self._needed.union(kept)
        self._undecided: set[int] = set()

    def add(self, what: str, base: str, ours: str, theirs: str) -> None:
        """Note a conflict."""
        self.conflicts.append(SchemaConflict(what, base, ours, theirs))

    def winner(self, ours: Side, theirs: Side) -> Side:
        """The side that conflicts are settled for; without one, ours, which nobody will look at."""
        return theirs if self._settle is Settle.THEIRS else ours

    def fields(self, base: Fields, ours: Fields, theirs: Fields, above: Way = ()) -> Fields:
        """What is inside of one field, or the columns, merged."""
        before, here, there = _by_id(base), _by_id(ours), _by_id(theirs)
        found = [
            self._field(before.get(id), here.get(id), there.get(id), above)
            for id in _ordered(list(before), list(here), list(there))
        ]
        kept = self._without_clashes([one for one in found if one is not None], before, here, there, above)
        if not kept and ours and theirs:
            what = f"all columns of {dotted_path(above)}" if above else "all columns"
            self.add(what, *(", ".join(one.name for one in side) for side in (base, ours, theirs)))
            return self.winner(ours, theirs)
        return tuple(kept)

    def _field(self, base: Field | None, ours: Field | None, theirs: Field | None, above: Way) -> Field | None:
        if ours is not None and theirs is not None:
            return self._aspects(base, ours, theirs, above)
        left = ours or theirs
        if base is None or left is None:
            return left
        return self._dropped(base, ours, theirs, above)

    def _dropped(self, base: Field, ours: Field | None, theirs: Field | None, above: Way) -> Field | None:
        """A field that one side dropped: gone, unless the other side changed it or anything inside it."""
        won = self.winner(ours, theirs)
        if won is not None and base.id in self._kept:
            return won
        left = ours or theirs
        if left == base:
            return None
        texts = [_described(one) for one in (base, ours, theirs)]
        self.add(f"column {dotted_path((*above, base))}", *texts)
        self._undecided.add(base.id)
        return left if self._settle is Settle.FAIL else won

    def _aspects(self, base: Field | None, ours: Field, theirs: Field, above: Way) -> Field:
        way = (*above, base or ours)
        path = f"column {dotted_path(way)}"

        def settled(aspect: str, of: Callable[[Field], Any], text: Callable[[Any], str] = str) -> Any:
            before = of(base) if base is not None else None
            here, there = of(ours), of(theirs)
            if here == there or (base is not None and before == there):
                return here
            if base is not None and before == here:
                return there
            self.add(f"{path}: {aspect}", text(before), text(here), text(there))
            self._undecided |= {ours.id} if aspect == "name" else set()
            return self.winner(here, there)

        merged = replace(
            ours,
            name=settled("name", lambda one: one.name),
            required=ours.id in self._needed or settled("required", lambda one: one.required, _required_text),
            comment=settled("comment", lambda one: one.comment),
            write_default=settled("default", lambda one: one.write_default, _default_text),
        )
        if parts := children_of(ours.type):
            inner = self.fields(children_of(base.type) if base else (), parts, children_of(theirs.type), way)
            return replace(merged, type=with_children(ours.type, inner))
        settled("type", lambda one: one.type)
        wider = ours if widens(theirs.type, ours.type) else theirs
        return replace(merged, type=wider.type, widened_from=wider.widened_from)

    def _without_clashes(
        self, fields: list[Field], base: _Fields, ours: _Fields, theirs: _Fields, above: Way
    ) -> list[Field]:
        """The fields, no two of one name: who has it on the winner's side keeps it."""
        while (clash := _clash([one for one in fields if one.id not in self._skipped])) is not None:
            mine, other = sorted(clash, key=lambda one: not _is_called_so(one, ours))
            path = ".".join([*(one.name for one in above), folded_column(mine.name)])
            holder = next((one for one in base.values() if folded_column(one.name) == folded_column(mine.name)), None)
            origins = [_origin(one, base.get(one.id)) for one in (mine, other)]
            self.add(f"column {path}: name", _described(holder) if holder else _NOTHING, *origins)
            self._undecided |= {mine.id, other.id}
            if self._settle is not Settle.FAIL:
                fields = _without_name(fields, self.winner(other, mine), self.winner(ours, theirs))
        if _clash(fields) is not None:  # not settled, and nobody looks at the names
            return [replace(one, name=str(one.id)) for one in fields]
        return fields

    @property
    def _skipped(self) -> set[int]:
        """Fields whose names are not settled, so that nothing can be said of them."""
        return self._undecided if self._settle is Settle.FAIL else set()


def _by_id(parts: Fields) -> _Fields:
    return {one.id: one for one in parts}


def _ordered(base: Sequence[int], ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """All fields of both sides, in the order of the one that moved some, ours if both did.

    What the other side added comes at the end; what it still has where the first dropped it, in its old place.
    """
    follows = _is_rearranged(base, theirs) and not _is_rearranged(base, ours)
    first, second = (theirs, ours) if follows else (ours, theirs)
    found = list(first)
    for place, id in enumerate(second):
        if id in base and id not in found:
            found.insert(max((found.index(one) + 1 for one in second[:place] if one in base), default=0), id)
    return [*found, *(id for id in second if id not in found)]


def _is_rearranged(base: Sequence[int], side: Sequence[int]) -> bool:
    """Whether a side did more than to leave fields out and to add new ones at the end."""
    kept, added = [id for id in base if id in side], [id for id in side if id not in base]
    return list(side) != kept + added


def _clash(fields: Sequence[Field]) -> tuple[Field, Field] | None:
    pairs = combinations(fields, 2)
    return next((pair for pair in pairs if folded_column(pair[0].name) == folded_column(pair[1].name)), None)


def _without_name(fields: list[Field], loser: Field, winners: _Fields) -> list[Field]:
    """The fields, that one with the name that it has on the winner's side, or without it if it is not there."""
    there = winners.get(loser.id)
    again = [] if there is None else [replace(loser, name=there.name)]
    return [one for field in fields for one in (again if field.id == loser.id else [field])]


def _is_called_so(field: Field, side: _Fields) -> bool:
    there = side.get(field.id)
    return there is not None and folded_column(there.name) == folded_column(field.name)


def _origin(field: Field, base: Field | None) -> str:
    if base is None:
        return f"added, {field.type}"
    return _described(field) if base.name == field.name else f"renamed from {base.name}"


def _described(field: Field | None) -> str:
    if field is None:
        return "dropped"
    return f"{field.name}: {field.type}{' not null' if field.required else ''}"


def _required_text(required: bool | None) -> str:
    return _NOTHING if required is None else "required" if required else "optional"


def _default_text(value: Any) -> str:
    return _NOTHING if value is None else str(value)
