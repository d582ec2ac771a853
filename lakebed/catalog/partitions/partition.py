"""Explicit partitions as a work sees them: what is stored of each, and how values and ids lead to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import children, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, NotFound
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.partition.explicit import ExplicitValues
from lakebed.table.schema.schema import Schema
from lakebed.table.types.values import decode_bound, encode_bound

STAGED: Final = "staged"
COMMITTED: Final = "committed"
"""The states of a partition: it is being filled; it is shown."""

PARQUET: Final = "parquet"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition of a table. `values` is None for the root, which has all rows that no explicit partition has.

    `location` is the folder whose files were registered; `previous` is the partition that it was swapped in for.
    """

    id: str
    values: ExplicitValues | None
    state: str = COMMITTED
    location: str | None = None
    file_format: str = PARQUET
    properties: Mapping[str, str] = field(default_factory=dict)
    previous: str | None = None

    def text(self, schema: Schema) -> str:
        """Its values as Hive's folders have them; "" for the root."""
        return "" if self.values is None else self.values.text(schema)


def staged_name(partition: str) -> str:
    """The name of a staged partition, by which no values lead to it."""
    return f"staged {partition}"


def root_of(state: TableState) -> PartitionState:
    """The partition that every table is born with."""
    return PartitionState(state.partition, None)


def explicit_partitions(work: Work, state: TableState) -> list[PartitionState]:
    """The explicit partitions that are shown, by name; one that is created meanwhile is a conflict."""
    return shown_and_staged(work, state)[0]


def shown_and_staged(work: Work, state: TableState) -> tuple[list[PartitionState], list[PartitionState]]:
    """The explicit partitions that are shown, and those that are being filled, by name."""
    found = [child.id for child in children(work, str(state.id), pb.PARTITION)]
    work.load((one, attribute) for one in found for attribute in (Attribute.PARTITION, Attribute.PROPERTIES))
    states = [read_partition(work, state, one) for one in found]
    return [one for one in states if one.state == COMMITTED], [one for one in states if one.state == STAGED]


def find_partition(work: Work, state: TableState, values: ExplicitValues) -> PartitionState | None:
    """The explicit partition with these values, if there is one: a staged one is found by its id alone."""
    found = work.resolve(str(state.id), values.name(state.schema))
    return None if found is None else read_partition(work, state, found)


def partition_by_values(work: Work, state: TableState, values: ExplicitValues) -> PartitionState:
    """The same; `NotFound` if there is none, with what became of the last one."""
    found = find_partition(work, state, values)
    if found is not None:
        return found
    gone = [row for row in work.dropped(str(state.id), values.name(state.schema)) if row.type == pb.PARTITION]
    last = max(gone, key=lambda row: row.dropped, default=None)
    raise NotFound(
        "there is no explicit partition with these values",
        subject=f"{spelled(name_of(work, state.id))}: {values.text(state.schema)}",
        found=None if last is None else f"one that was dropped at {work.moment(last.dropped)}",
        advice="partitions() lists what is there."
        if last is None
        else "undrop_partition(…) brings it back; partitions() lists what is there.",
    )


def partition_by_id(work: Work, state: TableState, given: str | UUID) -> PartitionState:
    """The table's partition of this id, shown or staged; `NotFound` if there is none, or it was dropped."""
    partition = check_id(given)
    if partition == state.partition:
        return root_of(state)
    life = work.life(partition)
    if life is None or life.type != pb.PARTITION or life.container_id != str(state.id):
        raise NotFound(
            "the table has no partition of this id",
            subject=f"{spelled(name_of(work, state.id))}: {partition}",
            advice="partitions() lists what is there.",
        )
    work.path(partition)
    return read_partition(work, state, partition)


def read_partition(work: Work, state: TableState, partition: str) -> PartitionState:
    """What is stored of a partition, which may be dropped."""
    record = cast("pb.TablePartition | None", work.attribute(partition, Attribute.PARTITION))
    held = cast("pb.TablePartition | None", work.attribute(partition, Attribute.PROPERTIES))
    if record is None:
        raise Corrupt("a record of the partition is missing", subject=partition, advice="Run lake.check().")
    return PartitionState(
        partition,
        stored_values(record, state.schema),
        record.state,
        record.location or None,
        record.file_format,
        {} if held is None else dict(sorted(held.properties.items())),
        record.previous_id or None,
    )


def put_partition(work: Work, schema: Schema, partition: PartitionState) -> None:
    """Write what is stored of a partition, except for its life; fields that others stored are kept."""
    known = cast("pb.TablePartition | None", work.unread_attribute(partition.id, Attribute.PARTITION))
    record = pb.TablePartition() if known is None else pb.TablePartition.FromString(known.SerializeToString())
    assert partition.values is not None, "the root has no record"
    record.values = _encoded(partition.values, schema)
    record.state, record.file_format = partition.state, partition.file_format
    for name, text in (("location", partition.location), ("previous_id", partition.previous)):
        record.ClearField(name)
        if text is not None:
            setattr(record, name, text)
    work.put_attribute(partition.id, Attribute.PARTITION, record)


def _encoded(values: ExplicitValues, schema: Schema) -> bytes:
    stored = [
        pb.ColumnValue(field_id=field.id, value=None if value is None else encode_bound(field.type, value))
        for field, value in values.fields(schema).items()
    ]
    return pb.PartitionValues(values=stored).SerializeToString(deterministic=True)


def stored_values(record: pb.TablePartition, schema: Schema) -> ExplicitValues:
    """The values that a record has, of columns that the schema still has."""
    stored = pb.PartitionValues.FromString(record.values).values
    fields = {one.field_id: schema.ways[one.field_id][-1] for one in stored if one.field_id in schema.ways}
    return ExplicitValues(
        tuple(
            (id, decode_bound(field.type, one.value) if one.HasField("value") else None)
            for one in stored
            for id, field in fields.items()
            if id == one.field_id
        )
    )
