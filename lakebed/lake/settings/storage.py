"""How tables are stored, and where namespaces put them, as handles show and change it."""

from dataclasses import replace
from uuid import UUID

from lakebed.catalog.objects import namespaces
from lakebed.catalog.tables.locations import check_location
from lakebed.catalog.tables.storage import Storage, StorageChange, check_owner, set_storage, table_storage
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Scope


def storage_of(scope: Scope, table: str) -> Storage:
    """How a table is stored, with its folder as other engines open it."""
    storage = table_storage(scope.read(), table)
    return replace(storage, location=scope.context.files.location(storage.location))


def change_storage(
    scope: Scope,
    table: str,
    change: StorageChange,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Change how a table is stored."""
    request = Request("set_storage", (table, change.given), message, author, event_id)
    return scope.change(lambda work: set_storage(work, table, change), request)


def namespace_location(scope: Scope, namespace: str) -> str | None:
    """The folder in which new tables of a namespace get theirs, as other engines open it."""
    work = scope.read()
    work.path(namespace)
    return namespaces.shown_location(work, namespace)


def namespace_owner(scope: Scope, namespace: str) -> str | None:
    """Who owns a namespace."""
    work = scope.read()
    work.path(namespace)
    return namespaces.owner_of(work, namespace)


def set_location(
    scope: Scope,
    namespace: str,
    location: str | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Choose the folder of a namespace's new tables; None for that of what it is in."""
    if location is not None:
        check_location(location)
    return _alter(scope, "set_location", namespace, namespaces.LOCATION, location, message, author, event_id)


def set_owner(
    scope: Scope,
    namespace: str,
    owner: str | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Name the owner of a namespace; None for whoever created it."""
    given = None if owner is None else check_owner(owner)
    return _alter(scope, "set_owner", namespace, namespaces.OWNER, given, message, author, event_id)


def _alter(
    scope: Scope,
    call: str,
    namespace: str,
    what: str,
    value: str | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    request = Request(call, (namespace, value), message, author, event_id)
    return scope.change(lambda work: namespaces.alter_namespace(work, namespace, {what: value}), request)
