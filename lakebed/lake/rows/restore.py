"""Restoring one table to an earlier version."""

from uuid import UUID

from lakebed.catalog.merge.restore import restore_table_by_id
from lakebed.catalog.refs.branches import check_readable
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid
from lakebed.lake.arguments import asked_moment, version_of


def restore_table(
    scope: Scope, table: str, moment: Moment, message: str | None, author: str | None, event_id: str | UUID | None
) -> Commit | None:
    """Make a table what it was, by a new commit."""
    if scope.is_transaction:
        problem = "a table can't be restored inside a transaction"
        raise Invalid(problem, advice="Use a handle of the catalog: its commit is one of its own.")
    version = version_of(scope, moment, table=table)
    check_readable(scope.context, scope.ref, version, scope.context.metastore.newest())
    request = Request("restore", (table, asked_moment(moment, version)), message, author, event_id)
    return restore_table_by_id(scope, table, version, request)
