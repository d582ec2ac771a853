"""The calls on a catalog's namespaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, cast
from uuid import UUID

from lakebed.catalog.objects import namespaces
from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.tables.locations import check_location
from lakebed.catalog.tables.storage import check_owner
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Answer, Argument, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.lake.arguments import check_flag
from lakebed.lake.namespace import Namespace
from lakebed.lake.objects import create, created, dropped, listed, purge_object, undrop_object
from lakebed.lake.shown import Listing
from lakebed.metastore.kinds import NAMESPACE


@dataclass(frozen=True, slots=True)
class NewNamespace:
    """A namespace to create, as the caller describes it."""

    name: Name
    properties: Mapping[str, str]
    comment: str | None
    location: str | None
    owner: str | None

    def __post_init__(self) -> None:
        if self.location is not None:
            check_location(self.location)
        if self.owner is not None:
            check_owner(self.owner)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of its request; those that came later only if they are given, as it was before."""
        later: tuple[Argument, ...] = () if self.comment is None else (self.comment,)
        placed: dict[str, Argument] = {"location": self.location, "owner": self.owner}
        return (parse_name(self.name), self.properties, *later, *([placed] if any(placed.values()) else []))

    def create(self, work: Work) -> str:
        """Create it, and return its id."""
        given = (self.properties, self.comment, self.location, self.owner)
        return namespaces.create_namespace(work, self.name, *given)


class Namespaces(Generic[Answer]):
    """Namespaces by name: dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ()

    _scope: Scope

    def create_namespace(
        self,
        name: Name,
        *,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        location: str | None = None,
        owner: str | None = None,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Namespace[Answer]:
        """Create a namespace, or with `if_not_exists` answer the one of this name. Its parent has to exist.

        `location` is a folder of the lake, in which its new tables get theirs. Its owner is whoever creates it, unless
        another is named.
        """
        new = NewNamespace(name, check_properties(properties or {}), comment, location, owner)
        request = Request("create_namespace", new.arguments, message, author, event_id)
        make = new.create
        return created(
            lambda: Namespace(create(self._scope, make, request), self._scope),
            lambda: self.namespace(name),
            if_not_exists,
        )

    def namespace(self, name: Name) -> Namespace[Answer]:
        """The namespace with this name, or `NotFound`."""
        return Namespace(namespaces.find_namespace(self._scope.read(), name), self._scope)

    def namespaces(
        self,
        namespace: Name | None = None,
        *,
        prefix: str | None = None,
        recursive: bool = False,
        limit: int | None = None,
        token: str | None = None,
    ) -> Listing[Namespace[Answer]]:
        """The namespaces in a namespace, or at the top; with `recursive` those below them too.

        With `limit` it is one page, and its `token` asks for the next: each item comes once, as of the first page,
        whatever is committed meanwhile.
        """
        found = listed(self._scope, NAMESPACE, namespace, prefix, recursive, limit, token)
        return found.of(lambda one: Namespace(one, self._scope))

    def namespace_exists(self, name: Name) -> bool:
        """Whether there is a namespace of this name."""
        return objects.exists(self._scope.read(), name, NAMESPACE)

    def rename_namespace(
        self,
        name: Name,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give a namespace another name; all that is in it goes with it."""
        request = Request("rename_namespace", (parse_name(name), parse_name(new_name)), message, author, event_id)
        return cast(
            "Answer",
            self._scope.change(
                lambda work: objects.rename(work, namespaces.find_namespace(work, name), new_name), request
            ),
        )

    def drop_namespace(
        self,
        name: Name,
        cascade: bool = False,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a namespace; one that is not empty only with `cascade`, and then with all that it holds.

        With `if_exists` the answer is None if there is no namespace of this name.
        """
        asked = (parse_name(name), check_flag("cascade", cascade))
        request = Request("drop_namespace", asked, message, author, event_id)
        drop = objects.drop if cascade else namespaces.drop_empty
        return dropped(
            lambda: self._scope.change(lambda work: drop(work, namespaces.find_namespace(work, name)), request),
            lambda: self.namespace_exists(name),
            if_exists,
        )

    def undrop_namespace(
        self,
        name: Name,
        id: str | UUID | None = None,
        as_name: Name | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring back a dropped namespace, with everything that was dropped with it.

        If several of this name were dropped, `id` selects one: `Ambiguous` lists them. `as_name` gives it another name,
        if its own is taken or its namespace was dropped.
        """
        return cast("Answer", undrop_object(self._scope, NAMESPACE, name, id, as_name, message, author, event_id))

    def purge_namespace(
        self,
        name: Name,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Erase a dropped namespace for good, with all that it held, its past and its files.

        Refused while another ref can see any of it. If it was killed halfway, call it again.
        """
        return purge_object(self._scope, NAMESPACE, name, id, message, author, event_id)
