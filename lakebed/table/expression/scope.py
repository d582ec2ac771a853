"""What the names in an expression stand for: the columns of one source of rows, or of a merge's two."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakebed.errors import Invalid
from lakebed.table.expression.expression import ColumnOf
from lakebed.table.filter.condition import Names
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.types.times import EPOCH
from lakebed.table.types.types import List, Map

ROWS = ""
"""The one source of an expression that has only one: its columns have no other name than their own."""

TARGET, SOURCE = "target", "source"
"""The sources of a merge: the table's rows, and those that are merged into it."""


@dataclass(frozen=True)
class Scope:
    """Sources of rows by their names, and the moment that CURRENT_TIMESTAMP is, in microseconds since 1970.

    `target.x` is that source's column. A plain `x` is the one source's that has it: `Invalid` if both do.
    """

    schemas: Mapping[str, Schema]
    now: int

    def column(self, names: Names) -> ColumnOf:
        """The column that names lead to, compared without case; `Invalid` if it is none, or may be two."""
        found = [*self._qualified(names)] or [*self._plain(names)]
        if len(found) != 1:
            raise self._several(found) if found else self._missing(names)
        [column] = found
        if any(isinstance(one.type, List | Map) for one in column.way[:-1]):
            raise Invalid(
                "an expression can't look into lists and maps",
                subject=repr(dotted_path(column.way)),
                advice="The local engine can not: read with Spark, change the rows there, and overwrite.",
            )
        return column

    def _qualified(self, names: Names) -> Iterator[ColumnOf]:
        for source, schema in self.schemas.items():
            if source and names[0].lower() == source and len(names) > 1:
                yield from _found(source, schema, names[1:])

    def _plain(self, names: Names) -> Iterator[ColumnOf]:
        for source, schema in self.schemas.items():
            yield from _found(source, schema, names)

    def _several(self, found: list[ColumnOf]) -> Invalid:
        return Invalid(
            "a column's name stands for more than one",
            subject=repr(dotted_path(found[0].way)),
            expected=" or ".join(map(str, found)),
        )

    def _missing(self, names: Names) -> Invalid:
        there = [f"{source}.{name}" if source else name for source in self.schemas for name in self._names(source)]
        return Invalid("there is no such column", subject=repr(".".join(names)), expected=f"one of {', '.join(there)}")

    def _names(self, source: str) -> tuple[str, ...]:
        return self.schemas[source].names


def rows_scope(schema: Schema) -> Scope:
    """The scope of an expression over a table's own rows, at this moment."""
    return Scope({ROWS: schema}, micros_now())


def micros_now() -> int:
    """The moment that it is now."""
    return (datetime.now(UTC) - EPOCH) // timedelta(microseconds=1)


def _found(source: str, schema: Schema, names: Names) -> Iterator[ColumnOf]:
    try:
        yield ColumnOf(source, schema.way(names))
    except Invalid:
        return
