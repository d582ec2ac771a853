"""What a line shows at a version, with changes on top: every read of the catalog goes through it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, cast

from google.protobuf.message import Message

from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.read_set import ReadSet
from lakebed.catalog.transaction.staged import Staged
from lakebed.errors import NotFound
from lakebed.metastore import AttributeRead, Child, DataRead, Dropped, ListingRead, NameRead, Reader
from lakebed.metastore.change import LifeRecord, Read
from lakebed.metastore.kinds import part_name, type_name
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


class LineView:
    """Reads see the changes made so far, and are remembered, so that a commit can check whether they still hold.

    One thread at a time. `known_ids` are the ids that objects got, by name, when the same work was done before.
    """

    is_whole: ClassVar[bool] = True
    """Whether it shows all objects of the line: a share does not."""

    def __init__(
        self, context: Context, ref: Ref, version: Version | None = None, known_ids: Mapping[str, str] | None = None
    ) -> None:
        self.context = context
        self.ref = ref
        self._reader = context.metastore.reader(ref.line, version)
        self.base = self._reader.version
        self._loaded: dict[tuple[str, Attribute], Message | None] = {}
        self._versions: dict[tuple[str, Attribute], Version] = {}  # of what was loaded
        self._reads = ReadSet()
        self._staged = Staged(ref.line.casing, dict(known_ids or {}))

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
        """The file changes made so far, by partition."""
        return self._staged.deltas

    def load(self, wanted: Iterable[tuple[str, Attribute]]) -> None:
        """Read attributes that will be needed, in one round trip."""
        new = [key for key in dict.fromkeys(wanted) if key not in self._loaded]
        if new:
            for key, state in zip(new, self._reader.attributes(new), strict=True):
                self._loaded[key] = None if state is None else state.record
                if state is not None:
                    self._versions[key] = state.version

    def stored_version(self, object_id: str, attribute: Attribute) -> Version | None:
        """The version that wrote an attribute which was loaded; None if it was never written."""
        return self._versions.get((object_id, attribute))

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
            self.learn_place(inner, life.container_id, part_name(life.type, life.name))
        return tuple(reversed(lives))

    def name_parts(self, object_id: str) -> tuple[str, ...]:
        """The parts of an object's name, outermost first; `NotFound` unless it is alive, with all that it is in."""
        known = (
            self.context.names.parts(self.ref.line.id, self.base, object_id, self.top) if self._shows_line() else None
        )
        if known is not None:
            return known
        return tuple(part_name(life.type, life.name) for life in self.path(object_id))

    def learn_place(self, object_id: str, container: str, name: str) -> None:
        """Remember where an object is at the base, so that its name need not be read again."""
        self.context.parents.learn(object_id, container)
        if self._shows_line():
            self.context.names.learn(self.ref.line.id, self.base, object_id, container, name)

    def _shows_line(self) -> bool:
        """Whether all objects are seen where the line has them at the base."""
        return self.is_whole and not self._staged.lives

    def is_alive(self, object_id: str) -> bool:
        """Whether the line has the object, and neither it nor anything that it is in was dropped."""
        return all(life is not None and not life.dropped for _, life in self._walk_up(object_id))

    def last_parts(self, object_id: str) -> tuple[str, ...]:
        """The parts of the name that an object has, or had when it was dropped; none if the line does not know it."""
        parts: list[str] = []
        for _, life in self._walk_up(object_id):
            if life is None:
                return ()
            parts.append(part_name(life.type, life.name))
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
            advice="" if life.drop_type == pb.PURGED or life.type == pb.STREAM else f"undrop_{kind} brings it back.",
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
        for child in self._staged.children(parent, prefix, stored):
            self.learn_place(child.id, parent, part_name(child.type, child.name))
            yield child

    def parents_of_names(self, parents: Sequence[str]) -> set[str]:
        """The objects among these that may have children, stored or made here, in one round trip."""
        made = {parent for parent, _ in self._staged.names}
        return self._reader.parents_of_names(parents) | made.intersection(parents)

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
