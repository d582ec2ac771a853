"""Parquet's two annotations of a column: the newer LogicalType and the older ConvertedType have to agree.

A flipped bit in one of them would otherwise read a column in another scale or unit.
"""

from collections.abc import Mapping
from typing import Any, Final

from lakebed.errors import Invalid

_CONVERTED: Final = range(22)
_DECIMAL: Final = 5
_MAP_KEY_VALUE, _INTERVAL = 2, 21

# (logical type) -> the converted types that it may come with
_AGREE: Final[dict[Any, tuple[int, ...]]] = {
    "string": (0,),
    "map": (1, _MAP_KEY_VALUE),
    "list": (3,),
    "enum": (4,),
    "decimal": (_DECIMAL,),
    "date": (6,),
    ("time", "millis"): (7,),
    ("time", "micros"): (8,),
    ("timestamp", "millis"): (9,),
    ("timestamp", "micros"): (10,),
    ("integer", 8, False): (11,),
    ("integer", 16, False): (12,),
    ("integer", 32, False): (13,),
    ("integer", 64, False): (14,),
    ("integer", 8, True): (15,),
    ("integer", 16, True): (16,),
    ("integer", 32, True): (17,),
    ("integer", 64, True): (18,),
    "json": (19,),
    "bson": (20,),
    # parquet-mr writes it with what has no logical type.
    "unknown": (_MAP_KEY_VALUE, _INTERVAL),
}


def check_annotation(name: str, element: Mapping[str, Any]) -> None:
    """`Invalid` if the annotations of a schema's element contradict each other; most elements have one or none."""
    converted, logical = element.get("converted"), element.get("logical")
    if converted is not None and converted not in _CONVERTED:
        raise _refused(name, f"the unknown type {converted}")
    if logical is None:
        return
    if len(logical) > 1:
        raise _refused(name, " and ".join(logical))
    if converted is not None and logical and converted not in _AGREE.get(_form(logical), ()):
        raise _refused(name, f"{_text(logical)} and the older type {converted}")
    if "decimal" in logical and converted is not None and not _is_same_decimal(element, logical["decimal"]):
        raise _refused(name, "two scales or precisions")


def _form(logical: Mapping[str, Any]) -> Any:
    [(kind, value)] = logical.items()
    match kind:
        case "time" | "timestamp":
            return kind, *value["unit"]
        case "integer":
            return kind, value["bits"][0], value["is_signed"]
    return kind


def _is_same_decimal(element: Mapping[str, Any], decimal: Mapping[str, Any]) -> bool:
    return (element.get("scale", 0), element.get("precision")) == (decimal["scale"], decimal["precision"])


def _text(logical: Mapping[str, Any]) -> str:
    form = _form(logical)
    return form if isinstance(form, str) else " ".join(map(str, form))


def _refused(name: str, found: str) -> Invalid:
    return Invalid(f"the annotations of the column {name} contradict each other: {found}", expected="a Parquet file")
