"""Tables: create, open, rename, drop, and what a table is at a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.objects.properties import with_comment
from lakebed.catalog.transaction.bodies import FIELD, PARTITION_FIELD, SCHEMA, SORT_ORDER, SPEC
from lakebed.catalog.transaction.commits import Argument
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import find, free_place
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.tombstones import expired, find_purge
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Invalid, LakebedError
from lakebed.files.paths import check_path
from lakebed.metastore import Operation, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.partition.json import order_from_json, order_to_json, spec_from_json, spec_to_json
from lakebed.table.partition.sort_order import UNSORTED, SortOrder, make_sort_order
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec, make_spec
from lakebed.table.schema.json import schema_from_json, schema_to_json
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Path, Schema, id_count, with_ids, with_key


def missing(work: Work, object_id: str) -> LakebedError:
    """`Expired` if the object was purged since, on whatever line; else `Corrupt`."""
    purge = find_purge(work.context, work.ref, object_id)
    if purge is not None:
        return expired(purge, object_id)
    return Corrupt("an object has no record of what it is", subject=object_id, advice="Run the records' check.")


# Properties are there to be asked for next: who writes goes by them.
_STATE = (Attribute.SCHEMA, Attribute.STORAGE, Attribute.SPEC, Attribute.SORT, Attribute.PROPERTIES)


@dataclass(frozen=True, slots=True)
class TableState:
    """What an engine has to know of a table: its columns, where and how files go, which partition has its deltas."""

    id: str
    schema: Schema
    location: str
    partition: str
    spec: PartitionSpec = UNPARTITIONED
    sort_order: SortOrder = UNSORTED

    @property
    def data_folder(self) -> str:
        return f"{self.location}/data"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a new table is laid out, as people write it."""

    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    primary_key: Sequence[Path] = ()
    location: str | None = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All of it, as a request has it."""
        return self.partition_by, self.sort_by, self.primary_key, self.location


def create_table(
    work: Work,
    name: Name,
    schema: Schema,
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    layout: Layout | None = None,
) -> str:
    """Make a table with a first, empty snapshot, and answer its id."""
    asked = layout or Layout()
    if not schema.fields:
        raise Invalid("a table has at least one column", subject=spelled(parse_name(name)))
    for one in schema.names:
        check_free_name(one)
    given = with_comment(properties, comment)
    # The numbers are of allocators that nobody can have used yet; the first delta takes them.
    numbered = with_key(with_ids(schema, 1, 1), asked.primary_key)
    spec = make_spec(numbered, asked.partition_by, spec_id=1) if asked.partition_by else UNPARTITIONED
    order = make_sort_order(numbered, asked.sort_by, order_id=1) if asked.sort_by else UNSORTED
    parent, own = free_place(work, parse_name(name))
    table = work.new_id(spelled(parse_name(name)))
    storage = pb.TableStorage(
        location=_location(table, asked.location),
        file_format="parquet",
        edition_id=new_id(),
        stream_id=new_id(),
        partition_id=new_id(),
    )
    work.put_new_life(table, life(pb.TABLE, parent, own))
    work.put_attribute(table, Attribute.PROPERTIES, pb.TableProperties(properties=given))
    work.put_attribute(table, Attribute.STORAGE, storage)
    put_schema(work, table, numbered)
    if spec.fields:
        put_spec(work, table, spec)
    if order.fields:
        put_sort_order(work, table, order)
    work.deltas[table] = Delta(
        table,
        storage.partition_id,
        storage.location,
        numbered,
        "create",
        spec_id=spec.id,
        first_ids=_used_ids(numbered, spec, order),
    )
    work.note(Operation("create", table, spelled(parse_name(name))))
    return table


def _used_ids(schema: Schema, spec: PartitionSpec, order: SortOrder) -> dict[str, int]:
    """How many ids of each kind a new table has."""
    used = {SCHEMA: 1, FIELD: id_count(schema), SPEC: spec.id, PARTITION_FIELD: len(spec.fields), SORT_ORDER: order.id}
    return {kind: count for kind, count in used.items() if count}


def put_schema(work: Work, table: str, schema: Schema) -> None:
    """Make a schema, with its body, the table's current one."""
    work.put_attribute(table, Attribute.SCHEMA, pb.TableSchema(schema_id=schema.id))
    work.put_body(table, SCHEMA, schema.id, schema_to_json(schema))


def put_spec(work: Work, table: str, spec: PartitionSpec) -> None:
    """Make a partition spec, with its body, the table's current one."""
    work.put_attribute(table, Attribute.SPEC, pb.TableSpec(spec_id=spec.id))
    if spec.id:
        work.put_body(table, SPEC, spec.id, spec_to_json(spec))


def put_sort_order(work: Work, table: str, order: SortOrder) -> None:
    """Make a sort order, with its body, the table's current one."""
    work.put_attribute(table, Attribute.SORT, pb.TableSortOrder(sort_order_id=order.id))
    if order.id:
        work.put_body(table, SORT_ORDER, order.id, order_to_json(order))


def find_table(work: Work, name: Name) -> str:
    """The id of the table with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.TABLE)


def table_state(work: Work, table: str) -> TableState:
    """The table as the work sees it, or `NotFound`."""
    work.load_with_path(table, *_STATE)
    work.path(table)
    return stored_state(work, table)


def stored_state(work: Work, table: str) -> TableState:
    """The same of a table that may be dropped."""
    work.load((table, attribute) for attribute in _STATE)
    named = cast("pb.TableSchema | None", work.attribute(table, Attribute.SCHEMA))
    storage = cast("pb.TableStorage | None", work.attribute(table, Attribute.STORAGE))
    spec = cast("pb.TableSpec | None", work.attribute(table, Attribute.SPEC))
    order = cast("pb.TableSortOrder | None", work.attribute(table, Attribute.SORT))
    if named is None or storage is None:
        raise missing(work, table)
    return TableState(
        table,
        schema_of(work, table, named.schema_id),
        storage.location,
        storage.partition_id,
        UNPARTITIONED if spec is None else spec_of(work, table, spec.spec_id),
        UNSORTED if order is None else _order(work, table, order.sort_order_id),
    )


def schema_of(work: Work, table: str, schema_id: int) -> Schema:
    """One of a table's schemas."""
    own = work.body(table, SCHEMA, schema_id)
    return work.context.bodies.get(table, schema_id) if own is None else schema_from_json(own)


def spec_of(work: Work, table: str, spec_id: int) -> PartitionSpec:
    """One of a table's partition specs."""
    own = work.body(table, SPEC, spec_id)
    return work.context.bodies.spec(table, spec_id) if own is None else spec_from_json(own)


def _order(work: Work, table: str, order_id: int) -> SortOrder:
    own = work.body(table, SORT_ORDER, order_id)
    return work.context.bodies.sort_order(table, order_id) if own is None else order_from_json(own)


def _location(table: str, asked: str | None) -> str:
    """A folder of the table's own, whatever it is below, so that purging it can't take anybody else's files."""
    if asked is None:
        return f"tables/{table}"
    check_path(asked)
    return f"{asked.rstrip('/')}/{table}"
