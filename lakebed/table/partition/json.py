"""Bodies of partition specs and sort orders: Iceberg's JSON, canonical (sorted keys, no spaces, UTF-8 as it is)."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lakebed.errors import Corrupt, Invalid
from lakebed.table.partition.sort_order import Direction, NullOrder, SortField, SortOrder
from lakebed.table.partition.spec import PartitionField, PartitionSpec
from lakebed.table.partition.transforms import NAMES_OF_TRANSFORMS, Transform, parse_transform

Made = TypeVar("Made")

_SPEC = {"spec-id": int, "fields": list}
_SPEC_FIELD = {"source-id": int, "field-id": int, "name": str, "transform": str}
_ORDER = {"order-id": int, "fields": list}
_ORDER_FIELD = {"transform": str, "source-id": int, "direction": str, "null-order": str}


def spec_to_json(spec: PartitionSpec) -> bytes:
    """The bytes that a table keeps of a partition spec."""
    return _dumped({"spec-id": spec.id, "fields": [_spec_field_json(one) for one in spec.fields]})


def spec_from_json(data: bytes) -> PartitionSpec:
    """The spec that the bytes hold; `Corrupt` if they hold none, `Invalid` if a newer Lakebed wrote them."""
    body = _checked(_loaded(data), _SPEC, "a partition spec")
    return _made(PartitionSpec, tuple(_spec_field(one) for one in body["fields"]), body["spec-id"])


def order_to_json(order: SortOrder) -> bytes:
    """The bytes that a table keeps of a sort order."""
    return _dumped({"order-id": order.id, "fields": [_order_field_json(one) for one in order.fields]})


def order_from_json(data: bytes) -> SortOrder:
    """The order that the bytes hold; `Corrupt` if they hold none, `Invalid` if a newer Lakebed wrote them."""
    body = _checked(_loaded(data), _ORDER, "a sort order")
    return _made(SortOrder, tuple(_order_field(one) for one in body["fields"]), body["order-id"])


def _spec_field_json(field: PartitionField) -> dict[str, Any]:
    return {
        "source-id": field.source_id,
        "field-id": field.field_id,
        "name": field.name,
        "transform": str(field.transform),
    }


def _spec_field(value: object) -> PartitionField:
    body = _checked(value, _SPEC_FIELD, "a partition field")
    return PartitionField(body["source-id"], body["field-id"], body["name"], _transform(body["transform"]))


def _order_field_json(field: SortField) -> dict[str, Any]:
    return {
        "source-id": field.source_id,
        "transform": str(field.transform),
        "direction": field.direction.value,
        "null-order": field.null_order.value,
    }


def _order_field(value: object) -> SortField:
    body = _checked(value, _ORDER_FIELD, "a sort field")
    direction, nulls = _made(Direction, body["direction"]), _made(NullOrder, body["null-order"])
    return SortField(body["source-id"], _transform(body["transform"]), direction, nulls)


def _transform(text: str) -> Transform:
    name = text.partition("[")[0]
    if name.isidentifier() and name not in NAMES_OF_TRANSFORMS:
        # Never taken for void, as Iceberg lets readers do: files would then be written to the wrong partition.
        raise Invalid("a transform is unknown", found=text, advice="Upgrade Lakebed.")
    return _made(parse_transform, text)


def _dumped(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a name has no bytes in UTF-8", found=ascii(error.object[error.start])) from error


def _loaded(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Corrupt("a body is no JSON", expected="Iceberg's JSON", found=str(error)) from error


def _made(make: Callable[..., Made], *arguments: Any) -> Made:
    """What a maker makes of the body's parts: those that it refuses can't have been written."""
    try:
        return make(*arguments)
    except (Invalid, ValueError) as error:
        raise Corrupt("a body is damaged", found=str(error)) from error


def _checked(value: object, keys: Mapping[str, type], what: str) -> dict[str, Any]:
    """The object, if it has these keys with values of these types, and no other key."""
    if not isinstance(value, dict):
        raise Corrupt(f"{what} is damaged", expected="an object", found=repr(value))
    if unknown := sorted(value.keys() - keys.keys()):
        raise Invalid(f"{what} has an unknown key", found=unknown[0], advice="Upgrade Lakebed.")
    for key, kind in keys.items():
        if key not in value or not isinstance(value[key], kind) or isinstance(value[key], bool):
            raise Corrupt(f"{what} is damaged", expected=f"{key} as {kind.__name__}", found=repr(value.get(key)))
    return value
