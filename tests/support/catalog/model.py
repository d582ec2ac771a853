"""A catalog as one plain value, and all that people do to it as pure functions: what the real one is compared with.

state: id -> thing, dropped ones too; the catalog itself is a thing without a parent
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Parts = tuple[str, ...]

CATALOG, NAMESPACE, TABLE, VIEW = "catalog", "namespace", "table", "view"


class Refused(Exception):
    """What the model does not allow; the real catalog has to refuse it too."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A namespace, a table, a view, or the catalog. A table's rows are numbers here; the torture has pairs."""

    id: str
    kind: str
    parent: str = ""
    name: str = ""
    dropped: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[int, str] = field(default_factory=dict)
    rows: frozenset[Any] = frozenset()
    sql: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        return self.parent, self.name


@dataclass(frozen=True, slots=True)
class State:
    """All that a line knows at one version."""

    top: str
    things: Mapping[str, Thing]

    def get(self, id: str) -> Thing | None:
        return self.things.get(id)

    def chain(self, id: str) -> Iterator[Thing]:
        """A thing and what it is in, up to the top; ends early where something is unknown or goes round."""
        seen: set[str] = set()
        while id != self.top and id in self.things and id not in seen:
            seen.add(id)
            yield self.things[id]
            id = self.things[id].parent

    def is_alive(self, id: str) -> bool:
        """Whether it is there and neither it nor anything that it is in was dropped."""
        chain = list(self.chain(id))
        ends_at_top = id == self.top or (bool(chain) and chain[-1].parent == self.top)
        return ends_at_top and not any(one.dropped for one in chain)

    def alive(self, *kinds: str) -> list[Thing]:
        """The living things of some kinds, by name."""
        found = [one for one in self.things.values() if one.kind in kinds and self.is_alive(one.id)]
        return sorted(found, key=lambda one: (self.parts(one.id), one.id))

    def parts(self, id: str) -> Parts:
        return tuple(one.name for one in self.chain(id))[::-1]

    def name(self, id: str) -> str:
        return ".".join(self.parts(id))

    def children(self, parent: str) -> list[Thing]:
        return [one for one in self.things.values() if one.parent == parent and not one.dropped]

    def child(self, parent: str, name: str) -> Thing | None:
        """The living thing of a name in a parent."""
        return next((one for one in self.children(parent) if folded(one.name) == folded(name)), None)

    def find(self, parts: Parts, kind: str) -> Thing:
        """The living thing of a kind with this name."""
        parent = self.container(parts[:-1])
        found = self.child(parent, parts[-1])
        if found is None or found.kind != kind:
            raise Refused
        return found

    def container(self, parts: Parts) -> str:
        return self.find(parts, NAMESPACE).id if parts else self.top

    def free(self, parts: Parts, but: str = "") -> tuple[str, str]:
        """The place that a free name means, or one that a thing has itself."""
        parent = self.container(parts[:-1])
        taken = self.child(parent, parts[-1])
        if taken is not None and taken.id != but:
            raise Refused
        return parent, parts[-1]

    def put(self, *things: Thing) -> "State":
        return State(self.top, {**self.things, **{one.id: one for one in things}})


def folded(name: str) -> str:
    return name.casefold()


def empty(top: str) -> State:
    return State(top, {top: Thing(top, CATALOG)})


def create(state: State, parts: Parts, kind: str, id: str, columns: Mapping[int, str], sql: str | None) -> State:
    parent, name = state.free(parts)
    return state.put(Thing(id, kind, parent, name, columns=columns, sql=sql))


def rename(state: State, old: Parts, new: Parts, kind: str) -> State:
    thing = state.find(old, kind)
    parent, name = state.free(new, but=thing.id)
    if any(one.id == thing.id for one in state.chain(parent)):
        raise Refused
    return state.put(replace(thing, parent=parent, name=name))


def drop(state: State, parts: Parts, kind: str, *, cascade: bool = True) -> State:
    thing = state.find(parts, kind)
    if not cascade and state.children(thing.id):
        raise Refused
    return state.put(replace(thing, dropped=True))


def candidates(state: State, parts: Parts, kind: str) -> list[Thing]:
    """What was dropped, itself, under a name."""
    parent = state.container(parts[:-1])
    found = [one for one in state.things.values() if (one.parent, one.kind, one.dropped) == (parent, kind, True)]
    return [one for one in found if folded(one.name) == folded(parts[-1])]


