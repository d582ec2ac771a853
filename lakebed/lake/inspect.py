"""What a catalog shows of itself."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lakebed.catalog.inspect.registry import find_system_table
from lakebed.catalog.inspect.runs import CATALOG, RUNS, RunTable, publish_event
from lakebed.catalog.inspect.system_table import Keep
from lakebed.catalog.refs.catalogs import find_catalog
from lakebed.catalog.tables.editions import find_table
from lakebed.catalog.transaction.scopes import Pinned, Scope
from lakebed.errors import NotFound
from lakebed.lake.engines import arrow_engine
from lakebed.lake.rows import reads
from lakebed.table.filter.bind import bind

if TYPE_CHECKING:
    import pyarrow

    from lakebed.table.filter.condition import Condition


def inspect(scope: Scope, name: str, where: "str | Condition | None", columns: Sequence[str] | None) -> "pyarrow.Table":
    """The rows of a system table."""
    table = find_system_table(name)
    filter = None if where is None else bind(where, table.schema)
    shown = None if columns is None else table.schema.select(columns).names
    rows = _kept(scope, table) if isinstance(table, RunTable) else table.rows(scope.read(), Keep(filter))
    return arrow_engine().table_of_rows(table.schema, rows, filter, shown)


def _kept(scope: Scope, kept: RunTable) -> Iterator[tuple[Any, ...]]:
    """The rows that runs of pipelines have noted, as of the scope's version."""
    context, version = scope.context, scope.read().base
    try:
        runs = Pinned(context, find_catalog(context, CATALOG), version)
        table = find_table(runs.read(), kept.table)
    except NotFound:  # nothing ran yet
        return
    names = kept.schema.names
    rows = reads.scan(runs, table, None, None, None).to_arrow().to_pylist()
    for row in sorted(rows, key=lambda row: tuple(map(str, (row[name] for name in kept.key[1:])))):
        values = {name: row.get(name) for name in names}
        if kept is RUNS and values["status"] not in ("published", "unchanged", "discarded"):
            commit = context.metastore.find(publish_event(str(values["uuid"])))
            if commit is not None and commit.version <= version:  # the driver died before it could note so
                values |= {"status": "published", "published": str(commit.version), "error": None}
        yield tuple(values.values())
