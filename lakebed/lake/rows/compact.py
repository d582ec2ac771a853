"""Compaction of a table, by the local engine or by Spark."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.catalog.data.compaction import Compaction
from lakebed.catalog.data.engine import Engine, Where
from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, LakebedError, OutcomeUnknown
from lakebed.files import Files
from lakebed.lake.rows.writes import change_rows
from lakebed.table.filter.bind import bind
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.schema import Schema

BIN_PACK, SORT = "bin-pack", "sort"


@dataclass(frozen=True, slots=True)
class Sizes:
    """In bytes, as they were asked for: of a new file, and of all that is rewritten at most."""

    target: int | None
    most: int | None


def compact(
    scope: Scope,
    table: str,
    where: Where,
    sizes: Sizes,
    sort_by: tuple[str, ...] | None,
    engine: Engine,
    request: Request,
) -> Commit | None:
    """Rewrite the files that are worth it; None if there are none."""

    def filter_of(schema: Schema) -> Filter | None:
        return None if where is None else bind(where, schema)

    def make(work: Work, state: TableState) -> RowChange | None:
        with about(work, table):
            return compaction.make(work, state)

    compaction = Compaction(engine.writer, filter_of, sizes.target, most_bytes=sizes.most, sort_by=sort_by)
    files, detail = scope.context.files, "" if where is None else str(where)
    try:
        commit = change_rows(scope, table, "compact", make, request, detail, discard=_keep, attempts=engine.attempts)
    except OutcomeUnknown:
        raise
    except LakebedError:
        compaction.discard(files)
        raise
    compaction.discard_unused(files)
    return commit


def asked_order(strategy: str | None, sort_by: Sequence[str] | None) -> tuple[str, ...] | None:
    """The order to sort by, the table's own if it has no field; None if nothing is to be sorted."""
    if strategy not in (None, BIN_PACK, SORT):
        raise Invalid("there is no such strategy", subject=f"{strategy!r:.80}", expected=f"{BIN_PACK} or {SORT}")
    if sort_by is None:
        return () if strategy == SORT else None
    if strategy == BIN_PACK:
        raise Invalid("only the strategy sort has an order", subject="sort_by", found=f"{sort_by!r:.80}")
    if isinstance(sort_by, str) or not sort_by:
        raise Invalid(
            "this is not an order to sort by",
            subject="sort_by",
            expected='such as ["day(ordered_at)", "price desc"]',
            found=f"{sort_by!r:.80}",
        )
    return tuple(sort_by)


def later_options(most_bytes: int | None, order: tuple[str, ...] | None) -> tuple[str, ...]:
    """What a request has of options that came later: a call without them keeps its fingerprint."""
    return () if most_bytes is None and order is None else (str(most_bytes), repr(order))


def _keep(change: RowChange, files: Files) -> None:
    """Leave what was written: the next attempt may use it."""