def undrop(state: State, parts: Parts, kind: str, id: str | None, as_parts: Parts | None) -> State:
    """Bring back what was dropped itself under a name or, with an id, whatever is dead; elsewhere, if that is said."""
    found = candidates(state, parts, kind) if id is None else _dead(state, parts, kind, id)
    if len(found) != 1:
        raise Refused
    [thing] = found
    if as_parts is not None:
        parent, name = state.free(as_parts)
    else:
        parent, name = thing.place
        if not state.is_alive(parent) or state.child(parent, name) is not None:
            raise Refused
    return state.put(replace(thing, parent=parent, name=name, dropped=False))


def _dead(state: State, parts: Parts, kind: str, id: str) -> list[Thing]:
    thing = state.get(id)
    if thing is None or thing.kind != kind or state.is_alive(id):
        return []
    return [thing] if [*map(folded, state.parts(id))] == [*map(folded, parts)] else []


def put_property(state: State, id: str, key: str, value: str | None) -> State:
    thing = state.things[id]
    kept = {one: text for one, text in thing.properties.items() if one != key}
    return state.put(replace(thing, properties=kept if value is None else {**kept, key: value}))


def set_sql(state: State, id: str, sql: str) -> State:
    return state.put(replace(state.things[id], sql=sql))


def append(state: State, id: str, row: int) -> State:
    thing = state.things[id]
    return state.put(replace(thing, rows=thing.rows | {row}))


def put_column(state: State, id: str, column: int, name: str | None) -> State:
    """Add a column, give one another name, or, with None, take one away."""
    thing = state.things[id]
    others = {one: text for one, text in thing.columns.items() if one != column}
    if name is not None and folded(name) in map(folded, others.values()):
        raise Refused
    return state.put(replace(thing, columns=others if name is None else {**others, column: name}))


def reset(now: State, then: State) -> State:
    """What it was then: what was not there is dropped. What was dead then stays what it is now, but is dead."""
    lives = now
    for thing in now.things.values():
        lives = lives.put(_life_of_then(thing, then))
    return lives.put(*(_parts_of_then(lives, one, then.get(one.id)) for one in lives.things.values()))


def _life_of_then(now: Thing, then: State) -> Thing:
    past = then.get(now.id)
    if past is None or past.dropped:
        return replace(now, dropped=True)
    if then.is_alive(past.parent) or now.kind == CATALOG:
        return replace(now, dropped=False, parent=past.parent, name=past.name)
    return replace(now, dropped=now.dropped or past.parent != now.parent)


def _parts_of_then(lives: State, now: Thing, then: Thing | None) -> Thing:
    if then is None or then.dropped or not lives.is_alive(now.id):
        return now
    return replace(then, parent=now.parent, name=now.name)


def restore(now: State, then: State, parts: Parts) -> State:
    """One table as it was, its name included: that of this name now, or else that of then."""
    try:
        table = now.find(parts, TABLE).id
    except Refused:
        table = then.find(parts, TABLE).id
    past = then.get(table)
    if past is None or not then.is_alive(table) or not now.is_alive(past.parent) or table not in now.things:
        raise Refused
    holder = now.child(past.parent, past.name)
    if holder is not None and holder.id != table:
        raise Refused
    return now.put(past)


@dataclass(frozen=True, slots=True)
class Compared:
    """One thing that differs between two states."""

    kind: str
    id: str
    name: str
    rows_added: int = 0
    rows_removed: int = 0


def differences(first: State, second: State) -> set[Compared]:
    """What would turn the first state into the second, among what is alive."""
    found = (_compared(first, second, id) for id in {*first.things, *second.things})
    return {one for one in found if one is not None}


def _compared(first: State, second: State, id: str) -> Compared | None:
    was, now = first.is_alive(id), second.is_alive(id)
    if not was and not now:
        return None
    before, after = first.things[id].rows if was else frozenset(), second.things[id].rows if now else frozenset()
    rows = len(after - before), len(before - after)
    if not now:
        return Compared("dropped", id, first.name(id), *rows)
    if not was:
        return Compared("created", id, second.name(id), *rows)
    old, new = first.things[id], second.things[id]
    if old == new:
        return None
    return Compared("changed" if old.place == new.place else "renamed", id, second.name(id), *rows)
