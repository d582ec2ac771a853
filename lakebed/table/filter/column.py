"""Columns named in Python, and the conditions made from them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.filter.condition import (
    AnyOf,
    Compares,
    Condition,
    Flag,
    In,
    Matches,
    Names,
    Nan,
    Not,
    Null,
    name_repr,
)
from lakebed.table.filter.filter import Operator
from lakebed.table.filter.like import ESCAPE, parse_pattern, prefix_pattern
from lakebed.table.filter.python_values import literal_of

_NAME = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def col(name: str, *inside: str) -> "Column":
    """A column by its name, for filters: `col("price") > 10`.

    A dot leads into a struct, `col("address.city")`, and so do further names, in which dots have no meaning:
    `col("address", "city")`. A single name that has a dot itself stands in backticks.
    """
    for part in (name, *inside):
        if not isinstance(part, str):
            raise Invalid("a column's name must be text", expected="str", found=type(part).__name__)
    return Column((name, *inside) if inside else _names(name))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column(Condition):
    """A column that is not bound to a table yet. Comparing it makes a condition; a boolean column is one itself."""

    names: Names

    def __eq__(self, value: Any) -> Condition:  # type: ignore[override]  # as in every such library
        return self._compared(Operator.EQUAL, value)

    def __ne__(self, value: Any) -> Condition:  # type: ignore[override]
        return self._compared(Operator.NOT_EQUAL, value)

    def __lt__(self, value: Any) -> Condition:
        return self._compared(Operator.LESS, value)

    def __le__(self, value: Any) -> Condition:
        return self._compared(Operator.LESS_OR_EQUAL, value)

    def __gt__(self, value: Any) -> Condition:
        return self._compared(Operator.GREATER, value)

    def __ge__(self, value: Any) -> Condition:
        return self._compared(Operator.GREATER_OR_EQUAL, value)

    __hash__ = None  # type: ignore[assignment]  # a set would ask whether two are equal and get a condition

    def is_in(self, values: Iterable[Any]) -> Condition:
        """Its value is one of these."""
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise Invalid("values must be a list", subject=repr(self), expected="such as [1, 2]", found=repr(values))
        literals = tuple(literal_of(value, self._path) for value in values)
        return In(self.names, literals) if literals else AnyOf(())

    def between(self, low: Any, high: Any) -> Condition:
        """Its value is from `low` to `high`, both included."""
        return self._compared(Operator.GREATER_OR_EQUAL, low) & self._compared(Operator.LESS_OR_EQUAL, high)

    def is_null(self) -> Condition:
        """It has no value."""
        return Null(self.names)

    def is_not_null(self) -> Condition:
        """It has a value."""
        return Not(Null(self.names))

    def is_nan(self) -> Condition:
        """It is NaN; a null is not."""
        return Nan(self.names)

    def starts_with(self, prefix: str) -> Condition:
        """Its text begins with this prefix, in which wildcards have no meaning."""
        self._check_text(prefix)
        return Matches(self.names, prefix_pattern(prefix))

    def like(self, pattern: str, escape: str = ESCAPE) -> Condition:
        """Its text matches a pattern: `_` is any character, `%` any text; after the escape they mean themselves."""
        self._check_text(pattern)
        self._check_text(escape)
        return Matches(self.names, parse_pattern(pattern, escape))

    def __repr__(self) -> str:
        return name_repr(self.names)

    def __str__(self) -> str:
        return str(Flag(self.names))

    @property
    def _path(self) -> str:
        return ".".join(self.names)

    def _settled(self) -> Condition:
        return Flag(self.names)

    def _compared(self, operator: Operator, value: Any) -> Condition:
        return Compares(self.names, operator, literal_of(value, self._path))

    def _check_text(self, text: Any) -> None:
        if not isinstance(text, str):
            raise Invalid("a pattern must be text", subject=repr(self), expected="str", found=type(text).__name__)


def _names(path: str) -> Names:
    names, at = [], 0
    while (match := _NAME.match(path, at)) is not None:
        names.append(match[2] if match[1] is None else match[1].replace("``", "`"))
        at = match.end()
        if at == len(path):
            return tuple(names)
        if path[at] != ".":
            break
        at += 1
    raise Invalid(
        "this is not the name of a column",
        subject=repr(path),
        expected="names joined by dots; a name that has a dot or a backtick stands in backticks",
    )
