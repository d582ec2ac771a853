"""Objects at one version of a line, as values that can be compared and copied to another line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.merge.fields import fields_of
from lakebed.catalog.objects.properties import read_properties
from lakebed.catalog.tables.tables import TableState, schema_of, stored_state
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.objects import ATTRIBUTES, DEFINITION
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Expired
from lakebed.metastore import AttributeRead, DataRead
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.types.types import Field

STAGED = "staged"
"""The state of a partition that has files of its own until it is committed."""


@dataclass(frozen=True, slots=True)
class ViewParts:
    """What is compared of a view: its texts by dialect, and its columns regardless of their schema's id."""

    sql: Mapping[str, str]
    columns: tuple[Field, ...] | None

    def __str__(self) -> str:
        if self.columns is None:
            return str(self.sql)
        return f"{self.sql} ({', '.join(f'{column.name} {column.type}' for column in self.columns)})"


@dataclass(frozen=True, slots=True)
class PartitionParts:
    """What is compared of an explicit partition: its values as they are stored, and its location; `name` shows them."""

    values: bytes
    location: str
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.name} at {self.location}" if self.location else self.name


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object with its life, attributes, and newest delta. `life` is None for the catalog itself.

    `delta` is the line and version of a table's newest delta: states with the same `delta` have the same files.
    `fields` are single values of its records that are merged one by one.
    """

    id: str
    type: int
    life: LifeRecord | None
    records: Mapping[Attribute, Message]
    properties: Mapping[str, str]
    table: TableState | None
    view: ViewParts | None
    delta: tuple[str, bytes] | None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition(self) -> "PartitionParts | None":
        """What is compared of an explicit partition, besides its state."""
        record = cast("pb.TablePartition | None", self.records.get(Attribute.PARTITION))
        if record is None or self.type != pb.PARTITION:
            return None
        return PartitionParts(record.values, record.location, self.place[1])

    @property
    def is_kept(self) -> bool:
        """Whether the object itself was not dropped; a namespace around it may have been."""
        return self.life is None or not self.life.dropped

    @property
    def active(self) -> str:
        """The id of the edition that a table shows, "" for its first."""
        return self._storage.active_edition_id

    @property
    def shown(self) -> str:
        """The id of the edition that a table shows, also if it is the first."""
        return self.active or self._storage.edition_id

    @property
    def is_first_edition(self) -> bool:
        """Whether this is the edition that a table was born with: its rows and columns are the table's own."""
        return self.type == pb.EDITION and Attribute.STORAGE not in self.records

    @property
    def stream(self) -> str:
        """The id of the stream that an edition shows."""
        return "" if self.type == pb.STREAM else self._storage.stream_id

    @property
    def state(self) -> str:
        """The state of an edition, stream or partition, as it was set."""
        return cast(pb.TablePartition, self.records.get(Attribute.PARTITION) or pb.TablePartition()).state

    @property
    def _storage(self) -> pb.TableStorage:
        return cast(pb.TableStorage, self.records.get(Attribute.STORAGE) or pb.TableStorage())

    @property
    def place(self) -> tuple[str, str]:
        """The id of its container, and its own name."""
        return ("", "") if self.life is None else (self.life.container_id, self.life.name)


def read_states(work: Work, ids: Iterable[str]) -> dict[str, ObjectState]:
    """The objects that the line knows, dropped ones included; unknown and purged objects are left out."""
    wanted = list(dict.fromkeys(ids))
    work.load((object_id, attribute) for object_id in wanted for attribute in ATTRIBUTES)
    states = {object_id: state for object_id in wanted if (state := _state(work, object_id)) is not None}
    partitions = {state.table.partition: state.id for state in states.values() if state.table is not None}
    deltas = work.reader.attributes([(partition, Attribute.DATA) for partition in partitions])
    for newest, object_id in zip(deltas, partitions.values(), strict=True):
        if newest is not None:
            states[object_id] = replace(states[object_id], delta=(newest.line, bytes(newest.version)))
    return states


def rely_on_states(work: Work, states: Mapping[str, ObjectState]) -> None:
    """Conflict with a concurrent change of any of these objects: what the work does was decided by their states."""
    for object_id, state in states.items():
        work.read(AttributeRead(object_id, Attribute.LIFE))
        if state.table is not None:
            work.read(DataRead(state.table.partition))


def kind_name(state: ObjectState) -> str:
    return type_name(state.type)


def _state(work: Work, object_id: str) -> ObjectState | None:
    if object_id == work.top:
        return ObjectState(object_id, pb.CATALOG, None, {}, _properties(work, object_id), None, None, None)
    life = work.life(object_id)
    if life is None or life.drop_type == pb.PURGED:
        return None
    found = {attribute: work.attribute(object_id, attribute) for attribute in DEFINITION}
    records = {attribute: record for attribute, record in found.items() if record is not None}
    try:
        table = _table(work, object_id, life, records)
        view = _view(work, object_id, cast("pb.ViewText | None", records.get(Attribute.VIEW)))
    except Expired:  # purged since, perhaps on another line; if it was already dropped here, nothing is lost
        if work.is_alive(object_id):
            raise
        return None
    properties, fields = _properties(work, object_id), fields_of(records)
    return ObjectState(object_id, life.type, life, records, properties, table, view, None, fields)


def _table(work: Work, object_id: str, life: LifeRecord, records: Mapping[Attribute, Message]) -> TableState | None:
    """The state that an object holds: each edition of a table is an object of its own, and so is what is staged."""
    storage = cast("pb.TableStorage | None", records.get(Attribute.STORAGE))
    if life.type == pb.TABLE or (life.type == pb.EDITION and storage is not None):
        return stored_state(work, Bound(object_id))
    if life.type == pb.STREAM and storage is not None:
        return stored_state(work, Bound(life.container_id, object_id=object_id, cell=storage.partition_id))
    if life.type == pb.PARTITION and cast(pb.TablePartition, records[Attribute.PARTITION]).state == STAGED:
        return stored_state(work, Bound(life.container_id, object_id=object_id, cell=object_id))
    return None


def _view(work: Work, view: str, text: pb.ViewText | None) -> ViewParts | None:
    if text is None:
        return None
    columns = schema_of(work, view, text.schema_id).fields if text.HasField("schema_id") else None
    return ViewParts(dict(sorted(text.sql.items())), columns)


def _properties(work: Work, object_id: str) -> dict[str, str]:
    record = work.attribute(object_id, Attribute.PROPERTIES)
    return {} if record is None else read_properties(record)
