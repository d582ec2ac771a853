"""What the handle of a partition does with rows."""

from typing import Any

from lakebed.catalog.data.engine import Engine
from lakebed.catalog.partitions import changes
from lakebed.catalog.partitions.changes import check_explicit
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.partitions.opened import Opened, Values, source
from lakebed.lake.rows import appends, writes
from lakebed.lake.rows.casting import casting
from lakebed.table.expression.lit import lit
from lakebed.table.filter.condition import Condition
from lakebed.table.partition.explicit import ExplicitValues, given_values


def append(scope: Scope, table: str, partition: str, data: Any, request: Request, *, cast: bool) -> Commit | None:
    """Add rows to a partition; to the root as to the table."""

    def values(work: Work) -> ExplicitValues | None:
        return Opened.in_work(work, table, partition).partition.values

    write = appends.appending_to(values)
    into = casting(write) if cast else write
    return once(scope, request, lambda: into(scope, source(scope, table, partition), data, request))


def overwrite(scope: Scope, table: str, partition: str, data: Any, request: Request) -> Commit | None:
    """Replace all rows of an explicit partition."""

    def make_it() -> Commit | None:
        opened = Opened.of(scope, table, partition)
        values = check_explicit(opened.work, opened.table, opened.partition)
        return writes.overwriting_values(values)(scope, source(scope, table, partition), data, request)

    return once(scope, request, make_it)


def delete(
    scope: Scope, table: str, partition: str, where: str | Condition | None, engine: Engine, request: Request
) -> Commit | None:
    """Delete rows of a partition."""

    def make_it() -> Commit | None:
        condition = Opened.of(scope, table, partition).where(where)
        asked = "true" if condition is None else condition
        return writes.delete(scope, source(scope, table, partition), asked, engine, request)

    return once(scope, request, make_it)


def rename(scope: Scope, table: str, partition: str, values: Values, engine: Engine, request: Request) -> Commit | None:
    """Give an explicit partition other values: its rows are updated in the same commit."""

    def old(work: Work) -> Condition:
        opened = Opened.in_work(work, table, partition)
        return check_explicit(work, opened.table, opened.partition).condition(opened.schema)

    def also(work: Work) -> None:
        opened = Opened.in_work(work, table, partition)
        new = given_values(values, opened.schema, opened.table.spec)
        changes.rename(work, opened.table, opened.partition, new)

    def make_it() -> Commit | None:
        seen = scope.read()
        state = table_state(seen, table)
        opened = Opened.in_work(seen, table, partition)
        new = given_values(values, state.schema, state.spec)
        check_explicit(seen, state, opened.partition)
        if opened.is_staged:
            raise Invalid(
                "the partition is staged", subject=partition, advice="commit() shows it, discard() gives it up."
            )
        changes.check_free(seen, state, new, but=partition)
        set_to = {name: lit(value) for name, value in new.python(state.schema).items()}
        return writes.update_values(scope, table, set_to, old, engine, request, also)

    return once(scope, request, make_it)
