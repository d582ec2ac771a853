"""A sort order: how rows lie inside the files that are written from now on. Files that are there keep theirs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from lakebed.errors import Invalid
from lakebed.table.partition.parse import find_source, parse_partition_field, spelled
from lakebed.table.partition.spec import source_paths
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field


class Direction(Enum):
    """Which end comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


class NullOrder(Enum):
    """Where rows without a value go."""

    FIRST = "nulls-first"
    LAST = "nulls-last"


_USUAL = {Direction.ASCENDING: NullOrder.FIRST, Direction.DESCENDING: NullOrder.LAST}
_ENDING = re.compile(r"(?s)(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SortField:
    """A transform of the column with the id `source_id`, and how its values follow each other."""

    source_id: int
    transform: Transform
    direction: Direction = Direction.ASCENDING
    null_order: NullOrder = NullOrder.FIRST


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Sort fields, the first one first. `id` is its number in its table: 0 for no order, and for that alone."""

    fields: tuple[SortField, ...] = ()
    id: int = 0

    def __post_init__(self) -> None:
        if (self.id == 0) != (not self.fields):
            expected = "0 for no order, and for that alone"
            raise Invalid(
                "a sort order has another id", expected=expected, found=f"{self.id}, {len(self.fields)} fields"
            )
        terms = [(one.source_id, one.transform) for one in self.fields]
        for place, term in enumerate(terms):
            if term in terms[:place]:
                found = f"{term[1]} of the column {term[0]}"
                raise Invalid("a sort order has a field twice", subject=f"sort order {self.id}", found=found)

    @property
    def source_ids(self) -> frozenset[int]:
        """The ids of the columns that it needs: while it is a table's order, they can't be dropped."""
        return frozenset(one.source_id for one in self.fields)


UNSORTED = SortOrder()


def make_sort_order(schema: Schema, texts: Iterable[str], *, order_id: int) -> SortOrder:
    """The order that these texts mean: `day(ordered_at)`, `price desc nulls last`; without any, `UNSORTED`.

    Nulls come first where values ascend and last where they descend, unless it is said.
    """
    if isinstance(texts, str):
        raise Invalid("sort fields are given as a list", subject=repr(texts), expected=f"[{texts!r}]")
    fields = tuple(_field(schema, one) for one in texts)
    return SortOrder(fields, order_id) if fields else UNSORTED


def _field(schema: Schema, text: str) -> SortField:
    match = _ENDING.fullmatch(text) if isinstance(text, str) else None
    column = parse_partition_field(match[1] if match else text)
    source = find_source(schema, column)[-1]
    direction = Direction(match[2].lower()) if match and match[2] else Direction.ASCENDING
    nulls = NullOrder(f"nulls-{match[3].lower()}") if match and match[3] else _USUAL[direction]
    return SortField(source.id, column.transform, direction, nulls)


def sorted_columns(order: SortOrder, schema: Schema) -> list[tuple[SortField, tuple[Field, ...]]]:
    """The order's fields beside the fields that lead to their columns, for those that the schema has."""
    paths = source_paths(schema)
    return [(one, paths[one.source_id]) for one in order.fields if one.source_id in paths]


def order_texts(order: SortOrder, schema: Schema) -> list[str]:
    """The order as people write it, with the names that columns have now."""
    return [_spelled(one, tuple(part.name for part in path)) for one, path in sorted_columns(order, schema)]


def _spelled(field: SortField, path: tuple[str, ...]) -> str:
    return f"{spelled(field.transform, path)} {field.direction.value} {field.null_order.value.replace('-', ' ')}"
