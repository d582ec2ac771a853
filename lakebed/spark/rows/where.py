"""Which rows a change is for: a filter that statistics can prune by, and the rest of the condition for Spark."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import DataFrame

from lakebed.errors import Invalid
from lakebed.spark.expressions import analysis_errors, check_session, predicate
from lakebed.table.expression.conjuncts import conjuncts
from lakebed.table.expression.quotes import check_quoted_names
from lakebed.table.expression.statement_text import StatementText
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import ALWAYS, Filter, all_of, fields_of
from lakebed.table.filter.parse import parse_condition
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import check_expression
from lakebed.table.types.types import TIMESTAMP, TIMESTAMPTZ, Field, walk

OUTER: Final = "lakebed_target"
"""What queries inside a condition or a value call the rows of the table that is changed."""


@dataclass(frozen=True, slots=True)
class Where:
    """A condition in two parts, both of which a row has to pass.

    `filter` means the same in every session, and files are planned by it. `rest` is SQL that a filter can't express.
    `filter_text` is the filter as SQL: all rows that pass the condition pass it.
    """

    filter: Filter
    rest: tuple[str, ...] = ()
    filter_text: str = "true"

    @property
    def metadata_names(self) -> list[str]:
        """The metadata columns that the rest may read."""
        return [column.name for column in METADATA_COLUMNS if any(_mentions(piece, column) for piece in self.rest)]


class SessionText(StatementText):
    """A condition of an SQL statement whose meaning depends on the session's time zone."""


def bind_where(where: str | Condition, schema: Schema) -> Where:
    """The condition for a schema's rows, split at AND: pieces of SQL that Lakebed does not know are left to Spark.

    `passing_rows` finds what Spark does not know either.
    """
    if not isinstance(where, str):
        return Where(bind(where, schema), (), str(where))
    check_expression(where, "a condition")
    filters: list[Filter] = []
    texts: list[str] = []
    rest: list[str] = []
    for piece in _pieces(where, schema):
        filter = _filter_of(piece, schema)
        if filter is None or (isinstance(where, SessionText) and _has_times(filter)):
            check_quoted_names(piece, schema.names)
            rest.append(piece)
        else:
            filters.append(filter)
            texts.append(piece)
    return Where(all_of(filters) if filters else ALWAYS, tuple(rest), _joined(texts))


def bind_read(where: str | Condition, schema: Schema) -> Where:
    """The same for rows that are read later: a literal that does not fit its column is refused now."""
    bound = bind_where(where, schema)
    for piece in bound.rest:
        if _is_condition(piece) and not any(_mentions(piece, column) for column in METADATA_COLUMNS):
            bind(piece, schema)  # which says what is wrong
    return bound


def passing_rows(rows: DataFrame, where: Where, table: str) -> DataFrame:
    """The rows, all of which pass the filter, that pass the rest too; `Invalid` if Spark can't read it."""
    if not where.rest:
        return rows
    check_session(rows.sparkSession)
    label = "a condition"
    condition = reduce(and_, [predicate(rows, piece, label, table) for piece in where.rest])
    with analysis_errors(label, _joined(where.rest), table):
        return rows.where(condition)


def _pieces(where: str, schema: Schema) -> Sequence[str]:
    is_whole = not isinstance(where, SessionText) and _filter_of(where, schema) is not None
    return [where] if is_whole else conjuncts(where)


def _filter_of(piece: str, schema: Schema) -> Filter | None:
    """A piece of SQL as a filter; None if a filter can't express it."""
    try:
        return bind(piece, schema)
    except Invalid:
        return None


def _is_condition(piece: str) -> bool:
    try:
        parse_condition(piece)
    except Invalid:
        return False
    return True


def _mentions(piece: str, column: Field) -> bool:
    return re.search(rf"(?<!\w){column.name}(?!\w)", piece, re.IGNORECASE) is not None


def _has_times(filter: Filter) -> bool:
    return any(way[-1].type in (TIMESTAMP, TIMESTAMPTZ) for way in walk(fields_of(filter)))


def _joined(pieces: Sequence[str]) -> str:
    if len(pieces) < 2:
        return pieces[0] if pieces else "true"
    return " AND ".join(f"({piece})" for piece in pieces)
