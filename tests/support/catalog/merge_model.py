"""Merging two states of the model over a third, by the matrix of acceptance/002 and the rules of decisions.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeVar

from tests.support.catalog.model import CATALOG, State, Thing, folded

T = TypeVar("T")

FAIL, OURS, THEIRS = "fail", "ours", "theirs"


@dataclass(frozen=True, slots=True)
class Sides:
    """The three states, and rows that both sides got since the base, by table: they count as there."""

    base: State
    ours: State
    theirs: State
    shared_rows: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Merged:
    """What a merge comes to. `conflicts` are settled as the strategy says; a tangled one the model can't settle."""

    state: State
    conflicts: set[tuple[str, str]]
    tangled: set[tuple[str, str]]

    @property
    def is_fine(self) -> bool:
        return not self.conflicts and not self.tangled


def merge(sides: Sides, strategy: str = FAIL) -> Merged:
    """Three-way, object by object; then what they are in and what they are called."""
    merging = _Merging(sides, strategy)
    ids = {*sides.ours.things, *sides.theirs.things}
    things = {id: thing for id in sorted(ids) if (thing := merging.thing(id)) is not None}
    return merging.tree(State(sides.ours.top, things))


def _is_kept(thing: Thing | None) -> bool:
    return thing is not None and not thing.dropped


def _did_hard(base: Thing | None, side: Thing) -> bool:
    """Whether a side did what a drop on the other side would lose."""
    if base is None or (base.dropped and not side.dropped):
        return True
    return (base.place, base.columns, base.rows, base.sql) != (side.place, side.columns, side.rows, side.sql)


