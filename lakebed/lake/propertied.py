"""What has properties: catalogs, namespaces and tables alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from uuid import UUID

from lakebed.catalog.objects import properties
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope


class Propertied(ABC):
    """Properties of one object, read and changed through a scope."""

    __slots__ = ()

    _scope: Scope

    @property
    @abstractmethod
    def _owner(self) -> str:
        """The id of the object that has them."""

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, by name."""
        return properties.properties_of(self._scope.read(), self._owner)

    @property
    def comment(self) -> str | None:
        """What it is said to be; the property `comment`."""
        return self.properties.get(properties.COMMENT)

    def set_properties(
        self,
        values: Mapping[str, str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Set some properties; the others stay."""
        given = properties.check_properties(values)
        request = Request("set_properties", (self._owner, given), message, author, event_id)
        return self._scope.change(lambda work: properties.set_properties(work, self._owner, given), request)

    def unset_properties(
        self,
        keys: Iterable[str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Take some properties away; those that are not there are fine."""
        gone = properties.check_keys(keys)
        request = Request("unset_properties", (self._owner, gone), message, author, event_id)
        return self._scope.change(lambda work: properties.unset_properties(work, self._owner, gone), request)
