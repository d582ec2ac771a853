"""The columns that names in an expression refer to: those of one source of rows, or of a merge's two."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakebed.errors import Invalid
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.expression import ColumnOf
from lakebed.table.filter.condition import Names
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.types.times import EPOCH
from lakebed.table.types.types import List, Map

ROWS = ""
"""The source of an expression that has only one: its columns are not qualified."""

TARGET, SOURCE = "target", "source"
"""The sources of a merge: the table's rows, and the rows merged into it."""


@dataclass(frozen=True)
class Scope:
    """Sources of rows by name, and the time of CURRENT_TIMESTAMP in microseconds since 1970.

    `target.x` is a column of that source. A plain `x` belongs to the only source that has it: `Invalid` if both do.
    """

    schemas: Mapping[str, Schema]
    now: int

    def column(self, names: Names) -> ColumnOf:
        """The column that these names lead to, compared without case; `Invalid` if there is none, or more than one."""
        columns = [*self._qualified(names)] or [*self._plain(names)]
        if len(columns) != 1:
            raise self._ambiguous(columns) if columns else self._missing(names)
        [column] = columns
        if any(isinstance(field.type, List | Map) for field in column.way[:-1]):
            raise Invalid(
                "an expression can't look into lists and maps",
                subject=repr(dotted_path(column.way)),
                advice=SPARK,
            )
        return column

    def _qualified(self, names: Names) -> Iterator[ColumnOf]:
        for source, schema in self.schemas.items():
            if source and names[0].lower() == source and len(names) > 1:
                yield from _columns(source, schema, names[1:])

    def _plain(self, names: Names) -> Iterator[ColumnOf]:
        for source, schema in self.schemas.items():
            yield from _columns(source, schema, names)

    def _ambiguous(self, columns: list[ColumnOf]) -> Invalid:
        return Invalid(
            "the name of a column is ambiguous",
            subject=repr(dotted_path(columns[0].way)),
            expected=" or ".join(map(str, columns)),
        )

    def _missing(self, names: Names) -> Invalid:
        known = [f"{source}.{name}" if source else name for source in self.schemas for name in self._names(source)]
        shown, expected = ".".join(names), f"one of {', '.join(known)}"
        advice = next(filter(None, (schema.advice_for(shown) for schema in self.schemas.values())), "")
        return Invalid("there is no such column", subject=repr(shown), expected=expected, advice=advice)

    def _names(self, source: str) -> tuple[str, ...]:
        return self.schemas[source].names


def rows_scope(schema: Schema) -> Scope:
    """The scope of an expression over a table's own rows, as of now."""
    return Scope({ROWS: schema}, micros_now())


def micros_now() -> int:
    """The current time in microseconds since 1970."""
    return (datetime.now(UTC) - EPOCH) // timedelta(microseconds=1)


def _columns(source: str, schema: Schema, names: Names) -> Iterator[ColumnOf]:
    try:
        yield ColumnOf(source, schema.way(names))
    except Invalid:
        return
