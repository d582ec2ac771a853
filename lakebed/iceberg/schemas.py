"""Schemas in Iceberg's words: their JSON, what they need of the format, and the mapping of names for foreign files."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lakebed.table.partition.json import order_to_json, spec_to_json
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import TIMESTAMP_NS, TIMESTAMPTZ_NS, Field, Fields, Type, children_of, walk

NAME_MAPPING = "schema.name-mapping.default"
"""The property by which Iceberg's readers find columns in files that have no field ids."""

_OURS = ("physical-name", "widened-from")


def schema_json(schema: Schema) -> dict[str, Any]:
    """A schema as Iceberg's metadata has it."""
    body: dict[str, Any] = _without_ours(json.loads(schema_to_json(schema)))
    return body


def needs_v3(schema: Schema) -> bool:
    """Whether the schema has what version 2 of the format has not: defaults, or nanoseconds."""
    return any(_needs_v3(way[-1]) for way in walk(schema.fields))


def name_mapping(schema: Schema) -> str:
    """What columns are called in the files, whatever they are called now."""
    return json.dumps(_mapped(schema.fields), ensure_ascii=False)


def known_types(schemas: Iterable[Schema]) -> Mapping[int, Type]:
    """The type of every field that one of the schemas has, as the last of them has it."""
    return {way[-1].id: way[-1].type for schema in schemas for way in walk(schema.fields)}


def _needs_v3(field: Field) -> bool:
    has_default = field.initial_default is not None or field.write_default is not None
    return has_default or field.type in (TIMESTAMP_NS, TIMESTAMPTZ_NS)


def _without_ours(body: Any) -> Any:
    match body:
        case dict():
            return {key: _without_ours(one) for key, one in body.items() if key not in _OURS}
        case list():
            return [_without_ours(one) for one in body]
        case _:
            return body


def _mapped(fields: Fields) -> list[dict[str, Any]]:
    return [_mapped_field(one) for one in fields]


def _mapped_field(field: Field) -> dict[str, Any]:
    mapped: dict[str, Any] = {"field-id": field.id, "names": [field.physical_name]}
    inside = children_of(field.type)
    return {**mapped, "fields": _mapped(inside)} if inside else mapped


def spec_json(spec: PartitionSpec) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(spec_to_json(spec))
    return body


def order_json(order: SortOrder) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(order_to_json(order))
    return body
