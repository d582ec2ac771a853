"""Tables: what a table is at a version, how it is created, and how its schema, spec and sort order are written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.objects.namespaces import location_of
from lakebed.catalog.objects.properties import with_comment
from lakebed.catalog.tables.locations import check_location
from lakebed.catalog.tables.storage import PARQUET, SOURCE, table_folder
from lakebed.catalog.transaction.bodies import DROPPED_FIELD, FIELD, PARTITION_FIELD, SCHEMA, SORT_ORDER, SPEC, BodyKey
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.commits import Argument
from lakebed.catalog.transaction.holders import check_alive, holder_of
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import find, free_place
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.tombstones import expired, find_purge
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid, LakebedError
from lakebed.metastore import Operation, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.partition.json import order_from_json, order_to_json, spec_from_json, spec_to_json
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec, make_spec
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Path, Schema, check_new_defaults, with_ids, with_key, with_names
from lakebed.table.types.nesting import check_nesting

# Properties are loaded with the rest: every writer asks for them next.
_STATE = (Attribute.SCHEMA, Attribute.STORAGE, Attribute.SPEC, Attribute.SORT, Attribute.PROPERTIES)


@dataclass(frozen=True, slots=True)
class TableState:
    """What an engine needs of a table: its columns, where and how files are written, the partition of its deltas.

    `id` is the holder's (`catalog/transaction/holders.py`): that of the table, or of another edition than its first.
    """

    id: str
    schema: Schema
    location: str
    partition: str
    spec: PartitionSpec = UNPARTITIONED
    sort_order: SortOrder = UNSORTED
    edition: str = ""
    stream: str = ""

    @property
    def data_folder(self) -> str:
        return f"{self.location}/data"

    @property
    def own_ids(self) -> tuple[str, ...]:
        """The ids that it was born with, or got since: the holder's, its edition's, stream's and root partition's."""
        return str(self.id), self.edition, self.stream, self.partition


@dataclass(frozen=True, slots=True)
class Layout:
    """How a new table is laid out, as the caller wrote it."""

    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    primary_key: Sequence[Path] = ()
    location: str | None = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The layout as arguments of a request."""
        return self.partition_by, self.sort_by, self.primary_key, self.location


# Reading


def find_table(work: Work, name: Name) -> str:
    """The id of the table with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.TABLE)


def table_states(work: Work, tables: Sequence[str]) -> list[TableState]:
    """The same as `table_state` for many tables, in a few round trips for all."""
    work.load((table, attribute) for table in tables for attribute in (Attribute.LIFE, *_STATE))
    holders = [holder_of(work, table) for table in tables]
    work.load((holder, attribute) for holder in holders for attribute in (Attribute.LIFE, *_STATE))
    work.context.bodies.load(key for holder in holders for key in _body_keys(work, holder))
    return [table_state(work, table) for table in tables]


def _body_keys(work: Work, table: str) -> Iterator[BodyKey]:
    """The bodies that a table's state needs."""
    current = cast("pb.TableSchema | None", work.unread_attribute(table, Attribute.SCHEMA))
    spec = cast("pb.TableSpec | None", work.unread_attribute(table, Attribute.SPEC))
    order = cast("pb.TableSortOrder | None", work.unread_attribute(table, Attribute.SORT))
    if current is not None:
        yield table, SCHEMA, current.schema_id
    if spec is not None:
        yield table, SPEC, spec.spec_id
    if order is not None:
        yield table, SORT_ORDER, order.sort_order_id


def table_state(work: Work, table: str) -> TableState:
    """The table as the work sees it, by its active edition; `NotFound` if it is not alive."""
    work.load_with_path(table, *_STATE)
    check_alive(work, table)
    return stored_state(work, holder_of(work, table))


def loosely_read_state(work: Work, table: str) -> TableState:
    """The same; another commit may change its columns and its order. The caller says what would be a conflict."""
    work.load_with_path(table, *_STATE)
    check_alive(work, table)
    return _state(work, holder_of(work, table), work.unread_attribute)


def stored_state(work: Work, table: str) -> TableState:
    """The state that a holder has; its table may be dropped."""
    return _state(work, table, work.attribute)


def _state(work: Work, table: str, read: Callable[[str, Attribute], Message | None]) -> TableState:
    """The state of a holder, whose schema and order are read so."""
    work.load((table, attribute) for attribute in _STATE)
    current = cast("pb.TableSchema | None", read(table, Attribute.SCHEMA))
    storage = cast("pb.TableStorage | None", work.attribute(table, Attribute.STORAGE))
    spec = cast("pb.TableSpec | None", work.attribute(table, Attribute.SPEC))
    order = cast("pb.TableSortOrder | None", read(table, Attribute.SORT))
    if current is None or storage is None:
        raise missing_record(work, table)
    return TableState(
        table,
        schema_of(work, table, current.schema_id),
        storage.location,
        (table.cell if isinstance(table, Bound) else None) or storage.partition_id,
        UNPARTITIONED if spec is None else spec_of(work, table, spec.spec_id),
        UNSORTED if order is None else _sort_order_of(work, table, order.sort_order_id),
        storage.edition_id,
        storage.stream_id,
    )


def schema_of(work: Work, table: str, schema_id: int) -> Schema:
    """One of a table's schemas."""
    own = work.body(table, SCHEMA, schema_id)
    return work.context.bodies.get(table, schema_id) if own is None else schema_from_json(own)


def spec_of(work: Work, table: str, spec_id: int) -> PartitionSpec:
    """One of a table's partition specs."""
    own = work.body(table, SPEC, spec_id)
    return work.context.bodies.spec(table, spec_id) if own is None else spec_from_json(own)


