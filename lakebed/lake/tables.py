"""The calls on a catalog's tables."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Generic, cast
from uuid import UUID

from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.tables import editions
from lakebed.catalog.tables.tables import Layout
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.lake.arguments import SchemaLike, as_paths, as_texts
from lakebed.lake.objects import created, dropped, listed, purge_object, undrop_object
from lakebed.lake.shown import Listing
from lakebed.lake.table import Stream, Table
from lakebed.metastore.kinds import TABLE
from lakebed.table.schema.schema import Path

if TYPE_CHECKING:
    from lakebed.catalog.data import streams
    from lakebed.catalog.tables import checks
    from lakebed.lake.rows import creation
    from lakebed.lake.rows.creation import NewTable
else:
    creation = deferred("lakebed.lake.rows.creation")
    streams = deferred("lakebed.catalog.data.streams")
    checks = deferred("lakebed.catalog.tables.checks")


class Tables(Generic[Answer]):
    """Tables by name: dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ()

    _scope: Scope

    def create_table(
        self,
        name: Name,
        schema: SchemaLike,
        *,
        partition_by: Iterable[str] | None = (),
        sort_by: Iterable[str] | None = (),
        primary_key: Iterable[Path] | None = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        location: str | None = None,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Table[Answer]:
        """Create an empty table of a schema; or give rows instead of it: they are in the table with the same commit.

        Its namespace has to exist. Rows are all that `append` takes. The table's files have rows of one partition each
        (`day(ordered_at)`, `bucket(16, id)`, `region`), sorted (`price desc nulls last`). The columns of a primary key
        become required. `location` is a folder of the lake, in which the table gets one of its own. With
        `if_not_exists` a table that has the name is answered as it is, and no row is written.
        """
        layout = _layout(partition_by, sort_by, primary_key, location)
        new = _new_table(name, schema, properties, comment, layout)
        request = Request("create_table", new.arguments, message, author, event_id)
        return created(
            lambda: Table(creation.create_table(self._scope, new, new.create, request), self._scope),
            lambda: self.table(name),
            if_not_exists,
        )

    def create_or_replace_table(
        self,
        name: Name,
        schema: SchemaLike,
        *,
        partition_by: Iterable[str] | None = (),
        sort_by: Iterable[str] | None = (),
        primary_key: Iterable[Path] | None = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        location: str | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Table[Answer]:
        """Create a table, and in the same commit drop the table that has the name, if there is one.

        It is a new table with an id of its own: handles of the old one don't show it, and `undrop_table` brings the
        old one back. `overwrite` keeps the table and replaces its rows. Arguments are those of `create_table`.
        """
        layout = _layout(partition_by, sort_by, primary_key, location)
        new = _new_table(name, schema, properties, comment, layout)
        request = Request("create_or_replace_table", new.arguments, message, author, event_id)
        return Table(creation.create_table(self._scope, new, new.replace, request), self._scope)

    def table(self, name: Name) -> Table[Answer]:
        """The table with this name, or the edition: `sales.orders.edition_2`; else `NotFound`.

        A staged stream is `sales.orders.stream_<id>`, and a `Stream`.
        """
        work = self._scope.read()
        stream = streams.stream_named(work, parse_name(name))
        if stream is not None:
            return Stream(stream.bound, self._scope, stream_id=stream.id)
        return Table(editions.find_table(work, name), self._scope)

    def tables(
        self,
        namespace: Name | None = None,
        *,
        prefix: str | None = None,
        recursive: bool = False,
        limit: int | None = None,
        token: str | None = None,
    ) -> Listing[Table[Answer]]:
        """The tables in a namespace, or at the top; with `recursive` those in the namespaces below it too.

        With `limit` it is one page, and its `token` asks for the next: each item comes once, as of the first page,
        whatever is committed meanwhile.
        """
        found = listed(self._scope, TABLE, namespace, prefix, recursive, limit, token)
        return found.of(lambda one: Table(one, self._scope))

    def table_exists(self, name: Name) -> bool:
        """Whether `table` would open this."""
        work = self._scope.read()
        return editions.table_exists(work, name) or streams.stream_named(work, parse_name(name)) is not None

    def rename_table(
        self,
        name: Name,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give a table another name, in another namespace too. Its id, history and files stay."""
        request = Request("rename_table", (parse_name(name), parse_name(new_name)), message, author, event_id)

        def do(work: Work) -> None:
            objects.rename(work, editions.find_whole_table(work, name), new_name)

        return cast("Answer", self._scope.change(do, request))

    def drop_table(
        self,
        name: Name,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a table: its name is free at once, its past stays readable. With `if_exists` it need not be there."""
        request = Request("drop_table", (parse_name(name),), message, author, event_id)
        return dropped(
            lambda: self._scope.change(lambda work: objects.drop(work, editions.find_whole_table(work, name)), request),
            lambda: self.table_exists(name),
            if_exists,
        )

    def undrop_table(
        self,
        name: Name,
        id: str | UUID | None = None,
        as_name: Name | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring back a dropped table; its id, its past and its files are what they were.

        If several of this name were dropped, `id` selects one: `Ambiguous` lists them. `as_name` gives it another name,
        if its own is taken or its namespace was dropped.
        """
        return cast("Answer", undrop_object(self._scope, TABLE, name, id, as_name, message, author, event_id))

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


def _layout(
    partition_by: Iterable[str] | None,
    sort_by: Iterable[str] | None,
    primary_key: Iterable[Path] | None,
    location: str | None,
) -> Layout:
    return Layout(
        as_texts(() if partition_by is None else partition_by, "a partition spec"),
        as_texts(() if sort_by is None else sort_by, "a sort order"),
        as_paths(() if primary_key is None else primary_key, "a primary key"),
        location,
    )


def _new_table(
    name: Name, schema: SchemaLike, properties: Mapping[str, str] | None, comment: str | None, layout: Layout
) -> "NewTable":
    given = check_properties(properties or {})
    columns, rows = creation.columns_and_rows(schema)
    return creation.NewTable(name, columns, {**checks.length_checks(columns), **given}, comment, layout, rows)
