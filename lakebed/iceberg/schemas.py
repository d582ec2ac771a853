"""Schemas, specs and sort orders as Iceberg's JSON, the format version that a schema needs, and its name mapping."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lakebed.table.partition.json import order_to_json, spec_to_json
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import TIMESTAMP_NS, TIMESTAMPTZ_NS, Field, Fields, Type, children_of, walk

NAME_MAPPING = "schema.name-mapping.default"
"""The property by which Iceberg's readers find columns in files that have no field ids."""

_OUR_KEYS = ("physical-name", "widened-from")


def schema_json(schema: Schema) -> dict[str, Any]:
    """A schema as Iceberg's metadata has it."""
    body: dict[str, Any] = _without_our_keys(json.loads(schema_to_json(schema)))
    return body


def needs_v3(schema: Schema) -> bool:
    """Whether the schema has defaults or nanoseconds, which version 2 of the format does not support."""
    return any(_needs_v3(way[-1]) for way in walk(schema.fields))


def name_mapping(schema: Schema, others: Iterable[tuple[int, str]] = ()) -> str:
    """The name mapping: what each column is called in the files, whatever its name is now.

    `others` are names, with their fields' ids, that only some files have.
    """
    more: dict[int, list[str]] = {}
    for id, name in dict.fromkeys(others):
        more.setdefault(id, []).append(name)
    return json.dumps(_mapped_fields(schema.fields, more), ensure_ascii=False)


def known_types(schemas: Iterable[Schema]) -> Mapping[int, Type]:
    """The type of every field of the schemas, by the last schema that has it."""
    return {way[-1].id: way[-1].type for schema in schemas for way in walk(schema.fields)}


def _needs_v3(field: Field) -> bool:
    has_default = field.initial_default is not None or field.write_default is not None
    return has_default or field.type in (TIMESTAMP_NS, TIMESTAMPTZ_NS)


def _without_our_keys(body: Any) -> Any:
    match body:
        case dict():
            return {key: _without_our_keys(value) for key, value in body.items() if key not in _OUR_KEYS}
        case list():
            return [_without_our_keys(element) for element in body]
        case _:
            return body


def _mapped_fields(fields: Fields, more: Mapping[int, list[str]]) -> list[dict[str, Any]]:
    return [_mapped_field(field, more) for field in fields]


def _mapped_field(field: Field, more: Mapping[int, list[str]]) -> dict[str, Any]:
    names = [field.physical_name, *more.get(field.id, ())]
    mapped: dict[str, Any] = {"field-id": field.id, "names": names}
    children = children_of(field.type)
    return {**mapped, "fields": _mapped_fields(children, more)} if children else mapped


def spec_json(spec: PartitionSpec) -> dict[str, Any]:
    unmarked = replace(spec, fields=tuple(replace(field, is_named=False) for field in spec.fields))
    body: dict[str, Any] = json.loads(spec_to_json(unmarked))
    return body


def order_json(order: SortOrder) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(order_to_json(order))
    return body
