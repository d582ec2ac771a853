"""The calls on a catalog's views."""

from collections.abc import Mapping
from functools import partial
from typing import Generic, cast
from uuid import UUID

from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.tables import views
from lakebed.catalog.tables.views import Sql
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.arguments import SchemaLike
from lakebed.lake.objects import create, created, dropped, listed, purge_object, undrop_object
from lakebed.lake.shown import Listing
from lakebed.lake.view import View, given_schema, schema_text
from lakebed.metastore.kinds import VIEW


class Views(Generic[Answer]):
    """Views by name: dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ()

    _scope: Scope

    def create_view(
        self,
        name: Name,
        sql: Sql,
        *,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        schema: SchemaLike | None = None,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> View[Answer]:
        """Make a view of a query: its text in Spark's dialect, or texts by dialect, kept as given.

        Its namespace has to exist; the tables that the query names need not. `schema` declares its columns. With
        `if_not_exists` a view that has the name is answered as it is.
        """
        texts, given, columns = views.check_sql(sql), check_properties(properties or {}), given_schema(schema)
        arguments = (parse_name(name), texts, given, comment, schema_text(columns))
        request = Request("create_view", arguments, message, author, event_id)
        make = partial(views.create_view, name=name, sql=texts, properties=given, comment=comment, schema=columns)
        return created(
            lambda: View(create(self._scope, make, request), self._scope), lambda: self.view(name), if_not_exists
        )

    def create_or_replace_view(
        self,
        name: Name,
        sql: Sql,
        *,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        schema: SchemaLike | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> View[Answer]:
        """Create a view, or give the one of this name another query, other properties and columns, in one commit.

        A view that is replaced keeps its id and its history. Arguments are those of `create_view`.
        """
        texts, given, columns = views.check_sql(sql), check_properties(properties or {}), given_schema(schema)
        arguments = (parse_name(name), texts, given, comment, schema_text(columns))
        request = Request("create_or_replace_view", arguments, message, author, event_id)
        make = partial(views.put_view, name=name, sql=texts, properties=given, comment=comment, schema=columns)
        return View(create(self._scope, make, request), self._scope)

    def view(self, name: Name) -> View[Answer]:
        """The view with this name, or `NotFound`."""
        return View(views.find_view(self._scope.read(), name), self._scope)

    def views(
        self,
        namespace: Name | None = None,
        *,
        prefix: str | None = None,
        recursive: bool = False,
        limit: int | None = None,
        token: str | None = None,
    ) -> Listing[View[Answer]]:
        """The views in a namespace, or at the top; with `recursive` those in the namespaces below it too.

        With `limit` it is one page, whose `token` asks for the next.
        """
        found = listed(self._scope, VIEW, namespace, prefix, recursive, limit, token)
        return found.of(lambda one: View(one, self._scope))

    def view_exists(self, name: Name) -> bool:
        """Whether there is a view of this name."""
        return objects.exists(self._scope.read(), name, VIEW)

    def rename_view(
        self,
        name: Name,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give a view another name, in another namespace too. Its id and history stay."""
        request = Request("rename_view", (parse_name(name), parse_name(new_name)), message, author, event_id)
        return cast(
            "Answer",
            self._scope.change(lambda work: objects.rename(work, views.find_view(work, name), new_name), request),
        )

    def drop_view(
        self,
        name: Name,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a view: its name is free at once, its past stays readable. With `if_exists` it need not be there."""
        request = Request("drop_view", (parse_name(name),), message, author, event_id)
        return dropped(
            lambda: self._scope.change(lambda work: objects.drop(work, views.find_view(work, name)), request),
            lambda: self.view_exists(name),
            if_exists,
        )

    def undrop_view(
        self,
        name: Name,
        id: str | UUID | None = None,
        as_name: Name | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring a dropped view back, under its name or another; `Ambiguous` lists those of one name by their ids."""
        return cast("Answer", undrop_object(self._scope, VIEW, name, id, as_name, message, author, event_id))

    def purge_view(
        self,
        name: Name,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Erase a dropped view for good, with its past; refused while another ref can see it."""
        return purge_object(self._scope, VIEW, name, id, message, author, event_id)