class _Merging:
    def __init__(self, sides: Sides, strategy: str) -> None:
        self.sides = sides
        self.strategy = strategy
        self.lives: set[tuple[str, str]] = set()
        self.parts: set[tuple[str, str]] = set()

    def thing(self, id: str) -> Thing | None:
        base, ours, theirs = (one.get(id) for one in (self.sides.base, self.sides.ours, self.sides.theirs))
        if ours is None:
            return self._brought(base, theirs)
        if theirs is None or not _is_kept(theirs):
            return self._dropped_there(base, ours, theirs)
        if not _is_kept(ours):
            return self._dropped_here(base, ours, theirs)
        place = self._three(id, "name", base.place if base else None, ours.place, theirs.place)
        return self._with_parts(replace(ours, parent=place[0], name=place[1]), base, theirs)

    def _brought(self, base: Thing | None, theirs: Thing | None) -> Thing | None:
        if theirs is None or not _is_kept(theirs) or not self.sides.theirs.is_alive(theirs.id):
            return None
        if base is not None and self.sides.base.is_alive(base.id):  # a picked commit changed what ours never had
            return None if base == theirs or self._wins_ours(self.lives, theirs.id, "drop") else theirs
        return theirs

    def _dropped_there(self, base: Thing | None, ours: Thing, theirs: Thing | None) -> Thing:
        if base is None or not _is_kept(base) or not _is_kept(ours):
            return ours
        if theirs is None and not (self.sides.base.is_alive(base.id) and self.sides.theirs.is_alive(base.parent)):
            return ours  # theirs never got it, since what it is in was dropped there
        if _did_hard(base, ours) and self._wins_ours(self.lives, ours.id, "drop"):
            return ours if theirs is None else self._with_parts(ours, base, theirs)
        return replace(ours, dropped=True)

    def _dropped_here(self, base: Thing | None, ours: Thing, theirs: Thing) -> Thing:
        if _is_kept(base) and (not _did_hard(base, theirs) or self._wins_ours(self.lives, ours.id, "drop")):
            return ours
        if base is None:  # a reset to before its birth left it dropped
            return theirs
        back = replace(ours, parent=theirs.parent, name=theirs.name, dropped=False)
        return self._with_parts(back, base, theirs)

    def _with_parts(self, ours: Thing, base: Thing | None, theirs: Thing) -> Thing:
        before = base or Thing(ours.id, ours.kind)
        keys = {*before.properties, *ours.properties, *theirs.properties}
        values = {
            key: self._three(
                ours.id,
                f"property {key}",
                *(one.get(key) for one in (before.properties, ours.properties, theirs.properties)),
            )
            for key in sorted(keys)
        }
        common = before.rows | self.sides.shared_rows.get(ours.id, frozenset())
        return replace(
            ours,
            properties={key: value for key, value in values.items() if value is not None},
            sql=self._three(ours.id, "view", before.sql, ours.sql, theirs.sql),
            columns=self._columns(ours.id, before.columns, ours.columns, theirs.columns),
            rows=(ours.rows & theirs.rows) | (ours.rows - common) | (theirs.rows - common),
        )

    def _columns(
        self, id: str, base: Mapping[int, str], ours: Mapping[int, str], theirs: Mapping[int, str]
    ) -> Mapping[int, str]:
        names = {
            column: self._three(id, f"column {column}", *(one.get(column) for one in (base, ours, theirs)))
            for column in sorted({*ours, *theirs})
        }
        found = {column: name for column, name in names.items() if name is not None}
        clashes = [pair for pair in combinations(found, 2) if folded(found[pair[0]]) == folded(found[pair[1]])]
        winner = theirs if self.strategy == THEIRS else ours
        for pair in clashes:
            self.parts.add((id, "column names"))
            for column in pair:
                if folded(winner.get(column, "")) != folded(found[column]):
                    found[column] = winner.get(column, "")
        return {column: name for column, name in found.items() if name}

    def _three(self, id: str, what: str, base: T | None, ours: T, theirs: T) -> T:
        if theirs in (base, ours):
            return ours
        if ours == base:
            return theirs
        return ours if self._wins_ours(self.lives if what == "name" else self.parts, id, what) else theirs

    def _wins_ours(self, rows: set[tuple[str, str]], id: str, what: str) -> bool:
        rows.add((id, what))
        return self.strategy != THEIRS

    # What things are in, and their names

    def tree(self, state: State) -> Merged:
        tangled = {*self._lost_inside(state), *_circles(state), *_clashes(state)}
        dead = [one for one in state.things.values() if not one.dropped and not state.is_alive(one.id)]
        settled = State(state.top, {**state.things})
        for thing in dead:
            settled = self._dead(settled, thing)
        # A drop wins over properties, and what is dead on both sides can't be lost.
        parts = {row for row in self.parts if state.is_alive(row[0])}
        return Merged(settled, self.lives | parts, tangled)

    def _lost_inside(self, state: State) -> set[tuple[str, str]]:
        dead = [id for id, one in state.things.items() if not one.dropped and not state.is_alive(id)]
        return {(id, "inside") for id in dead if any(self._loses(id, side) for side in self._changing_sides())}

    def _changing_sides(self) -> tuple[State, State]:
        return self.sides.ours, self.sides.theirs

    def _loses(self, id: str, side: State) -> bool:
        return side.is_alive(id) and _did_hard(self.sides.base.get(id), side.things[id])

    def _dead(self, state: State, thing: Thing) -> State:
        """What is in something dropped is dead as ours has it."""
        ours = self.sides.ours.get(thing.id)
        if ours is None:
            return State(state.top, {id: one for id, one in state.things.items() if id != thing.id})
        kept = state.put(ours)
        return kept.put(replace(ours, dropped=True)) if kept.is_alive(ours.id) else kept


def _circles(state: State) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for id, thing in state.things.items():
        chain = list(state.chain(id))
        if thing.kind != CATALOG and chain[-1].parent != state.top and chain[-1].parent in state.things:
            found.add((id, "circle"))
    return found


def _clashes(state: State) -> set[tuple[str, str]]:
    alive = [one for one in state.things.values() if one.kind != CATALOG and state.is_alive(one.id)]
    key: Callable[[Thing], tuple[str, str]] = lambda one: (one.parent, folded(one.name))  # noqa: E731
    return {(one.id, f"name {other.id}") for one, other in combinations(alive, 2) if key(one) == key(other)}
