"""Writes that cast the rows that they are given to the types of their table's columns."""

from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope, once
from lakebed.lake.engines import engine_for
from lakebed.lake.rows.grow import Write


def casting(write: Write) -> Write:
    """A write that casts first. It fits the table as it is then: a later change of its schema may be a `Conflict`."""

    def cast_and_write(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
        def make_it() -> Commit | None:
            work = scope.read()
            with about(work, table):
                rows = engine_for(data).cast(table_state(work, table).schema, data)
            return write(scope, table, rows, request)

        return once(scope, request, make_it)

    return cast_and_write
