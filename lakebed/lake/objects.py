"""What the calls on namespaces, tables and views share: creating, listing, undropping and purging objects by name."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from lakebed.catalog.objects import listings, namespaces, purge, undrop
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from lakebed.lake.arguments import check_flag
from lakebed.lake.shown import Listing
from lakebed.metastore.kinds import type_name

T = TypeVar("T")
Made = TypeVar("Made")

ATTEMPTS = 5
"""How often an object that others create and drop at the same time is looked for."""


def create(scope: Scope, make: Callable[[Work], str], request: Request) -> str:
    """The id of what was made now, or when this very call was made before; or of what was as it should be."""
    made: list[str] = []
    commit = scope.change(lambda work: made.append(make(work)), request)
    return commit.operations[0].object_id if commit is not None and commit.operations else made[-1]


def created(make: Callable[[], Made], find: Callable[[], Made], if_not_exists: bool) -> Made:
    """What was made; with `if_not_exists`, what has the name already, whoever made it and when.

    Of callers that race each other one makes it, and all answer it.
    """
    if not check_flag("if_not_exists", if_not_exists):
        return make()
    for _ in range(ATTEMPTS):
        try:
            return make()
        except (AlreadyExists, Conflict, Forbidden) as error:  # what is there can be answered where nothing is written
            taken = error
        try:
            return find()
        except NotFound:  # an object of another kind has the name, or it was dropped again
            continue
    raise taken


def dropped(drop: Callable[[], Commit | None], exists: Callable[[], bool], if_exists: bool) -> Commit | None:
    """The commit of a drop; with `if_exists`, None if there is nothing of this name."""
    if not check_flag("if_exists", if_exists):
        return drop()
    try:
        return drop()
    except NotFound:
        exists()  # which raises if it is not the object that is missing, but its branch
        return None


def listed(
    scope: Scope,
    kind: int,
    namespace: Name | None,
    prefix: str | None,
    recursive: bool,
    limit: int | None = None,
    token: str | None = None,
) -> Listing[str]:
    """The ids of a kind in a namespace: all, or with `limit` one page."""
    if prefix is not None and not isinstance(prefix, str):
        raise Invalid("a prefix is text", expected="str", found=type(prefix).__name__)
    check_flag("recursive", recursive)
    if limit is not None or token is not None:
        wanted = listings.Wanted(kind, namespace, prefix or "", listings.check_page(limit, token, recursive))
        page = listings.page(scope, wanted, token)
        return Listing([child.id for child in page.items], page.token)
    work = scope.read()
    parent = work.top if namespace is None else namespaces.find_namespace(work, namespace)
    found = (objects.descendants if recursive else objects.children)(work, parent, kind, prefix or "")
    return Listing([child.id for child in found])


def undrop_object(
    scope: Scope,
    kind: int,
    name: Name,
    id: str | UUID | None,
    as_name: Name | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit | None:
    """Bring back an object of a kind."""
    given = None if id is None else undrop.check_id(id)
    target = None if as_name is None else parse_name(as_name)
    request = Request(f"undrop_{type_name(kind)}", (parse_name(name), given, target), message, author, event_id)
    return scope.change(lambda work: undrop.undrop(work, kind, name, given, as_name), request)


def purge_object(
    scope: Scope,
    kind: int,
    name: Name,
    id: str | UUID | None,
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
) -> Commit:
    """Purge a dropped object of a kind."""
    given = None if id is None else undrop.check_id(id)
    request = Request(f"purge_{type_name(kind)}", (parse_name(name), given), message, author, event_id)
    return purge.purge(scope, kind, name, given, request)
