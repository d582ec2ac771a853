"""Properties of catalogs, namespaces, tables and views."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Generic, cast
from uuid import UUID

from lakebed.catalog.objects import properties
from lakebed.catalog.transaction.bound import asked_id
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred

if TYPE_CHECKING:
    from lakebed.catalog.tables import known_properties
else:
    known_properties = deferred("lakebed.catalog.tables.known_properties")


def properties_of(scope: Scope, owner: str) -> dict[str, str]:
    """The properties of an object, by name."""
    return properties.properties_of(scope.read(), owner)


def comment_of(scope: Scope, owner: str) -> str | None:
    """The property `comment` of an object."""
    return properties_of(scope, owner).get(properties.COMMENT)


def set_properties(
    scope: Scope,
    owner: str,
    values: Mapping[str, str],
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Set some properties; the others stay."""
    return _set(scope, owner, values, properties.set_properties, message, author, event_id)


def set_table_properties(
    scope: Scope,
    table: str,
    values: Mapping[str, str],
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Set some properties of a table, which knows some of them and checks their values."""
    return _set(scope, table, values, known_properties.set_table_properties, message, author, event_id)


def _set(
    scope: Scope,
    owner: str,
    values: Mapping[str, str],
    put: Callable[[Work, str, Mapping[str, str]], None],
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    given = properties.check_properties(values)
    request = Request("set_properties", (asked_id(owner), given), message, author, event_id)
    return scope.change(lambda work: put(work, owner, given), request)


def unset_properties(
    scope: Scope,
    owner: str,
    keys: Iterable[str],
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Remove some properties; those that are not there are fine."""
    gone = properties.check_keys(keys)
    request = Request("unset_properties", (asked_id(owner), gone), message, author, event_id)
    return scope.change(lambda work: properties.unset_properties(work, owner, gone), request)


def set_comment(
    scope: Scope,
    owner: str,
    comment: str | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Set the comment of an object, or remove it."""
    if not comment:
        return unset_properties(scope, owner, [properties.COMMENT], message, author, event_id)
    return set_properties(scope, owner, {properties.COMMENT: comment}, message, author, event_id)


class Propertied(Generic[Answer]):
    """The calls on the properties of one object."""

    __slots__ = ()

    _scope: Scope

    if TYPE_CHECKING:

        @property
        def _owner(self) -> str: ...

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, by name."""
        return properties_of(self._scope, self._owner)

    @property
    def comment(self) -> str | None:
        """Its description; the property `comment`."""
        return comment_of(self._scope, self._owner)

    def set_properties(
        self,
        values: Mapping[str, str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set some properties; the others stay."""
        return cast("Answer", set_properties(self._scope, self._owner, values, message, author, event_id))

    def set_comment(
        self,
        comment: str | None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set its description, the property `comment`; None or "" removes it."""
        return cast("Answer", set_comment(self._scope, self._owner, comment, message, author, event_id))

    def unset_properties(
        self,
        keys: Iterable[str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Remove some properties; those that are not there are fine."""
        return cast("Answer", unset_properties(self._scope, self._owner, keys, message, author, event_id))
