"""A schema's body: Iceberg's schema JSON, with two keys of ours on named fields: `physical-name`, `widened-from`.

It is canonical (sorted keys, no spaces, unescaped UTF-8): equal schemas have equal bytes.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from lakebed.errors import Corrupt, Invalid
from lakebed.table.schema.defaults import default_from_json, default_to_json
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Fixed, List, Map, Simple, Struct, Type, parse_type
from lakebed.table.types.unknown_keys import unknown_keys, with_unknown_keys

Answer = TypeVar("Answer")

_INITIAL, _WRITE, _WIDENED = "initial-default", "write-default", "widened-from"
_SCHEMA = {"type": str, "schema-id": int, "fields": list, "identifier-field-ids": list}
_FIELD = {
    "id": int,
    "name": str,
    "physical-name": str,
    "required": bool,
    "type": object,
    "doc": str,
    _INITIAL: object,
    _WRITE: object,
    _WIDENED: str,
}
_STRUCT = {"type": str, "fields": list}
_LIST = {"type": str, "element-id": int, "element-required": bool, "element": object}
_MAP = {"type": str, "key-id": int, "key": object, "value-id": int, "value-required": bool, "value": object}
_OPTIONAL = {"doc", "identifier-field-ids", _INITIAL, _WRITE, _WIDENED}


def schema_to_json(schema: Schema) -> bytes:
    """The bytes that a table stores for a schema."""
    body = {"type": "struct", "schema-id": schema.id, "fields": _fields_json(schema.fields)}
    if schema.identifier_ids:
        body["identifier-field-ids"] = list(schema.identifier_ids)
    text = json.dumps(
        with_unknown_keys(body, schema.unknown), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a schema has text that UTF-8 can't encode", found=ascii(error.object[error.start])) from error


def schema_from_json(data: bytes) -> Schema:
    """The schema that the bytes hold; `Corrupt` if they are damaged, `Invalid` if a newer Lakebed wrote them."""
    try:
        body = _checked(json.loads(data), _SCHEMA, "a schema", keeps_unknown=True)
        _expect_kind(body, "struct")
        unknown = unknown_keys(body, _SCHEMA, "a schema")
        return _call(Schema, _fields(body["fields"]), body["schema-id"], _identifier_ids(body), unknown)
    except (ValueError, RecursionError) as error:
        raise Corrupt("a schema's body is not JSON", expected="Iceberg's schema JSON", found=str(error)) from error


def _fields_json(fields: tuple[Field, ...]) -> list[dict[str, Any]]:
    return [_field_json(field) for field in fields]


def _field_json(field: Field) -> dict[str, Any]:
    body = {
        "id": field.id,
        "name": field.name,
        "physical-name": field.physical_name,
        "required": field.required,
        "type": _type_json(field.type),
    }
    if field.comment:
        body["doc"] = field.comment
    for key, value in ((_INITIAL, field.initial_default), (_WRITE, field.write_default)):
        if value is not None:
            body[key] = default_to_json(field.type, value)
    if field.widened_from is not None:
        body[_WIDENED] = str(field.widened_from)
    return with_unknown_keys(body, field.unknown)


def _type_json(type: Type) -> str | dict[str, Any]:
    match type:
        case Struct(fields):
            return {"type": "struct", "fields": _fields_json(fields)}
        case List():
            return {
                "type": "list",
                "element-id": type.element_id,
                "element-required": type.element_required,
                "element": _type_json(type.element),
            }
        case Map():
            return {
                "type": "map",
                "key-id": type.key_id,
                "key": _type_json(type.key),
                "value-id": type.value_id,
                "value-required": type.value_required,
                "value": _type_json(type.value),
            }
        case Fixed(length):
            return f"fixed[{length}]"
        case _:
            return str(type)


def _fields(bodies: list[object]) -> tuple[Field, ...]:
    return tuple(_field(body) for body in bodies)


def _field(value: object) -> Field:
    body = _checked(value, _FIELD, "a field", keeps_unknown=True)
    type = _type(body["type"])
    return Field(
        body["name"],
        type,
        body["required"],
        body.get("doc", ""),
        id=body["id"],
        physical_name=body["physical-name"],
        initial_default=_default(type, body.get(_INITIAL)),
        write_default=_default(type, body.get(_WRITE)),
        widened_from=_simple(body[_WIDENED]) if _WIDENED in body else None,
        unknown=unknown_keys(body, _FIELD, "a field"),
    )


def _default(type: Type, body: object) -> Any:
    return None if body is None else _call(default_from_json, type, body)


def _identifier_ids(body: Mapping[str, Any]) -> list[int]:
    ids: list[int] = body.get("identifier-field-ids", [])
    if not all(isinstance(id, int) and not isinstance(id, bool) for id in ids):
        raise _corrupt("a schema", "ids as identifier-field-ids", repr(ids))
    return ids


def _type(value: object) -> Type:
    if isinstance(value, str):
        return _simple(value)
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "struct":
        return _call(Struct, _fields(_checked(value, _STRUCT, "a struct")["fields"]))
    if kind == "list":
        body = _checked(value, _LIST, "a list")
        return List(_type(body["element"]), body["element-required"], body["element-id"])
    if kind == "map":
        body = _checked(value, _MAP, "a map")
        key, element = _type(body["key"]), _type(body["value"])
        return Map(key, element, body["value-required"], body["key-id"], body["value-id"])
    raise _corrupt("a type", "a name, struct, list or map", repr(value))


@lru_cache(maxsize=1024)
def _simple(name: str) -> Type:
    """Cached, because a lake's columns have few types: else decoding a schema takes half as long again."""
    type = _call(parse_type, name)
    if not isinstance(type, Simple):
        raise _corrupt("a type", "an object for a nested type", repr(name))
    return type


def _call(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """What a function returns for values of the body; `Corrupt` if it refuses them, since they were never written."""
    try:
        return function(*arguments)
    except Invalid as error:
        raise Corrupt("a schema's body is damaged", found=str(error)) from error


def _checked(value: object, keys: Mapping[str, type], what: str, *, keeps_unknown: bool = False) -> dict[str, Any]:
    """The object, if it has these keys with values of these types, and no others that would be lost."""
    if not isinstance(value, dict):
        raise _corrupt(what, "an object", repr(value))
    if not keeps_unknown and (unknown := sorted(value.keys() - keys.keys())):
        raise Invalid(f"{what} in a schema's body has an unknown key", found=unknown[0], advice="Upgrade Lakebed.")
    for key, kind in keys.items():
        if key not in value and key in _OPTIONAL:
            continue
        if key not in value or not isinstance(value[key], kind) or (kind is int and isinstance(value[key], bool)):
            raise _corrupt(what, f"{key} as {kind.__name__}", repr(value.get(key)))
    return value


def _expect_kind(body: Mapping[str, Any], kind: str) -> None:
    if body["type"] != kind:
        raise _corrupt("a schema", f"the type {kind}", repr(body["type"]))


def _corrupt(what: str, expected: str, found: str) -> Corrupt:
    return Corrupt(f"{what} in a schema's body is damaged", expected=expected, found=found)