def _sort_order_of(work: Work, table: str, order_id: int) -> SortOrder:
    own = work.body(table, SORT_ORDER, order_id)
    return work.context.bodies.sort_order(table, order_id) if own is None else order_from_json(own)


def missing_record(work: Work, object_id: str) -> LakebedError:
    """The error for an object without a record: `Expired` if it was purged on any line, else `Corrupt`."""
    purge = find_purge(work.context, work.ref, object_id)
    if purge is not None:
        return expired(purge, object_id)
    return Corrupt(
        "a record of the object is missing",
        subject=object_id,
        advice="Run lake.check().",
    )


# Creating and changing


def create_table(
    work: Work,
    name: Name,
    schema: Schema,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    layout: Layout | None = None,
    *,
    keeps_ids: bool = False,
) -> str:
    """Create a table with an empty first snapshot, and return its id.

    `keeps_ids`: the columns have the ids of the table that they come from, on every level.
    """
    layout, texts = layout or Layout(), with_comment(properties, comment)
    definition = definition_of(spelled(parse_name(name)), schema, texts, layout, keeps_ids=keeps_ids)
    parent, own = free_place(work, parse_name(name))
    table = work.new_id(spelled(parse_name(name)))
    storage = pb.TableStorage(
        location=table_folder(table, _folder(work, parent, layout.location)),
        source_short_name=SOURCE,
        file_format=PARQUET,
        edition_id=new_id(),
        stream_id=new_id(),
        partition_id=new_id(),
    )
    work.put_new_life(table, life(pb.TABLE, parent, own))
    put_definition(work, table, storage, definition)
    work.note(Operation("create", table, spelled(parse_name(name))))
    return table


def _folder(work: Work, namespace: str, given: str | None) -> str:
    """The folder in which a new table gets its own: as given, or where its namespace says."""
    if given is None:
        return location_of(work, namespace)
    check_location(given)
    return given


@dataclass(frozen=True, slots=True)
class Definition:
    """What a new table or edition is made of: columns with ids from 1 on, layout, properties."""

    schema: Schema
    spec: PartitionSpec
    order: SortOrder
    properties: Mapping[str, str]


def definition_of(
    name: str, schema: Schema, properties: Mapping[str, str], layout: Layout, *, keeps_ids: bool = False
) -> Definition:
    """The definition of a new table or edition, checked."""
    if not schema.fields:
        raise Invalid("a table needs at least one column", subject=name)
    for column in schema.names:
        check_free_name(column)
    check_nesting(schema.fields)
    check_new_defaults(schema.fields)
    # The ids start at 1: nobody can have used the table's allocators yet. The first delta takes them from there.
    numbered = with_key(with_names(schema, 1) if keeps_ids else with_ids(schema, 1, 1), layout.primary_key)
    spec = make_spec(numbered, layout.partition_by, spec_id=1) if layout.partition_by else UNPARTITIONED
    order = make_sort_order(numbered, layout.sort_by, order_id=1) if layout.sort_by else UNSORTED
    return Definition(numbered, spec, order, properties)


def put_definition(work: Work, holder: str, storage: pb.TableStorage, definition: Definition) -> None:
    """Write all attributes of a new table or edition, and its empty first snapshot."""
    schema, spec, order = definition.schema, definition.spec, definition.order
    work.put_attribute(holder, Attribute.PROPERTIES, pb.TableProperties(properties=definition.properties))
    work.put_attribute(holder, Attribute.STORAGE, storage)
    put_schema(work, holder, schema)
    if spec.fields:
        put_spec(work, holder, spec)
    if order.fields:
        put_sort_order(work, holder, order)
    work.deltas[storage.partition_id] = Delta(
        holder,
        storage.partition_id,
        storage.location,
        schema,
        "create",
        spec_id=spec.id,
        first_ids=_used_ids(schema, spec, order),
    )


def _used_ids(schema: Schema, spec: PartitionSpec, order: SortOrder) -> dict[str, int]:
    """How many ids of each kind a new table uses."""
    used = {SCHEMA: 1, FIELD: schema.highest_id, SPEC: spec.id, PARTITION_FIELD: len(spec.fields), SORT_ORDER: order.id}
    return {kind: count for kind, count in used.items() if count}


def note_dropped(work: Work, table: str, before: Schema, after: Schema) -> None:
    """Let all lines know which columns this one drops: no other takes them up any more."""
    for id, way in before.ways.items():
        if id not in after.ways and all(outer.id in after.ways for outer in way[:-1]):
            work.put_body(table, DROPPED_FIELD, id, b"dropped")


def put_schema(work: Work, table: str, schema: Schema) -> None:
    """Write a schema, and make it the table's current one."""
    work.put_attribute(table, Attribute.SCHEMA, pb.TableSchema(schema_id=schema.id))
    work.put_body(table, SCHEMA, schema.id, schema_to_json(schema))


def put_spec(work: Work, table: str, spec: PartitionSpec) -> None:
    """Write a partition spec, and make it the table's current one."""
    work.put_attribute(table, Attribute.SPEC, pb.TableSpec(spec_id=spec.id))
    if spec.id:
        work.put_body(table, SPEC, spec.id, spec_to_json(spec))


def put_sort_order(work: Work, table: str, order: SortOrder) -> None:
    """Write a sort order, and make it the table's current one."""
    work.put_attribute(table, Attribute.SORT, pb.TableSortOrder(sort_order_id=order.id))
    if order.id:
        work.put_body(table, SORT_ORDER, order.id, order_to_json(order))
