"""The call that shows what a catalog knows of itself."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from lakebed.catalog.inspect.describe import catalog_text
from lakebed.catalog.inspect.registry import find_system_table
from lakebed.catalog.inspect.system_table import keep_by
from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.engines import load_engine
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition

if TYPE_CHECKING:
    import pyarrow


class Inspecting(ABC):
    """System tables of one line, as it goes on or at a version."""

    __slots__ = ()

    _scope: Scope

    @property
    @abstractmethod
    def name(self) -> str:
        """The catalog's name."""

    @property
    @abstractmethod
    def ref(self) -> str:
        """The name of its branch or share."""

    def inspect(
        self, name: str, where: str | Condition | None = None, columns: Sequence[str] | None = None
    ) -> "pyarrow.Table":
        """The rows of a system table, such as `__tables`; `where` is an SQL condition, as in `scan`."""
        table = find_system_table(name)
        filter = None if where is None else bind(where, table.schema)
        shown = None if columns is None else table.schema.select(columns).names
        rows = table.rows(self._scope.read(), keep_by(filter))
        return cast("pyarrow.Table", load_engine("arrow").table_of_rows(table.schema, rows, filter, shown))

    def describe(self) -> str:
        """What it is, for people to read."""
        return catalog_text(self._scope.read(), f"{self.name}@{self.ref}")
