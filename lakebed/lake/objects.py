"""What catalogs and transactions have in common: the objects that they hold, by name."""

from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.namespaces import Namespaces
from lakebed.lake.propertied import Propertied
from lakebed.lake.tables import Tables
from lakebed.lake.views import Views


class Objects(Namespaces, Tables, Views, Propertied):
    """Namespaces, tables and views of one line. Names are dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def _owner(self) -> str:
        """Properties of the catalog itself belong to its line, and branches inherit them."""
        return self._scope.ref.line.top
