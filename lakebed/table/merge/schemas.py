"""The three-way merge of schemas: field by field, by the ids that fields keep.

A change that one side made is taken, and so is a change that both made alike. Different changes are a conflict: of an
aspect of a field (name, type, required, comment, default), of a field that one side dropped and the other changed or
added too, of a name that two fields would have, or of the primary key. A field that both sides added is compared with
one as it is added: without a comment, and with its first default and type.

`Settle` decides whose state each conflict gets, except for types: the wider type is taken, since both sides have files.
A field that loses its name gets the name that it has on the winner's side. If it is not there, it leaves the schema:
its id is retired and the files stay as they are.
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
from lakebed.table.types.types import STRING, Field, Fields, List, Type, Way, children_of, walk, with_children

Side = TypeVar("Side")

_NOTHING = "none"
_NEITHER, _NEITHER_TYPE = object(), List(STRING)  # sides that are asked for a type have simple ones
_Fields = dict[int, Field]


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """Two different changes of one thing, and its state before them, as text."""

    what: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class SchemaMerge:
    """The merged schema, and the conflicts that were settled; with `Settle.FAIL` and conflicts, the schema is ours.

    It is ours or theirs, with its id, if it equals one of them. Otherwise its id is 0, and the caller assigns one.
    """

    schema: Schema
    conflicts: tuple[SchemaConflict, ...]


def merge_schemas(
    base: Schema,
    ours: Schema,
    theirs: Schema,
    settle: Settle,
    kept: Collection[int] = (),
    dropped: Collection[int] = (),
) -> SchemaMerge:
    """Merge two sides' changes of the schema `base`; a column of `kept` that the winner has is never dropped.

    `dropped` are fields that a side has added and dropped since the base: a conflict if the other has added them too.
    """
    merging = _Merging(settle, kept=kept, dropped=dropped)
    fields = merging.fields(base.fields, ours.fields, theirs.fields)
    key = _key(merging, fields, base, ours, theirs)
    if key is None:
        # The winner's key needs its columns, whatever the other side did to them.
        winner = merging.winner(ours, theirs)
        needed = {field.id for id in winner.identifier_ids for field in winner.ways[id]}
        again = _Merging(settle, needed, kept, dropped)
        key, fields = winner.identifier_ids, again.fields(base.fields, ours.fields, theirs.fields)
    if settle is Settle.FAIL and merging.conflicts:
        return SchemaMerge(ours, tuple(merging.conflicts))
    return SchemaMerge(_same_or_new(Schema(fields, 0, key, ours.unknown), ours, theirs), tuple(merging.conflicts))


def _key(merging: "_Merging", fields: Fields, base: Schema, ours: Schema, theirs: Schema) -> tuple[int, ...] | None:
    """The merged primary key; None and a conflict if both changed it, or if its columns can no longer be a key."""
    before, here, there = base.identifier_ids, ours.identifier_ids, theirs.identifier_ids
    if here == there or before in (here, there):
        key = there if before == here else here
        if _is_key(fields, key):
            return key
    merging.add("primary key", *(", ".join(schema.key) or _NOTHING for schema in (base, ours, theirs)))
    return None


def _is_key(fields: Fields, ids: tuple[int, ...]) -> bool:
    ways = {way[-1].id: way for way in walk(fields)}
    try:
        for id in ids:
            check_identifier(ways[id])
    except (KeyError, Invalid):
        return False
    return True


def _same_or_new(schema: Schema, ours: Schema, theirs: Schema) -> Schema:
    """The side that equals the schema except for its id, or else the schema."""
    for side in (ours, theirs):
        if (schema.fields, schema.identifier_ids) == (side.fields, side.identifier_ids):
            return side
    return schema


class _Merging:
    """One pass over all fields, and its conflicts.

    Fields in `needed` or `kept` stay if the winner has them; those in `needed`, which a key needs, also stay required.
    """

    def __init__(
        self,
        settle: Settle,
        needed: Collection[int] = (),
        kept: Collection[int] = (),
        dropped: Collection[int] = (),
    ) -> None:
        self.conflicts: list[SchemaConflict] = []
        self._settle = settle
        self._added_and_dropped = frozenset(dropped)
        self._needed = frozenset(needed)
        self._kept = self._needed.union(kept)
        self._undecided: set[int] = set()

    def add(self, what: str, base: str, ours: str, theirs: str) -> None:
        """Note a conflict."""
        self.conflicts.append(SchemaConflict(what, base, ours, theirs))

    def winner(self, ours: Side, theirs: Side) -> Side:
        """The side that wins conflicts; if they fail the merge, ours, which is then never used."""
        return theirs if self._settle is Settle.THEIRS else ours

    def fields(self, base: Fields, ours: Fields, theirs: Fields, above: Way = ()) -> Fields:
        """The merged fields inside a field, or the merged columns."""
        before, here, there = _by_id(base), _by_id(ours), _by_id(theirs)
        merged = [
            self._field(before.get(id), here.get(id), there.get(id), above)
            for id in _ordered(list(before), list(here), list(there))
        ]
        kept = self._without_clashes([field for field in merged if field is not None], before, here, there, above)
        if not kept and ours and theirs:
            what = f"all columns of {dotted_path(above)}" if above else "all columns"
            self.add(what, *(", ".join(field.name for field in side) for side in (base, ours, theirs)))
            return self.winner(ours, theirs)
        return tuple(kept)

    def _field(self, base: Field | None, ours: Field | None, theirs: Field | None, above: Way) -> Field | None:
        if ours is not None and theirs is not None:
            return self._aspects(base, ours, theirs, above)
        left = ours or theirs
        if left is None or (base is None and left.id not in self._added_and_dropped):
            return left
        return self._dropped(base, left, ours, theirs, above)

    def _dropped(
        self, base: Field | None, left: Field, ours: Field | None, theirs: Field | None, above: Way
    ) -> Field | None:
        """A field that one side dropped: dropped, unless the other side changed it or anything inside it."""
        winners = self.winner(ours, theirs)
        if winners is not None and left.id in self._kept:
            return winners
        if left == base:
            return None
        texts = [_field_text(field) for field in (ours, theirs)]
        self.add(f"column {dotted_path((*above, base or left))}", _field_text(base) if base else _NOTHING, *texts)
        self._undecided.add(left.id)
        return left if self._settle is Settle.FAIL else winners

    def _aspects(self, base: Field | None, ours: Field, theirs: Field, above: Way) -> Field:
        way = (*above, base or ours)
        path = f"column {dotted_path(way)}"

        before = _as_added(ours, theirs) if base is None else base

        def settled(aspect: str, of: Callable[[Field], Any], text: Callable[[Any], str] = str) -> Any:
            was, here, there = of(before), of(ours), of(theirs)
            if here == there or was == there:
                return here
            if was == here:
                return there
            self.add(f"{path}: {aspect}", _NOTHING if base is None else text(was), text(here), text(there))
            self._undecided |= {ours.id} if aspect == "name" else set()
            return self.winner(here, there)

        first, written = settled("default", _defaults, lambda both: _default_text(both[1]))
        merged = replace(
            ours,
            name=settled("name", lambda field: field.name),
            required=ours.id in self._needed or settled("required", lambda field: field.required, _required_text),
            comment=settled("comment", lambda field: field.comment),
            initial_default=first,
            write_default=written,
        )
        if parts := children_of(ours.type):
            inner = self.fields(children_of(base.type) if base else (), parts, children_of(theirs.type), way)
            return replace(merged, type=with_children(ours.type, inner))
        settled("type", lambda field: field.type)
        wider = ours if widens(theirs.type, ours.type) else theirs
        return replace(merged, type=wider.type, widened_from=wider.widened_from)

    def _without_clashes(
        self, fields: list[Field], base: _Fields, ours: _Fields, theirs: _Fields, above: Way
    ) -> list[Field]:
        """The fields, no two with one name: the field that has the name on the winner's side keeps it."""
        while (clash := _clash([field for field in fields if field.id not in self._skipped])) is not None:
            mine, other = sorted(clash, key=lambda field: not _has_name(field, ours))
            path = ".".join([*(field.name for field in above), folded_column(mine.name)])
            named = (field for field in base.values() if folded_column(field.name) == folded_column(mine.name))
            holder = next(named, None)
            origins = [_origin(field, base.get(field.id)) for field in (mine, other)]
            self.add(f"column {path}: name", _field_text(holder) if holder else _NOTHING, *origins)
            self._undecided |= {mine.id, other.id}
            if self._settle is not Settle.FAIL:
                fields = _without_name(fields, self.winner(other, mine), self.winner(ours, theirs))
        if _clash(fields) is not None:  # not settled: the merge fails, and the names are never used
            return [replace(field, name=str(field.id)) for field in fields]
        return fields

    @property
    def _skipped(self) -> set[int]:
        """Fields whose names are undecided, so that clashes of their names mean nothing."""
        return self._undecided if self._settle is Settle.FAIL else set()


