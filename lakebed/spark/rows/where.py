"""Which rows a change is for: what statistics can prune by as a filter, and the rest of the condition for Spark."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import DataFrame

from lakebed.errors import Invalid
from lakebed.spark.expressions import check_session, predicate, analysis_errors
from lakebed.table.expression.conjuncts import conjuncts
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import ALWAYS, Filter, all_of, fields_of
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import TIMESTAMP, TIMESTAMPTZ, walk


@dataclass(frozen=True, slots=True)
class Where:
    """A condition in two parts, both of which a row has to pass.

    `filter` means the same in every session, and files are planned by it; `rest` are pieces of SQL that it can't say.
    `said` is the condition of the filter alone, in words: all rows that pass are among those that it tells of.
    """

    filter: Filter
    rest: tuple[str, ...] = ()
    said: str = "true"


VARIABLE: Final = "${"
"""What a variable begins with whose value Spark puts there before it reads a text."""


class SessionText(str):
    """A condition of a statement in SQL for a session to which it may mean more: of another zone, or with variables."""


def bind_where(where: str | Condition, schema: Schema) -> Where:
    """The condition for a schema's rows. SQL that Lakebed does not know is left to Spark, by the pieces that AND joins.

    What Spark does not know either is found by `passing`.
    """
    if not isinstance(where, str):
        return Where(bind(where, schema), (), str(where))
    if isinstance(where, SessionText) and VARIABLE in where:
        return Where(ALWAYS, (where,))
    filters: list[Filter] = []
    said: list[str] = []
    rest: list[str] = []
    for piece in _pieces(where, schema):
        filter = _bound(piece, schema)
        if filter is None or (isinstance(where, SessionText) and _has_times(filter)):
            rest.append(piece)
        else:
            filters.append(filter)
            said.append(piece)
    return Where(all_of(filters) if filters else ALWAYS, tuple(rest), _joined(said))


def passing(rows: DataFrame, where: Where, table: str) -> DataFrame:
    """Those of the rows, which have passed the filter, that pass the rest; `Invalid` if Spark can't read that."""
    if not where.rest:
        return rows
    check_session(rows.sparkSession)
    told = "a condition"
    condition = reduce(and_, [predicate(rows, one, told, table) for one in where.rest])
    with analysis_errors(told, _joined(where.rest), table):
        return rows.where(condition)


def _pieces(where: str, schema: Schema) -> Sequence[str]:
    is_whole = not isinstance(where, SessionText) and _bound(where, schema) is not None
    return [where] if is_whole else conjuncts(where)


def _bound(piece: str, schema: Schema) -> Filter | None:
    """The filter that a piece of SQL is; None if it says more."""
    try:
        return bind(piece, schema)
    except Invalid:
        return None


def _has_times(filter: Filter) -> bool:
    return any(way[-1].type in (TIMESTAMP, TIMESTAMPTZ) for way in walk(fields_of(filter)))


def _joined(said: Sequence[str]) -> str:
    if len(said) < 2:
        return said[0] if said else "true"
    return " AND ".join(f"({one})" for one in said)
