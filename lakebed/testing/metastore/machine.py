"""A Hypothesis machine: any metastore beside the model, under any changes, on branches three deep, with stale bases.

Both get every change and must answer alike: the same commit or the same kind of error, the same clashes; and every line
must look the same at the newest version and at any older one. Versions may differ; their order may not.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lakebed.errors import Conflict, LakebedError
from lakebed.metastore.change import (
    AttributeRead,
    Change,
    Clash,
    Commit,
    DataRead,
    LifeRecord,
    ListingRead,
    NameRead,
    Operation,
    Read,
    State,
)
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.testing.metastore.model import ModelMetastore
from lakebed.testing.metastore.writer import (
    RECORDS,
    appending,
    checkpoint_of,
    picture,
    plain,
    root_partition,
)

NAMES = ("a", "A", "b", "ß", "SS")
ATTRIBUTES = (Attribute.LIFE, Attribute.PROPERTIES, Attribute.SCHEMA)
OBJECTS, LINES, DEPTH = 10, 5, 3

lines = st.integers(0, LINES - 1)
objects = st.integers(0, OBJECTS - 1)
containers = st.integers(-1, OBJECTS - 1)  # -1 is the top
names = st.sampled_from(NAMES)
ages = st.one_of(st.just(0), st.integers(0, 6))
kinds = st.sampled_from([pb.NAMESPACE, pb.NAMESPACE, pb.TABLE, pb.VIEW])


class _Side:
    """One of the two metastores, with its own versions for the same commits and lines."""

    def __init__(self, metastore: Metastore, catalog: str) -> None:
        self.metastore = metastore
        self.lines = [Line(catalog, catalog)]
        self.versions = [metastore.newest()]

    def number(self, version: Version) -> int:
        return self.versions.index(version)

    def life(self, object_id: str, line: Line, version: Version) -> LifeRecord | None:
        [state] = self.metastore.reader(line, version).attributes([(object_id, Attribute.LIFE)])
        return cast(LifeRecord, state.record) if state else None

    def outcome(self, change: Change) -> tuple[object, ...]:
        try:
            commit = self.metastore.commit(change)
        except Conflict as error:
            return error.kind, sorted(set(map(self._clash, error.conflicts)))
        except LakebedError as error:
            return (error.kind,)
        if commit.version not in self.versions:
            self.versions.append(commit.version)
        return ("committed", *self._commit(commit))

    def _commit(self, commit: Commit) -> tuple[object, ...]:
        shown = (commit.id, commit.line, commit.author, commit.message, commit.operations)
        return (*shown, self.number(commit.version), self.number(commit.base))

    def _clash(self, clash: Clash) -> tuple[object, ...]:
        by = clash.commit.id if clash.commit else None
        return clash.what, clash.object_id, self.number(clash.base), self.number(clash.found), by, clash.reason

    def picture(self, line: int, number: int, ids: list[str], limit: int) -> dict[str, object]:
        reader = self.metastore.reader(self.lines[line], self.versions[number])
        shown = picture(reader, ids, NAMES, self.number, attributes=ATTRIBUTES, limit=limit)
        return shown | {"checkpoints": {one: self._checkpoint(reader.checkpoint(root_partition(one))) for one in ids}}

    def _checkpoint(self, found: State | None) -> object:
        return None if found is None else (plain(found.record), self.number(found.version), found.line)

    def put_checkpoint(self, line: int, number: int, table: str, place: int, files: int) -> object:
        """Put one of the line's deltas as it sees them, inherited ones too; the kind of error, if any."""
        at = self.lines[line]
        deltas = self.metastore.reader(at, self.versions[number]).history(root_partition(table), Attribute.DATA).items
        if not deltas:
            return "no data"
        delta = deltas[place % len(deltas)]
        try:
            self.metastore.put_checkpoint(at.id, root_partition(table), delta.version, checkpoint_of(delta, files))
        except LakebedError as error:
            return error.kind
        return "put", self.number(delta.version)