def _by_id(parts: Fields) -> _Fields:
    return {field.id: field for field in parts}


def _ordered(base: Sequence[int], ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """The ids of all fields of both sides, in the order of the side that moved some; of ours if both did.

    The other side's new fields come at the end. Fields that only the other side still has keep their old place.
    """
    follows = _is_rearranged(base, theirs) and not _is_rearranged(base, ours)
    first, second = (theirs, ours) if follows else (ours, theirs)
    ids = list(first)
    for place, id in enumerate(second):
        if id in base and id not in ids:
            ids.insert(max((ids.index(before) + 1 for before in second[:place] if before in base), default=0), id)
    return [*ids, *(id for id in second if id not in ids)]


def _is_rearranged(base: Sequence[int], side: Sequence[int]) -> bool:
    """Whether a side did more than drop fields and add new ones at the end."""
    kept, added = [id for id in base if id in side], [id for id in side if id not in base]
    return list(side) != kept + added


def _clash(fields: Sequence[Field]) -> tuple[Field, Field] | None:
    pairs = combinations(fields, 2)
    return next((pair for pair in pairs if folded_column(pair[0].name) == folded_column(pair[1].name)), None)


def _without_name(fields: list[Field], loser: Field, winners: _Fields) -> list[Field]:
    """The fields, with the loser called as on the winner's side, or left out if it is not there."""
    winner = winners.get(loser.id)
    renamed = [] if winner is None else [replace(loser, name=winner.name)]
    return [kept for field in fields for kept in (renamed if field.id == loser.id else [field])]


def _has_name(field: Field, side: _Fields) -> bool:
    same = side.get(field.id)
    return same is not None and folded_column(same.name) == folded_column(field.name)


def _origin(field: Field, base: Field | None) -> str:
    if base is None:
        return f"added, {field.type}"
    return _field_text(field) if base.name == field.name else f"renamed from {base.name}"


def _field_text(field: Field | None) -> str:
    if field is None:
        return "dropped"
    return f"{field.name}: {field.type}{' not null' if field.required else ''}"


def _required_text(required: bool | None) -> str:
    return _NOTHING if required is None else "required" if required else "optional"


def _default_text(value: Any) -> str:
    return _NOTHING if value is None else str(value)


def _defaults(field: Field) -> tuple[Any, Any]:
    return field.initial_default, field.write_default


def _as_added(ours: Field, theirs: Field) -> Field:
    """A field that both sides added, as it was then; where they don't agree on that, as neither has it."""
    firsts, types = ([of(side) for side in (ours, theirs)] for of in (_first_default, _first_type))
    return Field(
        ours.name if ours.name == theirs.name else "",
        types[0] if types[0] == types[1] else _NEITHER_TYPE,
        initial_default=firsts[0] if repr(firsts[0]) == repr(firsts[1]) else _NEITHER,
        write_default=firsts[0] if repr(firsts[0]) == repr(firsts[1]) else _NEITHER,
    )


def _first_default(field: Field) -> Any:
    return field.initial_default


def _first_type(field: Field) -> Type:
    return field.widened_from or field.type
