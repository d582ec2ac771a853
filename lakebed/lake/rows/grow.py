"""Writes that give their table the columns that it does not have, in the same commit."""

from collections.abc import Callable, Sequence
from typing import Literal

from lakebed.catalog.data import changes
from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.data.same_columns import column_of_another_line
from lakebed.catalog.tables.evolution import Evolution as Steps
from lakebed.catalog.tables.evolution import add_column
from lakebed.catalog.tables.properties import looks_at_keys, table_properties, watched_checks
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open, Scope, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.arguments import check_not_staged
from lakebed.lake.engines import engine_for
from lakebed.lake.evolve import Evolve
from lakebed.lake.rows.appends import append
from lakebed.lake.rows.written import check_tested, write_rows
from lakebed.table.manifest.inline import file_paths
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type

NewColumns = Sequence[tuple[tuple[str, ...], Type]]
"""The paths and types of columns to add."""

ATTEMPTS = 5
"""How often rows in memory are written before changes of their table are too many."""

ADD = "add"
Evolution = Literal["add"] | None
"""How a table evolves to hold the rows that it is given: with `add`, by their columns that it does not have."""

Write = Callable[[Scope, str, object, Request], Commit | None]
"""Writes rows to a table."""


def grow(scope: Scope, table: str, data: object, request: Request, write: Write) -> Commit | None:
    """Add the columns that the table does not have, and write the rows, in one commit."""
    if write is append and not can_be_read_again(data):
        return once(scope, request, lambda: _append_stream(scope, table, data, request))
    return once(scope, request, lambda: _grow(scope, table, data, request, write))


def asked_evolution(evolve: str | None, table: str) -> tuple[str, ...]:
    """How a call is asked to evolve its table, as its request has it; `Invalid` for anything but `add`.

    What is staged has the columns of its table, which readers would see change at once: it can't evolve.
    """
    if evolve is None:
        return ()
    if evolve != ADD:
        raise Invalid("a write can't evolve a table like this", expected=repr(ADD), found=repr(evolve))
    check_not_staged(table, f"evolve={evolve!r}", "Add the columns to the table first: evolve() on its handle.")
    return (evolve,)


def _grow(scope: Scope, table: str, data: object, request: Request, write: Write) -> Commit | None:
    given, rows = engine_for(data).columns_of(data)
    if not new_columns(table_state(scope.read(), table).schema, given):
        return write(scope, table, rows, request)
    if isinstance(scope, Open):
        with scope.all_or_none():
            _add_columns(scope, table, given)
            return write(scope, table, rows, request)

    def attempt() -> Commit:
        own = Open(scope.context, scope.ref, request)
        own.begin()
        try:
            _add_columns(own, table, given)
            write(own, table, rows, Request(request.operation, request.arguments, summary=request.summary))
            return own.commit_or_newest()
        finally:
            own.close()

    return retried(ATTEMPTS if can_be_read_again(rows) else 1, attempt)


def _append_stream(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
    """Append rows that can be read once, and are not lost to the columns that others add meanwhile."""
    seen = scope.read()
    if scope.is_transaction or looks_at_keys(table_properties(seen, table)):
        return _grow(scope, table, data, request, append)
    given, rows = engine_for(data).columns_of(data)
    added = new_columns(table_state(seen, table).schema, given)
    return _append_grown(scope, table, rows, added, request) if added else append(scope, table, rows, request)


def _append_grown(scope: Scope, table: str, rows: object, added: NewColumns, request: Request) -> Commit | None:
    """Write the rows once for the grown table, then add the columns and commit them, on whatever others have made."""
    seen = scope.read()
    properties = dict(table_properties(seen, table))
    evolution = Steps(table_state(seen, table), seen.base, properties, column_of_another_line)
    for path, type in added:
        evolution.add(add_column(path, type, required=False, default=None, comment="", position=None))
    evolution.make(seen)
    grown, checks = table_state(seen, table), watched_checks(seen, table)
    written = write_rows(seen, grown, rows)

    def commit(work: Work) -> None:
        if work is not seen:
            _make_again(evolution, work)
        check_tested(checks, grown, watched_checks(work, table), table_state(work, table))
        changes.append(work, grown, written.files, written.bodies, request.summary)

    try:
        return scope.change(commit, request, seen)
    except OutcomeUnknown:
        raise
    except LakebedError:
        scope.context.files.delete_many(file_paths(written.files))
        raise


def _make_again(evolution: Steps, work: Work) -> None:
    try:
        evolution.make(work)
    except Invalid as error:
        raise Conflict(
            "somebody changed the table's columns while rows with new ones were written",
            subject=error.subject,
            found=error.problem,
            advice="Append them again.",
        ) from error


def _add_columns(scope: Scope, table: str, given: Schema) -> None:
    with Evolve(table, scope, None, None, None) as change:
        for path, type in new_columns(table_state(scope.read(), table).schema, given):
            change.add_column(path, type)