class MetastoreMachine(RuleBasedStateMachine):
    """Subclass it with `make`, which gives the metastore of an empty lake; `run_state_machine_as_test` runs it."""

    def make(self) -> Metastore:
        raise NotImplementedError("the subclass says how to make the metastore of an empty lake")

    def __init__(self) -> None:
        super().__init__()
        catalog = new_id()
        self.sides = [_Side(self.make(), catalog), _Side(ModelMetastore(), catalog)]
        self.ids: list[str] = []
        self.kinds: dict[str, int] = {}
        self.events: list[Change] = []
        self.touched = 0

    def teardown(self) -> None:
        newest = len(self.sides[0].versions) - 1
        for line in range(len(self.sides[0].lines)):
            for number in {newest, newest * 2 // 3, newest // 3}:
                self.compare(line, number, 1000)
        assert self.sides[0].metastore.check() == []
        self.sides[0].metastore.close()

    # Doing the same on both sides

    def both(self, line: int, age: int, parts: Callable[[_Side, Line, Version], dict[str, Any]], **fixed: Any) -> bool:
        """Commit to both; whether it took effect."""
        line %= len(self.sides[0].lines)
        event = fixed.pop("event_id", None) or new_id()
        outcomes = []
        for side in self.sides:
            at = side.lines[line]
            base = side.versions[max(0, len(side.versions) - 1 - age)]
            change = Change(event_id=event, line=at, base=base, author="ada", **fixed, **parts(side, at, base))
            outcomes.append(side.outcome(change))
        self.events.append(change)
        assert outcomes[0] == outcomes[1]
        self.touched = line
        return outcomes[0][0] == "committed"

    def object(self, number: int) -> str:
        return self.ids[number % len(self.ids)]

    def container(self, number: int) -> str:
        return self.sides[0].lines[0].top if number < 0 or not self.ids else self.object(number)

    def altered(self, side: _Side, line: Line, base: Version, object_id: str, **fields: Any) -> LifeRecord:
        """The object's life at the base with other fields; a first one where it had none."""
        top = self.sides[0].lines[0].top
        record = side.life(object_id, line, base) or life(self.kinds[object_id], top, NAMES[0])
        for field, value in fields.items():
            setattr(record, field, value)
        return record

    def compare(self, line: int, number: int, limit: int) -> None:
        real, model = (side.picture(line, number, self.ids, limit) for side in self.sides)
        for part in model:
            assert real[part] == model[part], part

    # Rules

    @initialize()
    def a_namespace_and_two_tables(self) -> None:
        for kind, container, name in ((pb.NAMESPACE, -1, "b"), (pb.TABLE, 0, "a"), (pb.TABLE, -1, "a")):
            self.create(0, kind, container, name, 0, False)

    @precondition(lambda self: len(self.ids) < OBJECTS)
    @rule(line=lines, kind=kinds, container=containers, name=names, age=ages, listed=st.booleans())
    def create(self, line: int, kind: int, container: int, name: str, age: int, listed: bool) -> None:
        object_id, parent = new_id(), self.container(container)
        operations = (Operation("create", object_id, name),)
        reads = (ListingRead(parent), NameRead(parent, NAMES[-1])) if listed else ()
        made = {"lives": {object_id: life(kind, parent, name)}, "operations": operations, "reads": reads}
        if self.both(line, age, lambda *_: made):
            self.ids.append(object_id)
            self.kinds[object_id] = kind

    @rule(line=lines, thing=objects, name=names, age=ages)
    def rename(self, line: int, thing: int, name: str, age: int) -> None:
        self.alter(line, thing, age, "rename", name=name)

    @rule(line=lines, thing=objects, container=containers, age=ages)
    def move(self, line: int, thing: int, container: int, age: int) -> None:
        self.alter(line, thing, age, "rename", container_id=self.container(container))

    @rule(line=lines, thing=objects, age=ages, listed=st.booleans())
    def drop(self, line: int, thing: int, age: int, listed: bool) -> None:
        reads = (ListingRead(self.object(thing)),) if listed else ()
        self.alter(line, thing, age, "drop", reads, dropped=True, drop_type=pb.MARKED)

    @rule(line=lines, thing=objects, age=ages)
    def undrop(self, line: int, thing: int, age: int) -> None:
        self.alter(line, thing, age, "undrop", dropped=False, drop_type=pb.DROP_TYPE_UNSPECIFIED)

    @rule(line=lines, thing=objects, age=ages, name=names, container=containers, dropped=st.booleans())
    def relive(self, line: int, thing: int, age: int, name: str, container: int, dropped: bool) -> None:
        self.alter(line, thing, age, "restore", name=name, container_id=self.container(container), dropped=dropped)

    def alter(
        self, line: int, thing: int, age: int, operation: str, reads: tuple[Read, ...] = (), **fields: Any
    ) -> None:
        object_id = self.object(thing)

        def parts(side: _Side, at: Line, base: Version) -> dict[str, Any]:
            return {"lives": {object_id: self.altered(side, at, base, object_id, **fields)}}

        self.both(line, age, parts, operations=(Operation(operation, object_id),), reads=reads)

    @rule(line=lines, one=objects, other=objects, age=ages, places=st.booleans())
    def swap(self, line: int, one: int, other: int, age: int, places: bool) -> None:
        a, b = self.object(one), self.object(other)

        def parts(side: _Side, at: Line, base: Version) -> dict[str, Any]:
            first, second = (self.altered(side, at, base, object_id) for object_id in (a, b))
            lives = {a: self.altered(side, at, base, a, name=second.name)}
            lives[b] = self.altered(side, at, base, b, name=first.name)
            if places:
                lives[a].container_id, lives[b].container_id = second.container_id, first.container_id
            return {"lives": lives}

        self.both(line, age, parts, message="swap")

    @rule(line=lines, thing=objects, number=st.integers(0, 9), schema=st.booleans(), age=ages)
    def write(self, line: int, thing: int, number: int, schema: bool, age: int) -> None:
        object_id, attribute = self.object(thing), Attribute.SCHEMA if schema else Attribute.PROPERTIES
        records = {(object_id, attribute): RECORDS[attribute](number)}
        self.both(line, age, lambda *_: {"attributes": records}, operations=(Operation("set_properties", object_id),))

    @rule(
        line=lines,
        things=st.lists(objects, min_size=1, max_size=2),
        rows=st.integers(1, 3),
        age=ages,
        read=st.booleans(),
    )
    def append(self, line: int, things: list[int], rows: int, age: int, read: bool) -> None:
        tables = list(dict.fromkeys(self.object(thing) for thing in things))
        reads = (DataRead(root_partition(tables[0])),) if read else ()
        operations = tuple(Operation("insert", table, counts={"rows": rows}) for table in tables)
        data = tuple(appending(table, rows) for table in tables)
        self.both(line, age, lambda *_: {"data": data}, reads=reads, operations=operations)

    @rule(line=lines, thing=objects, place=st.integers(0, 5), files=st.integers(1, 3), age=ages)
    def checkpoint(self, line: int, thing: int, place: int, files: int, age: int) -> None:
        line %= len(self.sides[0].lines)
        number = max(0, len(self.sides[0].versions) - 1 - age)
        real, model = (side.put_checkpoint(line, number, self.object(thing), place, files) for side in self.sides)
        assert real == model
        self.touched = line

    @rule(line=lines, thing=objects, place=st.integers(0, 2))
    def drop_checkpoint(self, line: int, thing: int, place: int) -> None:
        line, partition = line % len(self.sides[0].lines), root_partition(self.object(thing))
        for side in self.sides:
            own = side.metastore.checkpoints(side.lines[line].id, partition)
            if own:
                side.metastore.drop_checkpoint(side.lines[line].id, partition, own[place % len(own)].version)
        self.touched = line

    @rule(
        line=lines,
        thing=objects,
        name=names,
        age=ages,
        what=st.sets(st.sampled_from("lpnidato"), max_size=3),
        other=lines,
    )
    def read(self, line: int, thing: int, name: str, age: int, what: set[str], other: int) -> None:
        object_id, elsewhere = self.object(thing), self.sides[0].lines[other % len(self.sides[0].lines)].id
        known: Mapping[str, Read] = {
            "l": AttributeRead(object_id, Attribute.LIFE),
            "p": AttributeRead(object_id, Attribute.PROPERTIES),
            "n": NameRead(self.container(-1), name),
            "i": ListingRead(object_id),
            "t": ListingRead(self.container(-1)),
            "d": DataRead(
                root_partition(object_id), lambda deltas: f"{len(deltas)} deltas" if len(deltas) > 1 else None
            ),
            "a": AttributeRead(object_id, Attribute.LIFE, elsewhere),
            "o": ListingRead(self.container(-1), elsewhere),
        }
        self.both(line, age, lambda *_: {"reads": tuple(known[one] for one in sorted(what))})

    @rule(line=lines, event=st.integers(0, 20), fingerprint=st.sampled_from([b"", b"", b"other"]))
    def replay(self, line: int, event: int, fingerprint: bytes) -> None:
        again = self.events[-1 - event % len(self.events)]
        self.both(line, 0, lambda *_: {}, event_id=again.event_id, fingerprint=fingerprint)

    @rule(thing=objects, count=st.integers(1, 3))
    def allocate(self, thing: int, count: int) -> None:
        firsts = [side.metastore.allocate(self.object(thing), "row", count) for side in self.sides]
        assert firsts[0] == firsts[1]
        for side in self.sides:
            side.versions.append(side.metastore.newest())

    @rule(thing=objects, kind=st.sampled_from(["column", "other"]), body=st.binary(min_size=1, max_size=2))
    def reserve(self, thing: int, kind: str, body: bytes) -> None:
        kept = [side.metastore.reserve(self.object(thing), kind, body) for side in self.sides]
        assert kept[0] == kept[1]
        self.allocate(thing, 1)  # where it is kept already there is no new version

    @rule(line=lines, thing=objects, bodies=st.booleans())
    def erase(self, line: int, thing: int, bodies: bool) -> None:
        object_id = self.object(thing)
        for side in self.sides:
            at = side.lines[line % len(side.lines)].id
            side.metastore.erase(at, [object_id, root_partition(object_id)], [object_id] if bodies else [])
        self.allocate(thing, 1)  # where nothing was to be erased there is no new version

    @rule(line=lines)
    def erase_line(self, line: int) -> None:
        branch = self.sides[0].lines[line % len(self.sides[0].lines)].id
        parents = {at.line for one in self.sides[0].lines for at in one.ancestry}
        if branch in {self.sides[0].lines[0].id, *parents}:
            return  # the trunk, or one that others read through
        for side in self.sides:
            side.metastore.erase_line(branch)
        self.allocate(0, 1)

    @precondition(lambda self: len(self.sides[0].lines) < LINES)
    @rule(line=lines, age=ages)
    def fork(self, line: int, age: int) -> None:
        line %= len(self.sides[0].lines)
        if len(self.sides[0].lines[line].ancestry) < DEPTH:
            child = new_id()
            for side in self.sides:
                at = side.versions[max(0, len(side.versions) - 1 - age)]
                side.lines.append(side.lines[line].fork(child, at))

    @rule(line=lines, age=st.integers(0, 40), limit=st.sampled_from([1, 2, 3]))
    def look(self, line: int, age: int, limit: int) -> None:
        number = max(0, len(self.sides[0].versions) - 1 - age)
        self.compare(line % len(self.sides[0].lines), number, limit)

    @invariant()
    def the_line_that_was_written_looks_the_same(self) -> None:
        self.compare(self.touched, len(self.sides[0].versions) - 1, 1000)
