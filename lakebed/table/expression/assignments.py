"""The values that columns are set to: SQL expressions or literals, bound to the columns that store them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.build import as_stored
from lakebed.table.expression.expression import Expression
from lakebed.table.expression.lit import Lit, constant
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.quotes import check_quoted_names
from lakebed.table.expression.scope import Scope
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

Values = Mapping[str, str | Lit | Condition]
"""By column name, an SQL expression or a literal."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A column and the value that it is set to, which has the column's type."""

    field: Field
    value: Expression


def bind_assignments(values: Values, schema: Schema, scope: Scope) -> tuple[Assignment, ...]:
    """Bind values, which read the scope, to a schema's columns; `Invalid` names a column whose value does not fit."""
    if not isinstance(values, Mapping) or not values:
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found=f"{values!r}"[:80])
    assignments: dict[str, Assignment] = {}
    for name, value in values.items():
        field = schema.field(name)
        if field.name in assignments:
            raise Invalid("a column is set twice", subject=f"column {field.name!r}")
        assignments[field.name] = Assignment(field, _bind(value, field, scope))
    return tuple(assignments.values())


def _bind(value: Any, field: Field, scope: Scope) -> Expression:
    match value:
        case Lit():
            return constant(value, field)
        case str() | Condition():
            check_quoted_names(str(value), [name for schema in scope.schemas.values() for name in schema.names])
            return as_stored(parse_expression(str(value), scope), field)
        case _:
            raise Invalid(
                "a column is set to something that is not an expression",
                subject=f"column {field.name!r}",
                expected="SQL as text, or lakebed.lit(value)",
                found=f"{value!r} of type {type(value).__name__}",
                advice=f"Use lakebed.lit({value!r}).",
            )
