"""What columns are set to: expressions in words, or literals, bound to the columns that they are stored in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.build import stored
from lakebed.table.expression.expression import Expression
from lakebed.table.expression.lit import Lit, constant
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.scope import Scope
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

Values = Mapping[str, str | Lit | Condition]
"""Columns by name, each with an SQL expression, or with a literal."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A column, and what it is set to, as a value of its type."""

    field: Field
    value: Expression


def bind_assignments(values: Values, schema: Schema, scope: Scope) -> tuple[Assignment, ...]:
    """Values for a schema's columns, calculated from the scope's; `Invalid` names the column that one does not fit."""
    if not isinstance(values, Mapping) or not values:
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found=f"{values!r}"[:80])
    found: dict[str, Assignment] = {}
    for name, value in values.items():
        field = schema.field(name)
        if field.name in found:
            raise Invalid("a column is set twice", subject=f"column {field.name!r}")
        found[field.name] = Assignment(field, _bound(value, field, scope))
    return tuple(found.values())


def _bound(value: Any, field: Field, scope: Scope) -> Expression:
    match value:
        case Lit():
            return constant(value, field)
        case str() | Condition():
            return stored(parse_expression(str(value), scope), field)
        case _:
            raise Invalid(
                "a column is set to what is no expression",
                subject=f"column {field.name!r}",
                expected="SQL as text, or lakebed.lit(value)",
                found=f"{value!r} of type {type(value).__name__}",
                advice=f"Use lakebed.lit({value!r}).",
            )
