"""A system table: metadata of a lake as rows."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.store import Version
from lakebed.table.filter.filter import And, Comparison, Filter, IsNull, NoneOf, NotNull, OneOf, Operator, Or, Predicate
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

Row = Sequence[Any]
"""A plain value for each column, None for null."""

VERSION = "decimal(29, 0)"
"""The type of versions, which are 96-bit numbers."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Which rows may be wanted: others need not be read."""

    filter: Filter | None = None

    def __call__(self, known: Mapping[str, Any]) -> bool:
        """Whether rows with these values, by column, may be wanted."""
        return self.filter is None or _may_match(self.filter, known)

    def named(self, column: str) -> frozenset[Any]:
        """The values of a column that alone are wanted, if the filter says so."""
        return frozenset() if self.filter is None else _named(self.filter, column)


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A name, columns, and a function that makes the rows for a line at a version."""

    name: str
    about: str
    schema: Schema
    rows: Callable[[Work, Keep], Iterable[Row]]


def columns(*given: tuple[str, str, str]) -> Schema:
    """A schema of columns, each given as name, type and meaning."""
    return with_ids(Schema([Field(name, type, comment=meaning) for name, type, meaning in given]), 0, 1)  # type: ignore[arg-type]  # text is parsed there


_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def _named(filter: Filter, column: str) -> frozenset[Any]:
    match filter:
        case And(parts):
            return next((found for part in parts if (found := _named(part, column))), frozenset())
        case Comparison(field, Operator.EQUAL, value) if field.name == column:
            return frozenset({value})
        case OneOf(field, values) if field.name == column:
            return frozenset(values)
        case _:
            return frozenset()


def _may_match(filter: Filter, known: Mapping[str, Any]) -> bool:
    match filter:
        case And(parts):
            return all(_may_match(part, known) for part in parts)
        case Or(parts):
            return any(_may_match(part, known) for part in parts)
        case Predicate():
            return True
    if filter.field.name not in known:
        return True
    value = known[filter.field.name]
    match filter:
        case IsNull():
            return value is None
        case NotNull():
            return value is not None
        case Comparison(_, operation, other):
            return value is not None and _COMPARE[operation](value, other)
        case OneOf(_, values):
            return value in values
        case NoneOf(_, values):
            return value is not None and value not in values
        case _:
            return True


def number(version: Version | None) -> int | None:
    """A version as a column's value."""
    return None if version is None else int(version)


def instant(time: datetime | None) -> int | None:
    """A time as a column's value: microseconds since 1970."""
    return None if time is None else microseconds(time)
