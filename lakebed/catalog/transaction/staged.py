"""The changes that a work has made and not committed yet, as one value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from google.protobuf.message import Message

from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.metastore import Child, Operation
from lakebed.metastore.change import LifeRecord
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, folded
from lakebed.table.manifest.inline import BODY_KIND, inline_path


@dataclass(slots=True)
class Staged:
    """New lives, attributes, bodies and deltas, and the operations that the log will show.

    `names` has what each folded name in a container leads to, None if it was freed. `inserts` has the index of each
    table's insert among the operations. `brought` are the objects that come from another line. `known_ids` are the
    ids that objects got, by name, when the same work was done before.
    """

    casing: Casing
    known_ids: dict[str, str]
    lives: dict[str, LifeRecord] = field(default_factory=dict)
    names: dict[tuple[str, str], Child | None] = field(default_factory=dict)
    attributes: dict[tuple[str, Attribute], Message] = field(default_factory=dict)
    bodies: dict[tuple[str, str, int], bytes] = field(default_factory=dict)
    deltas: dict[str, Delta] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    inserts: dict[str, int] = field(default_factory=dict)
    brought: set[str] = field(default_factory=set)

    def copy(self) -> "Staged":
        """The same changes, to go on from or to go back to. Shallow: staged values are replaced, never mutated."""
        return Staged(
            self.casing,
            self.known_ids.copy(),
            self.lives.copy(),
            self.names.copy(),
            self.attributes.copy(),
            self.bodies.copy(),
            self.deltas.copy(),
            self.operations.copy(),
            self.inserts.copy(),
            self.brought.copy(),
        )

    def is_empty(self) -> bool:
        """Whether there is no change, and no operation."""
        return not (self.lives or self.attributes or self.bodies or self.deltas or self.operations)

    def equals(self, stored: Mapping[tuple[str, Attribute], Message | None]) -> bool:
        """Whether the changes leave everything as it is stored: the same lives and attributes, no body and no file."""
        records = {**self.attributes, **{(one, Attribute.LIFE): life for one, life in self.lives.items()}}
        same = all(record == (stored.get(key) or type(record)()) for key, record in records.items())
        return same and not self.bodies and not any(delta.entries() for delta in self.deltas.values())

    def put_life(self, object_id: str, life: LifeRecord, before: LifeRecord | None, stored: LifeRecord | None) -> None:
        """Stage an object's new life, with the names that it frees and takes.

        `before` is its life so far in this work, `stored` the life that other works see.
        """
        if before is not None and not before.dropped:
            place = before.container_id, self.folded(before.name)
            holder = self.names.get(place)
            if holder is None or holder.id == object_id:  # else another object has taken the name in this work
                self.names[place] = None
        if not life.dropped:
            self.names[life.container_id, self.folded(life.name)] = Child(life.name, object_id, life.type)
        elif stored is not None:
            # Dropped where others saw it last: they never saw it where this work moved it, and that place may vanish.
            life.container_id, life.name = stored.container_id, stored.name
        self.lives[object_id] = life

    def children(self, parent: str, prefix: str, stored: Iterator[Child]) -> Iterator[Child]:
        """The stored children of a parent with the staged names on top, in folded order."""
        found = {self.folded(child.name): child for child in stored}
        beginning = self.folded(prefix)
        for (container, name), child in self.names.items():
            if container == parent and name.startswith(beginning):
                found.pop(name, None)
                if child is not None:
                    found[name] = child
        for name in sorted(found):
            yield found[name]

    def dropped(self, parent: str, name: str | None) -> Iterator[tuple[str, LifeRecord]]:
        """The objects that were dropped from a parent here, all or those of one name."""
        for object_id, life in self.lives.items():
            fits = name is None or self.folded(name) == self.folded(life.name)
            if life.dropped and life.container_id == parent and fits:
                yield object_id, life

    def note(self, operation: Operation) -> None:
        """Add an operation; several inserts into one table become one, with their counts summed."""
        index = self.inserts.get(operation.object_id) if operation.type == "insert" else None
        if index is not None:
            before = self.operations[index]
            sums = {name: before.counts.get(name, 0) + count for name, count in operation.counts.items()}
            summary = {**before.summary, **operation.summary}
            self.operations[index] = replace(before, counts={**before.counts, **sums}, summary=summary)
            return
        if operation.type == "insert":
            self.inserts[operation.object_id] = len(self.operations)
        self.operations.append(operation)

    def bodies_of(self, table: str, kind: str) -> dict[int, bytes]:
        """The bodies of a kind, by id."""
        return {number: body for (owner, what, number), body in self.bodies.items() if (owner, what) == (table, kind)}

    def inline_bytes(self) -> int:
        """How many bytes of inline rows there are."""
        return sum(len(body) for (_, kind, _), body in self.bodies.items() if kind == BODY_KIND)

    def forget_unused_rows(self) -> None:
        """Remove inline rows that were added and deleted again: no delta refers to them."""
        kept = {(delta.table, file.path) for delta in self.deltas.values() for file in delta.written}
        for table, kind, number in [*self.bodies]:
            if kind == BODY_KIND and (table, inline_path(number)) not in kept:
                del self.bodies[table, kind, number]

    def without(self, objects: set[str]) -> "Staged":
        """The same changes, but for those of some objects."""
        if not objects:
            return self
        return replace(
            self,
            lives={key: life for key, life in self.lives.items() if key not in objects},
            attributes={key: record for key, record in self.attributes.items() if key[0] not in objects},
            bodies={key: body for key, body in self.bodies.items() if key[0] not in objects},
            deltas={key: delta for key, delta in self.deltas.items() if not delta.is_of(objects)},
            operations=[operation for operation in self.operations if operation.object_id not in objects],
        )

    def folded(self, name: str) -> str:
        """A name as it is compared on the line."""
        return folded(name, self.casing)
