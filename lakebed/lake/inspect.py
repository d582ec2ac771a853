"""What a catalog shows of itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.catalog.inspect.registry import find_system_table
from lakebed.catalog.inspect.system_table import keep_by
from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.engines import arrow_engine
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition

if TYPE_CHECKING:
    import pyarrow


def inspect(scope: Scope, name: str, where: str | Condition | None, columns: Sequence[str] | None) -> "pyarrow.Table":
    """The rows of a system table."""
    table = find_system_table(name)
    filter = None if where is None else bind(where, table.schema)
    shown = None if columns is None else table.schema.select(columns).names
    rows = table.rows(scope.read(), keep_by(filter))
    return arrow_engine().table_of_rows(table.schema, rows, filter, shown)
