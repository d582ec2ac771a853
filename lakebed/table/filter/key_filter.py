"""What rows have to pass to have one of many keys: the filter by which a table's files are planned for them."""

from collections.abc import Collection
from typing import Final

from lakebed.table.filter.filter import Comparison, Filter, OneOf, Operator, Value, all_of
from lakebed.table.types.types import Field

LISTED: Final = 200
"""Of more keys than these a plan looks at the least and the greatest alone."""


def one_of_values(field: Field, values: Collection[Value]) -> Filter:
    """A column has one of these values."""
    return OneOf(field, tuple(values))


def between(field: Field, low: Value, high: Value) -> Filter:
    """A column has a value from the one to the other, both included."""
    return all_of([Comparison(field, Operator.GREATER_OR_EQUAL, low), Comparison(field, Operator.LESS_OR_EQUAL, high)])
