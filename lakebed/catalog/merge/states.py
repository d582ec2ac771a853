"""What objects are at one state of a line, so that states can be compared and brought from one to another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.tables.tables import TableState, schema_of, stored_state
from lakebed.catalog.transaction.objects import ATTRIBUTES, DEFINITION
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Expired
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.types.types import Field


@dataclass(frozen=True, slots=True)
class ViewParts:
    """What is compared of a view: its texts by dialect and its columns, whatever number their schema has."""

    sql: Mapping[str, str]
    columns: tuple[Field, ...] | None

    def __str__(self) -> str:
        if self.columns is None:
            return str(self.sql)
        return f"{self.sql} ({', '.join(f'{one.name} {one.type}' for one in self.columns)})"


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object: its place, whether it was dropped itself, what it is. Of the catalog itself, `life` is None.

    `delta` says which one is the newest of a table's: the same there, the same files.
    """

    id: str
    type: int
    life: LifeRecord | None
    records: Mapping[Attribute, Message]
    properties: Mapping[str, str]
    table: TableState | None
    view: ViewParts | None
    delta: tuple[str, bytes] | None

    @property
    def is_kept(self) -> bool:
        """Whether it was not dropped itself; what it is in may have been."""
        return self.life is None or not self.life.dropped

    @property
    def place(self) -> tuple[str, str]:
        """What it is in, and its own name."""
        return ("", "") if self.life is None else (self.life.container_id, self.life.name)


def read_states(work: Work, ids: Iterable[str]) -> dict[str, ObjectState]:
    """The objects that the line knows, dropped ones too; those that it never had, or that were purged, are left out."""
    wanted = list(dict.fromkeys(ids))
    work.load((one, attribute) for one in wanted for attribute in ATTRIBUTES)
    found = {one: state for one in wanted if (state := _state(work, one)) is not None}
    partitions = {one.table.partition: one.id for one in found.values() if one.table is not None}
    deltas = work.reader.attributes([(partition, Attribute.DATA) for partition in partitions])
    for newest, object_id in zip(deltas, partitions.values(), strict=True):
        if newest is not None:
            found[object_id] = _with_delta(found[object_id], (newest.line, bytes(newest.version)))
    return found


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
        table = stored_state(work, object_id) if life.type == pb.TABLE else None
        view = _view(work, object_id, cast("pb.ViewText | None", records.get(Attribute.VIEW)))
    except Expired:  # purged since, perhaps on another line: one that was dropped already is nobody's loss
        if work.is_alive(object_id):
            raise
        return None
    return ObjectState(object_id, life.type, life, records, _properties(work, object_id), table, view, None)


def _view(work: Work, view: str, text: pb.ViewText | None) -> ViewParts | None:
    if text is None:
        return None
    columns = schema_of(work, view, text.schema_id).fields if text.HasField("schema_id") else None
    return ViewParts(dict(sorted(text.sql.items())), columns)


def _properties(work: Work, object_id: str) -> dict[str, str]:
    record = work.attribute(object_id, Attribute.PROPERTIES)
    return {} if record is None else dict(cast(pb.TableProperties, record).properties)


def _with_delta(state: ObjectState, delta: tuple[str, bytes]) -> ObjectState:
    return ObjectState(
        state.id, state.type, state.life, state.records, state.properties, state.table, state.view, delta
    )
