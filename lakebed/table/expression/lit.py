"""Literals given as Python values, where text would be an SQL expression."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.expression import Constant
from lakebed.table.schema.defaults import plain_default
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, Field, List, Map, Struct, children_of


@dataclass(frozen=True, slots=True, repr=False)
class Lit:
    """A value as it is: a dict for a struct, a list for a list, a dict or a list of pairs for a map."""

    value: Any

    def __repr__(self) -> str:
        return f"lit({self.value!r})"


def lit(value: Any) -> Lit:
    """A value as it is, for `update` and `merge`, where text is an SQL expression: `{"note": lit("x")}`."""
    return value if isinstance(value, Lit) else Lit(value)


def constant(literal: Lit, field: Field) -> Constant:
    """The value as a constant of the column's type; `Invalid` names the column if it does not fit."""
    return Constant(_plain(literal.value, field, field.name), field.type)


def _plain(given: Any, field: Field, path: str) -> Any:
    if given is None:
        if field.required:
            raise _unfit(given, field, path)
        return None
    match field.type:
        case Struct(fields):
            return _struct(given, field, fields, path)
        case List():
            if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
                raise _unfit(given, field, path)
            [element] = children_of(field.type)
            return [_plain(value, element, f"{path}.{element.name}") for value in given]
        case Map():
            return _map(given, field, path)
        case _:
            return _simple(given, field, path)


def _struct(given: Any, field: Field, fields: tuple[Field, ...], path: str) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise _unfit(given, field, path)
    by_name = {folded_column(name): value for name, value in given.items()}
    by_folded = {folded_column(field.name): field for field in fields}
    if not by_name.keys() <= by_folded.keys() or len(by_name) < len(given):
        raise _unfit(given, field, path)
    return {inner.name: _plain(by_name.get(name), inner, f"{path}.{inner.name}") for name, inner in by_folded.items()}


def _map(given: Any, field: Field, path: str) -> list[tuple[Any, Any]]:
    key, value = children_of(field.type)
    pairs = given.items() if isinstance(given, Mapping) else given
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise _unfit(given, field, path)
    entries = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise _unfit(given, field, path)
        entries.append((_plain(pair[0], key, f"{path}.key"), _plain(pair[1], value, f"{path}.value")))
    return entries


def _simple(given: Any, field: Field, path: str) -> Any:
    if field.type in (FLOAT, DOUBLE) and isinstance(given, float) and not math.isfinite(given):
        return float(given)
    try:
        return plain_default(replace(field, initial_default=None, write_default=None), _python_value(given))
    except (Invalid, OverflowError) as error:
        raise _unfit(given, field, path, getattr(error, "expected", None)) from error


def _python_value(given: Any) -> Any:
    """The value as Python's own type: numpy and enums have their own whole numbers and text."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        return int(given)
    return str.__str__(given) if isinstance(given, str) else given  # str() of an enum is its name


def _unfit(given: Any, field: Field, path: str, expected: Any = None) -> Invalid:
    return Invalid(
        "a value can't be stored in a column",
        subject=f"column {path!r}",
        expected=expected or f"{field.type}{' not null' if field.required else ''}",
        found=f"{given!r} of type {type(given).__name__}",
    )
