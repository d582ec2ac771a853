"""A line at a version with changes on top: every read and every change of the catalog goes through it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.transaction.commits import Request, datetime_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.pending_delta import Delta, data_change
from lakebed.catalog.transaction.read_set import ReadSet
from lakebed.catalog.transaction.staged import Staged
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.visibility import line_ids
from lakebed.catalog.transaction.written_files import WrittenFiles
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import (
    ROOT,
    AttributeRead,
    Change,
    Child,
    DataChange,
    DataRead,
    Dropped,
    ListingRead,
    NameRead,
    Operation,
    Reader,
    new_id,
)
from lakebed.metastore.change import LifeRecord, Read
from lakebed.metastore.kinds import type_name
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.inline import BUDGET_BYTES


class Work:
    """Reads see the changes made so far, and are remembered, so that the commit can check whether they still hold.

    Nothing is written before the commit. One thread at a time. `known_ids` are the ids that objects got, by name, when
    the same work was done before. `parents` are for the commits that decisions.md gives any: merges and resets.
    """

    def __init__(
        self, context: Context, ref: Ref, version: Version | None = None, known_ids: Mapping[str, str] | None = None
    ) -> None:
        self.context = context
        self.ref = ref
        self._reader = context.metastore.reader(ref.line, version)
        self.base = self._reader.version
        self._loaded: dict[tuple[str, Attribute], Message | None] = {}
        self._reads = ReadSet()
        self._staged = Staged(ref.line.casing, dict(known_ids or {}))
        self._written = WrittenFiles(context.files)
        self._lines: list[str] | None = None
        self.parents: tuple[LineAt, ...] = ()
        self.made: dict[str, pb.TableHistory] = {}  # by table, the records that the commit made of the deltas

    @property
    def top(self) -> str:
        """The parent of the outermost names."""
        return self.ref.line.top

    @property
    def reader(self) -> Reader:
        """The line at the base, without the changes."""
        return self._reader

    @property
    def deltas(self) -> dict[str, Delta]:
        """The file changes made so far, by table."""
        return self._staged.deltas

    def load(self, wanted: Iterable[tuple[str, Attribute]]) -> None:
        """Read attributes that will be needed, in one round trip."""
        new = [key for key in dict.fromkeys(wanted) if key not in self._loaded]
        if new:
            for key, state in zip(new, self._reader.attributes(new), strict=True):
                self._loaded[key] = None if state is None else state.record

    def load_with_path(self, object_id: str, *attributes: Attribute) -> None:
        """Read an object's attributes and the lives of its probable containers, in one round trip."""
        lives = ((guess, Attribute.LIFE) for guess in self.context.parents.guess(object_id, self.top))
        self.load([*((object_id, attribute) for attribute in attributes), *lives])

    def life(self, object_id: str) -> LifeRecord | None:
        """Where an object is, and whether it was dropped; None if there never was such an object."""
        if object_id in self._staged.lives:
            return self._staged.lives[object_id]
        if (object_id, Attribute.LIFE) not in self._loaded:
            self.load_with_path(object_id)
        return cast("LifeRecord | None", self._loaded[object_id, Attribute.LIFE])

    def path(self, object_id: str) -> tuple[LifeRecord, ...]:
        """The lives from the outermost container to the object's own; `NotFound` unless all are alive."""
        lives: list[LifeRecord] = []
        for inner, life in self._walk_up(object_id):
            if life is None or life.dropped:
                raise self._dead(object_id, life)
            lives.append(life)
            self.context.parents.learn(inner, life.container_id)
        return tuple(reversed(lives))

    def is_alive(self, object_id: str) -> bool:
        """Whether the line has the object, and neither it nor anything that it is in was dropped."""
        return all(life is not None and not life.dropped for _, life in self._walk_up(object_id))

    def last_parts(self, object_id: str) -> tuple[str, ...]:
        """The parts of the name that an object has, or had when it was dropped; none if the line does not know it."""
        parts: list[str] = []
        for _, life in self._walk_up(object_id):
            if life is None:
                return ()
            parts.append(life.name)
        return tuple(reversed(parts))

    def _walk_up(self, object_id: str) -> Iterator[tuple[str, LifeRecord | None]]:
        """The object and what it is in, innermost first, each with its life; an unknown life ends it."""
        while object_id != self.top:
            life = self.life(object_id)
            yield object_id, life
            if life is None:
                return
            object_id = life.container_id

    def _dead(self, object_id: str, life: LifeRecord | None) -> NotFound:
        expected = f"an object that is alive at version {self.base}"
        if life is None:
            return NotFound("there is no such object", subject=object_id, expected=expected)
        kind = type_name(life.type)
        return NotFound(
            f"the {kind} {life.name!r} was {'purged' if life.drop_type == pb.PURGED else 'dropped'}",
            subject=object_id,
            expected=expected,
            found=f"dropped at {self.moment(Version(life.drop_version))}" if life.drop_version else None,
            advice="" if life.drop_type == pb.PURGED else f"undrop_{kind} brings it back.",
        )

    def moment(self, version: Version) -> str:
        """A version with its time, as errors name it."""
        [time] = self.context.metastore.times([version])
        return f"version {version} ({datetime_of(time):%Y-%m-%d %H:%M:%S} UTC)"

    def attribute(self, object_id: str, attribute: Attribute) -> Message | None:
        """An attribute's record, which becomes part of what this work has read."""
        if (object_id, attribute) in self._staged.attributes:
            return self._staged.attributes[object_id, attribute]
        self.read(AttributeRead(object_id, attribute))
        self.load([(object_id, attribute)])
        return self._loaded[object_id, attribute]

    def unread_attribute(self, object_id: str, attribute: Attribute) -> Message | None:
        """An attribute's record, on which the commit does not rely: another commit may change it."""
        self.load([(object_id, attribute)])
        return self._staged.attributes.get((object_id, attribute)) or self._loaded[object_id, attribute]

    def table_of(self, partition: str) -> str | None:
        """The table that has a partition, if this work has read its storage."""
        known = {**self._loaded, **self._staged.attributes}.items()
        stored = ((table, record) for (table, attribute), record in known if attribute is Attribute.STORAGE)
        return next((table for table, record in stored if getattr(record, "partition_id", None) == partition), None)

    def resolve(self, parent: str, name: str) -> str | None:
        """The id of what has a name in a parent, which becomes part of what this work has read."""
        place = parent, self._staged.folded(name)
        if place in self._staged.names:
            child = self._staged.names[place]
            return None if child is None else child.id
        self.read(NameRead(parent, name))
        return self._reader.resolve([(parent, name)])[0]

    def children(self, parent: str, prefix: str = "") -> Iterator[Child]:
        """What is in a parent, in folded order; the listing becomes part of what this work has read."""
        self.read(ListingRead(parent))
        stored = every(partial(self._reader.children, parent, prefix=prefix))
        yield from self._staged.children(parent, prefix, stored)

    def dropped(self, parent: str, name: str | None = None) -> Iterator[Dropped]:
        """What was dropped from a parent, all or under one name. What this work dropped has its base as its version.

        The read set does not get it. A caller that relies on there being no other also resolves the name, which every
        drop changes.
        """
        stored = every(partial(self._reader.dropped, parent, name=name))
        yield from (row for row in stored if row.id not in self._staged.lives)
        for object_id, life in self._staged.dropped(parent, name):
            yield self._dropped_now(object_id, life)

    def _dropped_now(self, object_id: str, life: LifeRecord) -> Dropped:
        created, dropped = (Version(at) if at else self.base for at in (life.create_version, life.drop_version))
        return Dropped(life.name, object_id, life.type, created, dropped, life.drop_type)

    @property
    def reads(self) -> tuple[Read, ...]:
        """All that was read, on which the commit will rely."""
        return self._reads.all()

    def read(self, what: Read) -> None:
        """Remember something that was read."""
        self._reads.add(what)

    def read_rows(self, what: DataRead) -> None:
        """Remember rows that were read."""
        self._reads.add_rows(what)

    def forget_rows(self) -> None:
        """Let other commits change the rows that were read."""
        self._reads.forget_rows()

    def put_life(self, object_id: str, life: LifeRecord) -> None:
        """Stage an object's new life: create, rename, move, drop or undrop it; `Expired` if it was purged."""
        before = self.life(object_id)
        if before is not None and before.dropped and not life.dropped:
            self.rely_on_no_purge(object_id)
        stored = cast("LifeRecord | None", self._loaded[object_id, Attribute.LIFE])
        self._staged.put_life(object_id, life, before, stored)

    def rely_on_no_purge(self, object_id: str) -> None:
        """Refuse an object that was purged, and conflict with a concurrent purge on any line."""
        check_not_purged(self.context, self.ref, object_id)
        refs = self.ref.refs
        if self.ref.line.id in (ROOT.id, refs.id):  # objects of these lines are purged on the line itself
            return
        self.read(ListingRead(self.top, refs.id))
        if self._lines is None:
            self._lines = line_ids(self.context, self.ref, self.base)
        for line in self._lines:
            self.read(AttributeRead(object_id, Attribute.LIFE, line))

    def new_id(self, name: str) -> str:
        """The id of an object that this work creates: the id that it got in an earlier run, or a new one."""
        return self._staged.known_ids.pop(name, None) or new_id()

    def put_new_life(self, object_id: str, life: LifeRecord) -> None:
        """Stage the life of an object that this work creates: no life of it is stored."""
        self._loaded[object_id, Attribute.LIFE] = None
        self.put_life(object_id, life)

    def put_brought_life(self, object_id: str, life: LifeRecord) -> None:
        """Stage the life of an object that comes whole from another line, perhaps already dropped."""
        self._staged.brought.add(object_id)
        self.put_new_life(object_id, life)

    def put_attribute(self, object_id: str, attribute: Attribute, record: Message) -> None:
        self._staged.attributes[object_id, attribute] = record

    def put_body(self, table: str, kind: str, body_id: int, body: bytes) -> None:
        self._staged.bodies[table, kind, body_id] = body

    def body(self, table: str, kind: str, body_id: int) -> bytes | None:
        """A body that this work will write; None if it will not."""
        return self._staged.bodies.get((table, kind, body_id))

    def bodies(self, table: str, kind: str) -> dict[int, bytes]:
        """The bodies of a kind that this work will write, by id."""
        return self._staged.bodies_of(table, kind)

    def inline_bytes(self) -> int:
        """How many bytes of inline rows this work will write."""
        return self._staged.inline_bytes()

    def note(self, operation: Operation) -> None:
        """Add an operation to the commit; several inserts into one table become one, with their counts summed."""
        self._staged.note(operation)

    def has_no_operations(self) -> bool:
        """Whether nothing was noted so far."""
        return not self._staged.operations

    def change(self, request: Request, event_id: str) -> Change:
        """All of it as one change, without objects that were created and dropped again."""
        gone = self._gone()
        self._check_nothing_dead_was_changed(gone)
        self._staged.forget_unused_rows()
        left = self._staged.without(gone)
        return Change(
            event_id=event_id,
            line=self.ref.line,
            base=self.base,
            message=request.message or "",
            author=self.context.author if request.author is None else request.author,
            project=self.context.project,
            operations=tuple(left.operations),
            reads=self.reads,
            hangs_on=self.ref.holders,
            lives=left.lives,
            attributes=left.attributes,
            data=tuple(self._data_changes(left.deltas.values())),
            bodies=left.bodies,
            fingerprint=request.fingerprint,
            parents=self.parents,
        )

    def mark(self) -> Staged:
        """The changes so far, for `back_to`."""
        return self._staged.copy()

    def back_to(self, mark: Staged) -> None:
        """Forget all later changes. What was read stays read; files that were written are deleted at the end."""
        self._staged = mark

    def wrote(self, paths: Iterable[str]) -> None:
        """Remember files that were written for this work alone: it deletes them unless a commit refers to them."""
        self._written.add(paths)

    def discard(self) -> None:
        """Delete the files that were written for this work: no reader can see them, now or later."""
        self._written.delete(self.deltas.values())

    def discard_manifests(self) -> None:
        """Delete the manifests of a commit that failed, but not its data, which may be committed again."""
        self._written.delete_manifests()

    def discard_gone(self) -> None:
        """Delete the files that this work wrote and its commit does not have: it dropped or replaced them again."""
        files = [file for delta in self.deltas.values() for file in (*delta.added, *delta.changed)]
        kept = {path for file in files for path in (file.path, file.dv_path)}
        gone = [self.deltas[table] for table in self._gone() if table in self.deltas]
        self._written.delete(gone, but=kept)

    def _data_changes(self, deltas: Iterable[Delta]) -> Iterator[DataChange]:
        """The deltas, with their manifests in the commit as long as it has room."""
        room = BUDGET_BYTES - self.inline_bytes()
        for delta in deltas:
            place = self._written.write_manifest(delta, room)
            room -= 0 if place.inline is None else len(place.inline)
            yield data_change(delta, place, partial(self.made.__setitem__, delta.table))

    def _gone(self) -> set[str]:
        """The objects that this work created and dropped again."""
        own = self._staged.lives.keys() - self._staged.brought
        return {object_id for object_id in own if self._is_new(object_id) and not self.is_alive(object_id)}

    def _check_nothing_dead_was_changed(self, gone: set[str]) -> None:
        moved = (object_id for object_id, life in self._staged.lives.items() if not life.dropped)
        changed = {*self.deltas, *(object_id for object_id, _ in self._staged.attributes), *moved}
        for object_id in changed - gone - self._staged.brought - {self.top}:
            if not self.is_alive(object_id):
                raise Invalid(
                    "a transaction changes an object and drops it",
                    subject=object_id,
                    advice="Drop it without changing it first, or in a transaction of its own.",
                )

    def _is_new(self, object_id: str) -> bool:
        return self._loaded.get((object_id, Attribute.LIFE)) is None
