"""Objects of Spark's that do more: PySpark's own classes, with methods of ours before theirs."""

from typing import Any

_EXTENDED: dict[tuple[type, type], type] = {}


def extended(first: type, own: Any) -> type:
    """The class of an object of Spark's, classic or Connect, with the methods of `first` before its own."""
    key = first, type(own)
    if key not in _EXTENDED:
        _EXTENDED[key] = type(first.__name__, key, {})
    return _EXTENDED[key]
