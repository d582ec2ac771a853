"""The files and the columns of a table on the sides of a merge, and what the merge asks of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakebed.catalog.data.changes import COPIES
from lakebed.catalog.merge.rows import Past
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.pending_delta import any_of
from lakebed.errors import Invalid
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import ALWAYS, Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.files import Side, SideDelta
from lakebed.table.partition.sort_order import order_texts
from lakebed.table.partition.spec import spec_texts
from lakebed.table.schema.evolution import make_optional
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class TableFiles:
    """A table's files at the base and on both sides."""

    base: Mapping[str, DataFileRef]
    ours: Side
    theirs: Side
    past: Past | None = None  # if merges have crossed


def has_brought(side: Side) -> bool:
    """Whether a side got rows from another line or from the past since the base."""
    return any(delta.operation in COPIES for delta in side.deltas)


def overwritten_condition(deltas: Sequence[SideDelta]) -> str | None:
    """The condition whose rows the overwrites among the deltas replaced, kept for later merges."""
    manifests = [delta.manifest for delta in deltas if delta.overwrites]
    return any_of(manifest.overwritten if manifest.HasField("overwritten") else "true" for manifest in manifests)


def overwritten_rows(schema: Schema, delta: SideDelta) -> Filter:
    """The rows that a delta overwrote, or more; `schema` is the one that the delta was written for."""
    if not delta.manifest.HasField("overwritten"):
        return ALWAYS
    try:
        return parse_filter(delta.manifest.overwritten, schema)
    except Invalid:  # a merge joined the conditions of several deltas and schemas: any row may match
        return ALWAYS


def may_be_null(file: DataFileRef, id: int) -> bool:
    statistics = [column for column in file.statistics if column.field_id == id]
    return not statistics or not statistics[0].HasField("null_count") or statistics[0].null_count > 0


def newly_required(merged: Schema, side: Schema) -> list[int]:
    """The columns, at any depth, that are required in the merged schema and optional on the side."""
    return [
        id for id, way in merged.ways.items() if way[-1].required and id in side.ways and not side.ways[id][-1].required
    ]


def with_optional(schema: Schema, id: int) -> Schema:
    """The schema with one column made optional, even a key column: rows are never lost for a constraint."""
    key = [key_id for key_id in schema.identifier_ids if key_id != id]
    path = tuple(field.name for field in schema.way_by_id(id))
    return make_optional(Schema(schema.fields, 0, key, schema.unknown), path)


def spec_text(table: TableState) -> str:
    return ", ".join(spec_texts(table.spec, table.schema)) or "none"


def order_text(table: TableState) -> str:
    return ", ".join(order_texts(table.sort_order, table.schema)) or "none"
