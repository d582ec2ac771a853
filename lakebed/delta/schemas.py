"""The columns of a Delta table, from the JSON of its log."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from lakebed.errors import Invalid
from lakebed.table.schema.evolution import widens
from lakebed.table.types import types
from lakebed.table.types.types import Decimal, Field, Fields, List, Map, Struct, Type, children_of, with_children

PHYSICAL: Final = "delta.columnMapping.physicalName"
_ID: Final = "delta.columnMapping.id"
_CHANGES: Final = "delta.typeChanges"

_TYPES: dict[str, Type] = {
    "string": types.STRING,
    "long": types.LONG,
    "integer": types.INT,
    "short": types.INT,
    "byte": types.INT,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "boolean": types.BOOLEAN,
    "binary": types.BINARY,
    "date": types.DATE,
    "timestamp": types.TIMESTAMPTZ,
    "timestamp_ntz": types.TIMESTAMP,
}

INNER_IDS: Final = 100_000
"""How far above the ids of a table those of elements, keys and values begin, which Delta gives none."""


def fields_of(text: str) -> Fields:
    """The columns; `physical_name` is what files call them, and ids are 0 without column mapping."""
    return tuple(_field(each) for each in json.loads(text)["fields"])


def numbered(fields: Fields, last_id: int) -> Fields:
    """The fields, with ids for what Delta gives none: elements, keys and values, by their places."""
    return _numbered(fields, count(last_id + INNER_IDS))


def _numbered(fields: Fields, ids: Iterator[int]) -> Fields:
    return tuple(
        replace(
            field,
            id=field.id or next(ids),
            type=with_children(field.type, _numbered(children_of(field.type), ids)),
        )
        for field in fields
    )


def _field(given: Mapping[str, Any]) -> Field:
    about = given.get("metadata") or {}
    type = _type(given["name"], given["type"])
    return Field(
        given["name"],
        type,
        not given.get("nullable", True),
        about.get("comment") or "",
        id=int(about.get(_ID, 0)),
        physical_name=about.get(PHYSICAL, given["name"]),
        widened_from=_first_type(given["name"], type, about.get(_CHANGES) or ()),
    )


def _first_type(name: str, type: Type, changes: Any) -> Type | None:
    """What the oldest files have, if the type was widened and readers can tell."""
    own = [change for change in changes if "fieldPath" not in change]
    if not own:
        return None
    first = _type(name, own[0]["fromType"])
    return first if first != type and widens(first, type) else None


def _type(name: str, given: Any) -> Type:
    if isinstance(given, str):
        return _decimal(given) if given.startswith("decimal") else _simple(name, given)
    match given["type"]:
        case "struct":
            return Struct(tuple(_field(each) for each in given["fields"]))
        case "array":
            return List(_type(name, given["elementType"]), not given["containsNull"])
        case "map":
            key, value = _type(name, given["keyType"]), _type(name, given["valueType"])
            return Map(key, value, not given["valueContainsNull"])
        case other:
            return _simple(name, str(other))


def _simple(name: str, given: str) -> Type:
    if given not in _TYPES:
        raise Invalid("no table here can have a column of this type", subject=name, found=f"{given} of Delta")
    return _TYPES[given]


def _decimal(given: str) -> Type:
    precision, scale = given.removeprefix("decimal").strip("()").split(",")
    return Decimal(int(precision), int(scale))
