"""The work of one call or transaction: what it reads, what it stages, what it wrote, and the change it commits."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.context import Context, MadeDelta, Ref
from lakebed.catalog.transaction.line_view import LineView
from lakebed.catalog.transaction.manifest_files import in_files
from lakebed.catalog.transaction.pending_delta import Delta, Placed, data_change
from lakebed.catalog.transaction.staged import Staged
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.visibility import line_ids
from lakebed.catalog.transaction.written_files import WrittenFiles
from lakebed.errors import Invalid
from lakebed.metastore import ROOT, AttributeRead, Change, DataChange, ListingRead, Operation, new_id
from lakebed.metastore.change import LifeRecord
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.inline import BUDGET_BYTES

_OWNED = (pb.CatalogRecord, pb.DatabaseRecord, pb.TableStorage)
"""Records that name their owner."""


class Work(LineView):
    """A line at a version that can be changed. Nothing but files is written before the commit.

    Only merges and resets have `parents`.
    """

    def __init__(
        self, context: Context, ref: Ref, version: Version | None = None, known_ids: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(context, ref, version, known_ids)
        self._written = WrittenFiles(context.files)
        self._lines: list[str] | None = None
        self.parents: tuple[LineAt, ...] = ()
        self.made: dict[str, MadeDelta] = {}  # by partition, what the commit made of the deltas

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
        self._staged.note(replace(operation, table=self._table_around(operation.object_id) or operation.table))

    def _table_around(self, object_id: str) -> str:
        """The table that an edition, stream or partition is in; "" for all other objects, and unknown ones."""
        life = self._known_life(object_id)
        if life is None or life.type not in (pb.EDITION, pb.STREAM, pb.PARTITION):
            return ""
        while life is not None and life.type != pb.TABLE:
            object_id = life.container_id
            life = self._known_life(object_id)
        return "" if life is None else object_id

    def _known_life(self, object_id: str) -> LifeRecord | None:
        known = self._staged.lives.get(object_id) or self._loaded.get((object_id, Attribute.LIFE))
        return cast("LifeRecord | None", known)

    def has_no_operations(self) -> bool:
        """Whether nothing was noted so far."""
        return not self._staged.operations

    def only_reads(self) -> bool:
        """Whether nothing was changed so far, and nothing noted."""
        return self._staged.is_empty() and not self.parents

    def changes_nothing(self) -> bool:
        """Whether its commit would leave the line as it is. An append is a change, even one without rows."""
        if self.parents or any(operation.type == "insert" for operation in self._staged.operations):
            return False
        self._staged.forget_unused_rows()
        return self._staged.without(self._gone()).equals(self._loaded)

    def change(self, request: Request, event_id: str) -> Change:
        """All of it as one change, without objects that were created and dropped again."""
        gone = self._gone()
        self._check_nothing_dead_was_changed(gone)
        self._staged.forget_unused_rows()
        left = self._staged.without(gone)
        author = self.context.author if request.author is None else request.author
        self._name_owners(left, author)
        return Change(
            event_id=event_id,
            line=self.ref.line,
            base=self.base,
            message=request.message or "",
            author=author,
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

    def _name_owners(self, left: Staged, author: str) -> None:
        """Name the author as the owner of what this work creates, unless another was given."""
        storages = {key[0]: record for key, record in left.attributes.items() if key[1] is Attribute.STORAGE}
        for object_id, record in [*left.lives.items(), *storages.items()]:
            if not isinstance(record, _OWNED) or not author or object_id in left.brought or not self._is_new(object_id):
                continue
            if not record.HasField("user_id"):
                record.user_id = author

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
        objects = self._gone()
        gone = [delta for delta in self.deltas.values() if delta.is_of(objects)]
        self._written.delete(gone, but=kept)

    def _data_changes(self, deltas: Iterable[Delta]) -> Iterator[DataChange]:
        """The deltas, with their manifests in the commit as long as it has room."""
        room = BUDGET_BYTES - self.inline_bytes()
        for delta in deltas:
            place = self._place(delta, room)
            room -= place.inline_bytes
            yield data_change(delta, place, partial(self._made, delta))

    def _made(self, delta: Delta, record: pb.TableHistory, before: pb.TableHistory) -> None:
        self.made[delta.partition] = MadeDelta(delta.table, record, before.sequence_number)

    def _place(self, delta: Delta, room: int) -> Placed:
        properties = cast("pb.TableProperties | None", self.unread_attribute(delta.table, Attribute.PROPERTIES))
        if properties is not None and in_files(properties.properties):
            return self._written.manifest_file(delta)
        return self._written.write_manifest(delta, room)

    def _gone(self) -> set[str]:
        """The objects that this work created and dropped again."""
        own = self._staged.lives.keys() - self._staged.brought
        return {object_id for object_id in own if self._is_new(object_id) and not self.is_alive(object_id)}

    def _check_nothing_dead_was_changed(self, gone: set[str]) -> None:
        moved = (object_id for object_id, life in self._staged.lives.items() if not life.dropped)
        subjects = (delta.subject for delta in self.deltas.values())
        changed = {*subjects, *(object_id for object_id, _ in self._staged.attributes), *moved}
        for object_id in changed - gone - self._staged.brought - {self.top}:
            if not self.is_alive(object_id):
                raise Invalid(
                    "a transaction changes an object and drops it",
                    subject=object_id,
                    advice="Drop it without changing it first, or in a transaction of its own.",
                )

    def _is_new(self, object_id: str) -> bool:
        return self._loaded.get((object_id, Attribute.LIFE)) is None
