"""A metastore in plain dictionaries: the oracle of the suite and of the machine. Slow, and easy to trust.

    (line, object, attribute) -> every state that it had, oldest first
    line                      -> its commits, oldest first

Nothing else is kept but checkpoints. Names, listings and dropped names are worked out from the lives each time somebody
asks.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from google.protobuf.message import Message

from lakebed.errors import AlreadyExists, Conflict, Invalid, NotFound
from lakebed.metastore.change import (
    AttributeRead,
    Change,
    Clash,
    Commit,
    DataChange,
    DataRead,
    LifeRecord,
    ListingRead,
    NameRead,
    Read,
    State,
)
from lakebed.metastore.kinds import CONTAINERS, new_id, type_name
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import TOMBSTONE, Child, Dropped, Reader
from lakebed.metastore.pages import Page, Question, check_limit
from lakebed.records import codec
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import Sight
from lakebed.records.layout import Attribute, id_element
from lakebed.records.names import folded
from lakebed.store import Version
from lakebed.store.version import ZERO
from lakebed.testing.metastore.arguments import check_arguments, check_ids, check_size
from lakebed.testing.metastore.checkpoint_model import CheckpointModel

T = TypeVar("T")
Name = tuple[str, str]  # parent, folded name
Unit = tuple[str, Attribute]  # object, attribute


@dataclass(frozen=True, slots=True)
class _Entry:
    """A commit as the model keeps it: with its fingerprint, and the names that it changed."""

    commit: Commit
    fingerprint: bytes
    names: frozenset[Name]


class _Tree:
    """What can be seen of a line: the newest visible state of each unit, and what follows from the lives."""

    def __init__(
        self, model: "ModelMetastore", line: Line, sight: Sight, coming: Mapping[str, LifeRecord] | None = None
    ):
        self.line = line
        self._model = model
        self._sight = sight
        self.lives: dict[str, LifeRecord] = {
            object_id: cast(LifeRecord, state.record)
            for object_id in sorted({one for at in sight for one in model.objects[at.line]})
            if (state := self.state(object_id, Attribute.LIFE))
        } | dict(coming or {})

    def states(self, object_id: str, attribute: Attribute) -> Iterator[State]:
        """Newest first: the line's own, then each ancestor's."""
        for at in self._sight:
            states = self._model.states[at.line, object_id, attribute]
            yield from (state for state in reversed(states) if state.version <= at.version)

    def state(self, object_id: str, attribute: Attribute) -> State | None:
        return next(self.states(object_id, attribute), None)

    def entries(self) -> Iterator[_Entry]:
        for at in self._sight:
            yield from (entry for entry in reversed(self._model.logs[at.line]) if entry.commit.version <= at.version)

    def name(self, record: LifeRecord) -> Name:
        return record.container_id, folded(record.name, self.line.casing)

    def names(self) -> dict[Name, list[Child]]:
        """Who has each name: one object each, unless the tree is of a change that can't be."""
        found: dict[Name, list[Child]] = defaultdict(list)
        for object_id, record in self.lives.items():
            if not record.dropped:
                found[self.name(record)].append(Child(record.name, object_id, record.type))
        return found

    def path(self, object_id: str) -> list[str]:
        """The ids from the outermost to the object's own; `NotFound` if one is not there, `Invalid` for a circle."""
        path: list[str] = []
        while object_id != self.line.top:
            if object_id not in self.lives:
                raise NotFound("there is no such object", subject=object_id)
            if object_id in path:
                raise Invalid("an object can't be inside itself", subject=object_id)
            path.insert(0, object_id)
            object_id = self.lives[object_id].container_id
        return path

    def require_alive(self, object_id: str) -> None:
        """Refuse an object that is not there, or that was dropped itself or with what it is in."""
        seen: set[str] = set()
        while object_id != self.line.top:
            if object_id not in self.lives or self.lives[object_id].dropped:
                raise NotFound("there is no such object, or it was dropped", subject=object_id)
            if object_id in seen:
                raise Invalid("an object can't be inside itself", subject=object_id)
            seen.add(object_id)
            object_id = self.lives[object_id].container_id


