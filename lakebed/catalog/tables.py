"""Tables: create, open, rename, drop, and what a table is at a version."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.deltas import Delta
from lakebed.catalog.names import Name, parse_name, spelled
from lakebed.catalog.objects import find, free_place
from lakebed.catalog.properties import check_properties
from lakebed.catalog.schemas import KIND
from lakebed.catalog.work import Work
from lakebed.errors import Corrupt, Invalid
from lakebed.metastore import Operation, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.schema import Schema, with_ids
from lakebed.table.schema_json import schema_from_json, schema_to_json

COMMENT = "comment"
"""The property that is a table's comment, as Iceberg has it."""


@dataclass(frozen=True, slots=True)
class TableState:
    """What an engine has to know of a table: its columns, where its files go, and which partition has its deltas."""

    id: str
    schema: Schema
    location: str
    partition: str

    @property
    def data_folder(self) -> str:
        return f"{self.location}/data"


def create_table(
    work: Work, name: Name, schema: Schema, properties: Mapping[str, str] | None = None, comment: str | None = None
) -> str:
    """Make a table with a first, empty snapshot, and answer its id."""
    if not schema.fields:
        raise Invalid("a table has at least one column", subject=spelled(parse_name(name)))
    given = check_properties({**(properties or {}), **({} if comment is None else {COMMENT: comment})})
    parent, own = free_place(work, parse_name(name))
    table = new_id()
    storage = pb.TableStorage(
        location=f"tables/{table}",
        file_format="parquet",
        edition_id=new_id(),
        stream_id=new_id(),
        partition_id=new_id(),
    )
    numbered = with_ids(schema, 1, 1)  # of an allocator that nobody can have used yet; the first delta takes them
    work.put_new_life(table, life(pb.TABLE, parent, own))
    work.put_attribute(table, Attribute.PROPERTIES, pb.TableProperties(properties=given))
    work.put_attribute(table, Attribute.SCHEMA, pb.TableSchema(schema_id=numbered.id))
    work.put_attribute(table, Attribute.STORAGE, storage)
    work.put_body(table, KIND, numbered.id, schema_to_json(numbered))
    work.deltas[table] = Delta(table, storage.partition_id, storage.location, numbered, "create", is_first=True)
    work.note(Operation("create", table, spelled(parse_name(name))))
    return table


def find_table(work: Work, name: Name) -> str:
    """The id of the table with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.TABLE)


def table_state(work: Work, table: str) -> TableState:
    """The table as the work sees it, or `NotFound`."""
    work.load_with_path(table, Attribute.SCHEMA, Attribute.STORAGE)
    work.path(table)
    named = cast("pb.TableSchema | None", work.attribute(table, Attribute.SCHEMA))
    storage = cast("pb.TableStorage | None", work.attribute(table, Attribute.STORAGE))
    if named is None or storage is None:
        raise Corrupt("a table has no schema or no storage", subject=table, advice="Run the records' check.")
    return TableState(table, _schema(work, table, named.schema_id), storage.location, storage.partition_id)


def _schema(work: Work, table: str, schema_id: int) -> Schema:
    own = work.body(table, KIND, schema_id)
    return work.home.schemas.get(table, schema_id) if own is None else schema_from_json(own)
