"""Writes that give their table the columns that it does not have, in the same commit."""

from collections.abc import Callable
from typing import Literal

from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open, Scope, once
from lakebed.errors import Invalid
from lakebed.lake.engines import engine_for
from lakebed.lake.evolve import Evolve
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema

ATTEMPTS = 5
"""How often rows in memory are written before changes of their table are too many."""

ADD = "add"
Evolution = Literal["add"] | None
"""How a table evolves to hold the rows that it is given: with `add`, by their columns that it does not have."""

Write = Callable[[Scope, str, object, Request], Commit | None]
"""Writes rows to a table."""


def grow(scope: Scope, table: str, data: object, request: Request, write: Write) -> Commit | None:
    """Add the columns that the table does not have, and write the rows, in one commit."""
    return once(scope, request, lambda: _grow(scope, table, data, request, write))


def asked_evolution(evolve: str | None) -> tuple[str, ...]:
    """How a call is asked to evolve its table, as its request has it; `Invalid` for anything but `add`."""
    if evolve is None:
        return ()
    if evolve != ADD:
        raise Invalid("a write can't evolve a table like this", expected=repr(ADD), found=repr(evolve))
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
            write(own, table, rows, Request(request.operation, request.arguments))
            return own.commit_or_newest()
        finally:
            own.close()

    return retried(ATTEMPTS if can_be_read_again(rows) else 1, attempt)


def _add_columns(scope: Scope, table: str, given: Schema) -> None:
    with Evolve(table, scope, None, None, None) as change:
        for path, type in new_columns(table_state(scope.read(), table).schema, given):
            change.add_column(path, type)
