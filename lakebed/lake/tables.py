"""The calls on a catalog's tables."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.tables import tables
from lakebed.catalog.tables.tables import Layout
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.arguments import SchemaLike, as_paths, as_texts, schema_of
from lakebed.lake.objects import Listing, create, listed, purge_object, undrop_object
from lakebed.lake.table import Table
from lakebed.metastore.kinds import TABLE
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Path


class Tables:
    """Tables by name: dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ()

    _scope: Scope

    def create_table(
        self,
        name: Name,
        schema: SchemaLike,
        *,
        partition_by: Iterable[str] = (),
        sort_by: Iterable[str] = (),
        primary_key: Iterable[Path] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        location: str | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Table:
        """Make an empty table; its namespace has to be there.

        Its files have rows of one partition each (`day(ordered_at)`, `bucket(16, id)`, `region`), sorted (`price desc
        nulls last`). The columns of a primary key become required. `location` is a folder of the lake, in which the
        table gets one of its own.
        """
        columns, given = schema_of(schema), check_properties(properties or {})
        layout = Layout(
            as_texts(partition_by, "a partition spec"),
            as_texts(sort_by, "a sort order"),
            as_paths(primary_key, "a primary key"),
            location,
        )
        arguments = (parse_name(name), schema_to_json(columns).decode(), given, comment, *layout.arguments)
        request = Request("create_table", arguments, message, author, event_id)
        made = create(
            self._scope, lambda work: tables.create_table(work, name, columns, given, comment, layout), request
        )
        return Table(made, self._scope)

    def table(self, name: Name) -> Table:
        """The table with this name, or `NotFound`."""
        return Table(tables.find_table(self._scope.read(), name), self._scope)

    def tables(
        self,
        namespace: Name | None = None,
        *,
        prefix: str | None = None,
        recursive: bool = False,
        limit: int | None = None,
        token: str | None = None,
    ) -> Listing[Table]:
        """The tables in a namespace, or at the top; with `recursive` those in the namespaces below it too.

        With `limit` it is one page, and its `token` asks for the next: each item comes once, as of the first page,
        whatever is committed meanwhile.
        """
        found = listed(self._scope, TABLE, namespace, prefix, recursive, limit, token)
        return found.of(lambda one: Table(one, self._scope))

    def table_exists(self, name: Name) -> bool:
        """Whether there is a table of this name."""
        return objects.exists(self._scope.read(), name, TABLE)

    def rename_table(
        self,
        name: Name,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Give a table another name, in another namespace too. Its id, history and files stay."""
        request = Request("rename_table", (parse_name(name), parse_name(new_name)), message, author, event_id)
        return self._scope.change(lambda work: objects.rename(work, tables.find_table(work, name), new_name), request)

    def drop_table(
        self,
        name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a table: its name is free at once, its past stays readable."""
        request = Request("drop_table", (parse_name(name),), message, author, event_id)
        return self._scope.change(lambda work: objects.drop(work, tables.find_table(work, name)), request)

    def undrop_table(
        self,
        name: Name,
        id: str | UUID | None = None,
        as_name: Name | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Bring back a dropped table; its id, its past and its files are what they were.

        If several of this name were dropped, `id` selects one: `Ambiguous` lists them. `as_name` gives it another name,
        if its own is taken or its namespace was dropped.
        """
        return undrop_object(self._scope, TABLE, name, id, as_name, message, author, event_id)

    def purge_table(
        self,
        name: Name,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Erase a dropped table for good, with its past and its files.

        Refused while another ref can see it. If it was killed halfway, call it again.
        """
        return purge_object(self._scope, TABLE, name, id, message, author, event_id)
