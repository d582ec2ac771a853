"""The handle of a namespace."""

from dataclasses import dataclass, field

from lakebed.catalog.log import newest_commit, read_all
from lakebed.catalog.names import Name, shown_name
from lakebed.catalog.objects import name_of
from lakebed.catalog.scopes import Scope
from lakebed.lake.propertied import Propertied
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class Namespace(Propertied):
    """A namespace by its id: the handle stays good when it is renamed. Every call is one transaction."""

    id: str
    _scope: Scope = field(repr=False)

    @property
    def name(self) -> Name:
        """Its name now: dotted text, or a tuple if a part has a dot."""
        return shown_name(name_of(self._scope.read(), self.id))

    @property
    def version(self) -> Version | None:
        """The last commit that changed it; None if it is new in a transaction."""
        work = self._scope.read()
        read_all(work, self.id)
        return newest_commit(work, self.id)

    @property
    def _owner(self) -> str:
        return self.id
