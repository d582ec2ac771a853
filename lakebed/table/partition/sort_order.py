"""A sort order: how rows are sorted inside files written from now on. Existing files keep their order."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from lakebed.errors import Invalid
from lakebed.table.partition.parse import find_source, parse_partition_field, transform_text
from lakebed.table.partition.spec import source_paths
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

_ENDING = re.compile(r"(?s)(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*", re.IGNORECASE)


class Direction(Enum):
    """Whether the least or the greatest value comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


class NullOrder(Enum):
    """Whether nulls come first or last."""

    FIRST = "nulls-first"
    LAST = "nulls-last"


_DEFAULT_NULL_ORDER = {Direction.ASCENDING: NullOrder.FIRST, Direction.DESCENDING: NullOrder.LAST}


@dataclass(frozen=True, slots=True)
class SortField:
    """A transform of the column with the id `source_id`, and the order of its values."""

    source_id: int
    transform: Transform
    direction: Direction = Direction.ASCENDING
    null_order: NullOrder = NullOrder.FIRST
    unknown: str = field(default="", compare=False, repr=False)  # keys that others stored with it, as JSON


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Sort fields, the most significant first. `id` is the order's number in its table: 0 only for no order."""

    fields: tuple[SortField, ...] = ()
    id: int = 0
    unknown: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.id == 0) != (not self.fields):
            expected = "0 for no order, and only for that"
            raise Invalid(
                "a sort order has the wrong id", expected=expected, found=f"{self.id}, {len(self.fields)} fields"
            )
        terms = [(field.source_id, field.transform) for field in self.fields]
        for place, term in enumerate(terms):
            if term in terms[:place]:
                found = f"{term[1]} of the column {term[0]}"
                raise Invalid("a sort order has a field twice", subject=f"sort order {self.id}", found=found)

    @property
    def source_ids(self) -> frozenset[int]:
        """The ids of the columns that it needs: they can't be dropped while this is the table's order."""
        return frozenset(field.source_id for field in self.fields)


UNSORTED = SortOrder()


def make_sort_order(schema: Schema, texts: Iterable[str], *, order_id: int) -> SortOrder:
    """The order in these texts, such as `day(ordered_at)` or `price desc nulls last`; without any, `UNSORTED`.

    Unless a text says otherwise, nulls come first in ascending order and last in descending order.
    """
    if isinstance(texts, str):
        raise Invalid("sort fields have to be given as a list", subject=repr(texts), expected=f"[{texts!r}]")
    fields = tuple(_field(schema, text) for text in texts)
    return SortOrder(fields, order_id) if fields else UNSORTED


def sorted_columns(order: SortOrder, schema: Schema) -> list[tuple[SortField, tuple[Field, ...]]]:
    """The order's fields whose columns the schema has, each with the path to its column."""
    paths = source_paths(schema)
    return [(field, paths[field.source_id]) for field in order.fields if field.source_id in paths]


def order_texts(order: SortOrder, schema: Schema) -> list[str]:
    """The order as people write it, with the current names of its columns."""
    return [_field_text(field, tuple(part.name for part in path)) for field, path in sorted_columns(order, schema)]


def _field(schema: Schema, text: str) -> SortField:
    match = _ENDING.fullmatch(text) if isinstance(text, str) else None
    column = parse_partition_field(match[1] if match else text)
    source = find_source(schema, column)[-1]
    direction = Direction(match[2].lower()) if match and match[2] else Direction.ASCENDING
    nulls = NullOrder(f"nulls-{match[3].lower()}") if match and match[3] else _DEFAULT_NULL_ORDER[direction]
    return SortField(source.id, column.transform, direction, nulls)


def _field_text(field: SortField, path: tuple[str, ...]) -> str:
    return f"{transform_text(field.transform, path)} {field.direction.value} {field.null_order.value.replace('-', ' ')}"