class ModelMetastore(CheckpointModel):
    def __init__(self) -> None:
        super().__init__()
        self.lake_id = new_id()
        self.format_version = 2
        self.states: dict[tuple[str, str, Attribute], list[State]] = defaultdict(list)
        self.objects: dict[str, set[str]] = defaultdict(set)  # those with a life on the line itself
        self.logs: dict[str, list[_Entry]] = defaultdict(list)
        self._events: dict[str, _Entry] = {}
        self._times: list[int] = []  # of versions 1, 2, …
        self._next_ids: dict[tuple[str, str], int] = defaultdict(lambda: 1)
        self._bodies: dict[tuple[str, str, int], bytes] = {}
        self._tick()

    # Versions

    def _tick(self) -> Version:
        self._times.append(max(self._times[-1] if self._times else 0, time.time_ns() // 1000))
        return self.newest()

    def newest(self) -> Version:
        return Version.parse(len(self._times))

    def version_at(self, time: int) -> Version:
        count = sum(1 for one in self._times if one <= time)
        if not count:
            raise NotFound("the lake has no version this old", expected=f"not before {self._times[0]}", found=time)
        return Version.parse(count)

    def times(self, versions: Sequence[Version]) -> list[int]:
        return [self._times[min(int(version), len(self._times)) - 1] if int(version) else 0 for version in versions]

    # Reading

    def reader(self, line: Line, version: Version | None = None) -> "ModelReader":
        newest = self.newest()
        if version is not None and version > newest:
            raise Invalid("the lake has no such version yet", expected=f"at most {newest}", found=version)
        return ModelReader(self, line, newest if version is None else version)

    def find(self, event_id: str) -> Commit | None:
        id_element(event_id)
        entry = self._events.get(event_id)
        return entry.commit if entry else None

    def reserve(self, table: str, kind: str, body: bytes) -> bytes:
        check_ids([table])
        with self._lock:
            if (table, kind, 1) not in self._bodies:  # what is kept already is read, and nothing is written
                self._tick()
            return self._bodies.setdefault((table, kind, 1), body)

    def bodies(self, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
        check_ids(table for table, _, _ in wanted)
        return [self._bodies.get(one) for one in wanted]

    def heads(self, lines: Sequence[Line], version: Version) -> list[Version | None]:
        newest = (self.reader(line, version).log(limit=1).items for line in lines)
        return [commits[0].version if commits else None for commits in newest]

    def forks(self, parent: str, *, project: str = "") -> list[str]:
        check_ids([parent])
        newest = {
            unit[1]: states[-1].record for unit, states in self.states.items() if unit[2] is Attribute.REF and states
        }
        refs = {one: record for one, record in newest.items() if isinstance(record, pb.CatalogRecord)}
        return sorted(one for one, ref in refs.items() if (ref.parent_id, ref.parent_project_id) == (parent, project))

    def data_records(self) -> Iterator[tuple[str, State]]:
        for (_, partition, attribute), states in self.states.items():
            yield from ((partition, state) for state in states if attribute is Attribute.DATA)
        yield from ((partition, state) for (_, partition, _), state in self._checkpoints.items())

    def copy_to(self, path: str) -> None:
        raise Invalid("a model can't be copied", subject=path)

    def check(self) -> list[str]:
        return []

    def close(self) -> None:
        pass

    # Writing

    def allocate(self, table: str, kind: str, count: int = 1) -> int:
        id_element(table)
        if count < 1:
            raise Invalid("at least one id must be asked for", subject=f"{kind} ids of table {table}", found=count)
        with self._lock:
            self._tick()
            self._next_ids[table, kind] += count
            return self._next_ids[table, kind] - count

    def commit(self, change: Change) -> Commit:
        check_arguments(change)
        with self._lock:
            if entry := self._events.get(change.event_id):
                return self._replayed(entry, change)
            return self._commit(change)

    def _replayed(self, entry: _Entry, change: Change) -> Commit:
        if (entry.fingerprint, entry.commit.line) != (change.fingerprint, change.line.id):
            raise Invalid("an event id was used for another change", subject=change.event_id)
        return entry.commit

    def _commit(self, change: Change) -> Commit:
        newest = self.newest()
        if change.base > newest:
            raise Invalid("the base is later than the newest version", expected=f"at most {newest}", found=change.base)
        if change.line.ancestry and change.base < change.line.ancestry[0].version:
            raise Invalid("the base is from before the branch", expected=change.line.ancestry[0], found=change.base)
        self._check_holders(change)
        now = _Tree(self, change.line, change.line.sight(newest))
        then = _Tree(self, change.line, change.line.sight(newest), change.lives)
        _check_structure(now, then, change)
        if clashes := [
            clash for read in dict.fromkeys(_all_reads(change)) if (clash := self._clash(now, change, read))
        ]:
            raise Conflict("what this change read was changed by others", conflicts=clashes)
        self._check_bodies(change)
        next_ids = dict(self._next_ids)
        deltas = [(one, _fold(one, now.state(one.partition, Attribute.DATA), next_ids)) for one in change.data]
        check_size(change, [record for _, record in deltas])
        # Nothing above has changed anything; nothing below can fail.
        self._next_ids.update(next_ids)
        self._bodies.update(change.bodies)
        version = self._tick()
        for object_id, life in change.lives.items():
            self.objects[change.line.id].add(object_id)
            self._save(
                change.line.id, object_id, Attribute.LIFE, _born(life, now.lives.get(object_id), version), version
            )
        for (object_id, attribute), record in change.attributes.items():
            self._save(change.line.id, object_id, attribute, record, version)
        for data, delta in deltas:
            self._save(change.line.id, data.partition, Attribute.DATA, delta, version)
        return self._log(change, version, _changed_names(now, then))

    def _check_holders(self, change: Change) -> None:
        for holder in change.hangs_on:
            states = self.states[holder.line, holder.object_id, Attribute.LIFE]
            if not states or cast(LifeRecord, states[-1].record).dropped:
                raise NotFound("what the line belongs to is not there", subject=holder.object_id)

    def _save(self, line: str, object_id: str, attribute: Attribute, record: Message, version: Version) -> None:
        self.states[line, object_id, attribute].append(
            State(codec.filled(copied(record), line, object_id), version, line)
        )

    def _log(self, change: Change, version: Version, names: frozenset[Name]) -> Commit:
        commit = Commit(
            id=change.event_id,
            line=change.line.id,
            version=version,
            time=self._times[-1],
            message=change.message,
            author=change.author,
            project=change.project,
            operations=change.operations,
            parents=change.parents,
            base=change.base,
            fingerprint=change.fingerprint,
        )
        entry = _Entry(commit, change.fingerprint, names)
        self.logs[change.line.id].append(entry)
        self._events[change.event_id] = entry
        return commit

    def _check_bodies(self, change: Change) -> None:
        for one, body in change.bodies.items():
            if self._bodies.get(one, body) != body:
                raise Invalid("a body never changes", subject=f"{one[1]} {one[2]} of {one[0]}")

    def erase(self, line: str, objects: Sequence[str], bodies_of: Sequence[str] = ()) -> None:
        check_ids((line, *objects, *bodies_of))
        with self._lock:
            for one, object_id, attribute in list(self.states):
                if one == line and object_id in objects and attribute is not Attribute.LIFE:
                    del self.states[one, object_id, attribute]
            self.erase_checkpoints(line, objects)
            for body in [one for one in self._bodies if one[0] in bodies_of and one[1] != TOMBSTONE]:
                del self._bodies[body]
            for kind in [one for one in self._next_ids if one[0] in bodies_of]:
                del self._next_ids[kind]
            self._tick()

    def erase_line(self, line: str) -> None:
        check_ids([line])
        with self._lock:
            for unit in [one for one in self.states if one[0] == line]:
                del self.states[unit]
            self.erase_checkpoints(line, None)
            self.objects[line].clear()
            self.logs[line] = [replace(entry, names=frozenset()) for entry in self.logs[line]]
            self._tick()

    # What was read and has changed

    def _clash(self, now: _Tree, change: Change, read: Read) -> Clash | None:
        match read:
            case AttributeRead(object_id, attribute, line, objection):
                tree = now if line in (None, change.line.id) else self._elsewhere(str(line))
                state = tree.state(object_id, attribute)
                asks = objection is not None and state is not None and state.version > change.base
                said = objection(_copied_state(state)) if asks and objection and state else ""
                what, found = attribute.name.lower(), state.version if state else None
                return None if said is None else self._clash_at(what, object_id, change.base, found, said)
            case NameRead(parent, name):
                wanted = (parent, folded(name, change.line.casing))
                touched = (entry for entry in now.entries() if wanted in entry.names)
                return self._clash_at(f"name {name!r}", parent, change.base, _newest(touched))
            case ListingRead(parent, line):
                tree = now if line in (None, change.line.id) else self._elsewhere(str(line))
                touched = (entry for entry in tree.entries() if any(name[0] == parent for name in entry.names))
                return self._clash_at("listing", parent, change.base, _newest(touched))
            case DataRead(partition, objection):
                deltas = [state for state in now.states(partition, Attribute.DATA) if state.version > change.base]
                if not deltas:
                    return None
                reason = objection([_copied_state(state) for state in reversed(deltas)]) if objection else ""
                return (
                    None
                    if reason is None
                    else self._clash_at("data", partition, change.base, deltas[0].version, reason)
                )

    def _elsewhere(self, line: str) -> _Tree:
        other = Line(line, line)
        return _Tree(self, other, other.sight(self.newest()))

    def _clash_at(
        self, what: str, object_id: str, base: Version, found: Version | None, reason: str = ""
    ) -> Clash | None:
        if found is None or found <= base:
            return None
        commit = next((one.commit for one in self._events.values() if one.commit.version == found), None)
        return Clash(what, object_id, base, found, commit, reason)


class ModelReader(Reader):
    def __init__(self, model: ModelMetastore, line: Line, version: Version) -> None:
        self.line = line
        self.version = version
        self._model = model

    def _tree(self, version: Version | None = None) -> _Tree:
        return _Tree(self._model, self.line, self.line.sight(version or self.version))

    def attributes(self, wanted: Sequence[Unit]) -> list[State | None]:
        check_ids(object_id for object_id, _ in wanted)
        tree = self._tree()
        found = [tree.state(*one) for one in wanted]
        return [_copied_state(state) if state else None for state in found]

    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        check_ids(ids)
        tree = self._tree()
        paths = [tree.path(one) if one in tree.lives else [] for one in ids]
        return [
            tuple(_copied_state(state) for one in path if (state := tree.state(one, Attribute.LIFE))) for path in paths
        ]

    def resolve(self, names: Sequence[Name]) -> list[str | None]:
        check_ids(parent for parent, _ in names)
        taken = self._tree().names()
        found = [taken.get((parent, folded(name, self.line.casing))) for parent, name in names]
        return [children[0].id if children else None for children in found]

    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        check_ids([parent])

        def children(tree: _Tree) -> list[Child]:
            wanted = folded(prefix, self.line.casing)
            names = {name: found[0] for name, found in tree.names().items()}
            return [names[name] for name in sorted(names) if name[0] == parent and name[1].startswith(wanted)]

        return self._page(("children", parent, prefix), limit, token, children)

    def dropped(
        self, parent: str, *, name: str | None = None, limit: int = 1000, token: str | None = None
    ) -> Page[Dropped]:
        check_ids([parent])

        def dropped(tree: _Tree) -> list[Dropped]:
            gone = [(tree.name(life), one) for one, life in tree.lives.items() if life.dropped]
            if name is not None:
                gone = [found for found in gone if found[0][1] == folded(name, self.line.casing)]
            return [_dropped(tree, one) for found, one in sorted(gone) if found[0] == parent]

        return self._page(("dropped", parent, name), limit, token, dropped)

    def history(
        self,
        object_id: str,
        attribute: Attribute,
        *,
        since: Version | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[State]:
        check_ids([object_id])

        def states(tree: _Tree) -> list[State]:
            return [_copied_state(one) for one in tree.states(object_id, attribute) if one.version > (since or ZERO)]

        return self._page(("history", object_id, attribute, since), limit, token, states)

    def histories(
        self, wanted: Sequence[tuple[str, Attribute, Version | None]], *, limit: int = 100
    ) -> list[Page[State]]:
        return [self.history(object_id, attribute, since=since, limit=limit) for object_id, attribute, since in wanted]

    def checkpoints(self, partitions: Sequence[str]) -> list[State | None]:
        sight = self.line.sight(self.version)
        return [self._model.nearest_checkpoint(sight, partition) for partition in partitions]

    def every_checkpoint(self, partitions: Sequence[str]) -> list[list[State]]:
        lines = self.line.sight(self.version)[::-1]
        return [
            [
                state
                for at in lines
                for state in reversed(self._model.checkpoints(at.line, partition))
                if state.version <= at.version
            ]
            for partition in partitions
        ]

    def log(
        self,
        *,
        object_id: str | None = None,
        author: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[Commit]:
        check_ids([] if object_id is None else [object_id])

        def shown(commit: Commit) -> bool:
            return (
                (object_id is None or any(one.object_id == object_id for one in commit.operations))
                and (author is None or commit.author == author)
                and (since is None or since <= commit.time)
                and (until is None or commit.time <= until)
            )

        def commits(tree: _Tree) -> list[Commit]:
            return [entry.commit for entry in tree.entries() if shown(entry.commit)]

        return self._page(("log", object_id, author, since, until), limit, token, commits)

    def _page(
        self, asked: tuple[object, ...], limit: int, token: str | None, answer: Callable[[_Tree], list[T]]
    ) -> Page[T]:
        check_limit(limit)
        question = Question((self._model.lake_id, self.line.id, *asked))
        version, position = question.open(token) if token is not None else (self.version, bytes(4))
        if version > self.version:
            raise Invalid("a page token is of a later version", expected=f"at most {self.version}", found=version)
        start = int.from_bytes(position)
        items = answer(self._tree(version))
        end = start + limit
        return Page(items[start:end], question.token(version, end.to_bytes(4)) if end < len(items) else None)


def copied(record: Message) -> Message:
    copy = type(record)()
    copy.CopyFrom(record)
    return copy


def _copied_state(state: State) -> State:
    return State(copied(state.record), state.version, state.line)


def _all_reads(change: Change) -> Iterator[Read]:
    yield from change.reads
    for object_id in change.lives:
        yield AttributeRead(object_id, Attribute.LIFE)
    for unit in change.attributes:
        yield AttributeRead(*unit)


def _check_structure(now: _Tree, then: _Tree, change: Change) -> None:
    for object_id, life in change.lives.items():
        _check_life(now, object_id, life)
        _check_container(then, object_id, life)
    for found in then.names().values():
        if len(found) > 1:
            raise AlreadyExists("a name would have two objects", found=" and ".join(f"{one.name!r}" for one in found))
    born = change.lives.keys() - now.lives.keys()
    for object_id in (*(one for one, _ in change.attributes), *(data.table for data in change.data)):
        if object_id not in born:
            then.require_alive(object_id)


def _check_life(now: _Tree, object_id: str, life: LifeRecord) -> None:
    if object_id == now.line.top:
        raise Invalid("a line's top is not an object on that line", subject=object_id)
    if object_id in now.lives and now.lives[object_id].type != life.type:
        raise Invalid("an object never changes its type", subject=object_id, found=type_name(life.type))


def _check_container(then: _Tree, object_id: str, life: LifeRecord) -> None:
    container = life.container_id
    if container != then.line.top and container not in then.lives:
        raise NotFound("there is no such container", subject=container)
    kind = None if container == then.line.top else then.lives[container].type
    if kind not in CONTAINERS[life.type]:
        raise Invalid(f"a {type_name(life.type)} can't be in this", subject=object_id, found=kind and type_name(kind))
    if life.dropped:
        then.path(object_id)
    else:
        then.require_alive(object_id)


def _changed_names(now: _Tree, then: _Tree) -> frozenset[Name]:
    before, after = now.names(), then.names()
    return frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _newest(entries: Iterator[_Entry]) -> Version | None:
    return max((entry.commit.version for entry in entries), default=None)


def _born(life: LifeRecord, previous: LifeRecord | None, version: Version) -> Message:
    """The life with the version of its object's first one, whatever the caller put there."""
    copy = cast(LifeRecord, copied(life))
    copy.create_version = previous.create_version if previous else bytes(version)
    copy.ClearField("drop_version")
    if copy.dropped:
        copy.drop_version = previous.drop_version if previous and previous.dropped else bytes(version)
    return copy


def _dropped(tree: _Tree, object_id: str) -> Dropped:
    life = tree.lives[object_id]
    kind = life.drop_type or pb.MARKED
    return Dropped(life.name, object_id, life.type, Version(life.create_version), Version(life.drop_version), kind)


def _fold(data: DataChange, previous: State | None, next_ids: dict[tuple[str, str], int]) -> pb.TableHistory:
    first: dict[str, int] = {}
    for kind, count in data.allocate.items():
        if count < 1:
            raise Invalid("at least one id must be asked for", subject=f"{kind} ids of {data.table}", found=count)
        first[kind] = next_ids.get((data.table, kind), 1)
        next_ids[data.table, kind] = first[kind] + count
    record = data.fold(_copied_state(previous) if previous else None, first)
    if not isinstance(record, pb.TableHistory):
        raise Invalid("a delta is a TableHistory", subject=data.partition, found=type(record).__name__)
    return record
