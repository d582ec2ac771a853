"""The stored form of partition specs and sort orders: Iceberg's JSON, canonical (sorted keys, no spaces, raw UTF-8)."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lakebed.errors import Corrupt, Invalid
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder
from lakebed.table.partition.spec import PartitionField, PartitionSpec
from lakebed.table.partition.transforms import NAMES_OF_TRANSFORMS, Transform, parse_transform
from lakebed.table.types.unknown_keys import unknown_keys, with_unknown_keys

Made = TypeVar("Made")

_SPEC = {"spec-id": int, "fields": list}
_SPEC_FIELD = {"source-id": int, "field-id": int, "name": str, "transform": str}
_NAMED = "lakebed.named"  # only if the field's name was chosen
_ORDER = {"order-id": int, "fields": list}
_ORDER_FIELD = {"transform": str, "source-id": int, "direction": str, "null-order": str}


def spec_to_json(spec: PartitionSpec) -> bytes:
    """A partition spec as a table stores it."""
    body = {"spec-id": spec.id, "fields": [_spec_field_json(field) for field in spec.fields]}
    return _to_bytes(with_unknown_keys(body, spec.unknown))


def spec_from_json(data: bytes) -> PartitionSpec:
    """The spec in these bytes; `Corrupt` if there is none, `Invalid` if a newer Lakebed wrote them."""
    body = _checked(_parsed(data), _SPEC, "a partition spec")
    unknown = unknown_keys(body, _SPEC, "a partition spec")
    return _make(PartitionSpec, tuple(_spec_field(field) for field in body["fields"]), body["spec-id"], unknown)


def order_to_json(order: SortOrder) -> bytes:
    """A sort order as a table stores it."""
    body = {"order-id": order.id, "fields": [_order_field_json(field) for field in order.fields]}
    return _to_bytes(with_unknown_keys(body, order.unknown))


def order_from_json(data: bytes) -> SortOrder:
    """The order in these bytes; `Corrupt` if there is none, `Invalid` if a newer Lakebed wrote them."""
    body = _checked(_parsed(data), _ORDER, "a sort order")
    unknown = unknown_keys(body, _ORDER, "a sort order")
    return _make(SortOrder, tuple(_order_field(field) for field in body["fields"]), body["order-id"], unknown)


def _spec_field_json(field: PartitionField) -> dict[str, Any]:
    body: dict[str, Any] = {
        "source-id": field.source_id,
        "field-id": field.field_id,
        "name": field.name,
        "transform": str(field.transform),
    }
    return with_unknown_keys({**body, _NAMED: True} if field.is_named else body, field.unknown)


def _spec_field(value: object) -> PartitionField:
    keys = {**_SPEC_FIELD, _NAMED: bool} if isinstance(value, dict) and _NAMED in value else _SPEC_FIELD
    body = _checked(value, keys, "a partition field")
    transform, is_named = _transform(body["transform"]), body.get(_NAMED, False)
    unknown = unknown_keys(body, {*_SPEC_FIELD, _NAMED}, "a partition field")
    return PartitionField(body["source-id"], body["field-id"], body["name"], transform, is_named, unknown)


def _order_field_json(field: SortField) -> dict[str, Any]:
    body = {
        "source-id": field.source_id,
        "transform": str(field.transform),
        "direction": field.direction.value,
        "null-order": field.null_order.value,
    }
    return with_unknown_keys(body, field.unknown)


def _order_field(value: object) -> SortField:
    body = _checked(value, _ORDER_FIELD, "a sort field")
    direction, nulls = _make(Direction, body["direction"]), _make(NullOrder, body["null-order"])
    unknown = unknown_keys(body, _ORDER_FIELD, "a sort field")
    return SortField(body["source-id"], _transform(body["transform"]), direction, nulls, unknown)


def _transform(text: str) -> Transform:
    name = text.partition("[")[0]
    if name.isidentifier() and name not in NAMES_OF_TRANSFORMS:
        # Never read as void, as Iceberg lets readers do: files would then be written to the wrong partition.
        raise Invalid("a transform is unknown", found=text, advice="Upgrade Lakebed.")
    return _make(parse_transform, text)


def _to_bytes(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a name has text that UTF-8 can't encode", found=ascii(error.object[error.start])) from error


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Corrupt("a body is not JSON", expected="Iceberg's JSON", found=str(error)) from error


def _make(make: Callable[..., Made], *arguments: Any) -> Made:
    """What `make` returns for parts of the body; parts that it refuses can't have been written, so they are damaged."""
    try:
        return make(*arguments)
    except (Invalid, ValueError) as error:
        raise Corrupt("a body is damaged", found=str(error)) from error


def _checked(value: object, keys: Mapping[str, type], what: str) -> dict[str, Any]:
    """The object, if it has these keys with values of these types; others are up to `unknown_keys`."""
    if not isinstance(value, dict):
        raise Corrupt(f"{what} is damaged", expected="an object", found=repr(value))
    for key, kind in keys.items():
        if key not in value or not isinstance(value[key], kind) or (isinstance(value[key], bool) and kind is not bool):
            raise Corrupt(f"{what} is damaged", expected=f"{key} as {kind.__name__}", found=repr(value.get(key)))
    return value
