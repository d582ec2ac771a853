"""What catalogs and transactions have in common: the objects that they hold, by name."""

from collections.abc import Callable, Mapping
from uuid import UUID

from lakebed.catalog import namespaces, objects, tables
from lakebed.catalog.commits import Commit, Request
from lakebed.catalog.names import Name, parse_name
from lakebed.catalog.properties import check_properties
from lakebed.catalog.scopes import Scope
from lakebed.catalog.work import Work
from lakebed.errors import Invalid
from lakebed.lake.namespace import Namespace
from lakebed.lake.propertied import Propertied
from lakebed.lake.schemas import SchemaLike, schema_of
from lakebed.lake.table import Table
from lakebed.records import records_pb2 as pb
from lakebed.table.schema_json import schema_to_json


class Objects(Propertied):
    """Namespaces and tables of one line. Names are dotted text, or tuples of parts when a part has a dot."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # Namespaces

    def create_namespace(
        self,
        name: Name,
        *,
        properties: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Namespace:
        """Make a namespace; what it is in has to be there."""
        given = check_properties(properties or {})
        request = Request("create_namespace", (parse_name(name), given), message, author, event_id)
        made = self._create(lambda work: namespaces.create_namespace(work, name, given), request)
        return Namespace(made, self._scope)

    def namespace(self, name: Name) -> Namespace:
        """The namespace with this name, or `NotFound`."""
        return Namespace(namespaces.find_namespace(self._scope.read(), name), self._scope)

    def namespaces(
        self, namespace: Name | None = None, *, prefix: str | None = None, recursive: bool = False
    ) -> list[Namespace]:
        """The namespaces in a namespace, or at the top; with `recursive` those below them too."""
        return [Namespace(one, self._scope) for one in self._listed(pb.NAMESPACE, namespace, prefix, recursive)]

    def namespace_exists(self, name: Name) -> bool:
        return objects.exists(self._scope.read(), name, pb.NAMESPACE)

    def rename_namespace(
        self,
        name: Name,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Give a namespace another name; all that is in it goes with it."""
        request = Request("rename_namespace", (parse_name(name), parse_name(new_name)), message, author, event_id)
        return self._scope.change(
            lambda work: objects.rename(work, namespaces.find_namespace(work, name), new_name), request
        )

    def drop_namespace(
        self,
        name: Name,
        cascade: bool = False,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a namespace; one that is not empty only with `cascade`, and then with all that it holds."""
        if not isinstance(cascade, bool):
            raise Invalid("cascade is True or False", found=repr(cascade))
        request = Request("drop_namespace", (parse_name(name), cascade), message, author, event_id)
        drop = objects.drop if cascade else namespaces.drop_empty
        return self._scope.change(lambda work: drop(work, namespaces.find_namespace(work, name)), request)

    # Tables

    def create_table(
        self,
        name: Name,
        schema: SchemaLike,
        *,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Table:
        """Make an empty table; its namespace has to be there."""
        columns, given = schema_of(schema), check_properties(properties or {})
        arguments = (parse_name(name), schema_to_json(columns).decode(), given, comment)
        request = Request("create_table", arguments, message, author, event_id)
        made = self._create(lambda work: tables.create_table(work, name, columns, given, comment), request)
        return Table(made, self._scope)

    def table(self, name: Name) -> Table:
        """The table with this name, or `NotFound`."""
        return Table(tables.find_table(self._scope.read(), name), self._scope)

    def tables(
        self, namespace: Name | None = None, *, prefix: str | None = None, recursive: bool = False
    ) -> list[Table]:
        """The tables in a namespace, or at the top; with `recursive` those in the namespaces below it too."""
        return [Table(one, self._scope) for one in self._listed(pb.TABLE, namespace, prefix, recursive)]

    def table_exists(self, name: Name) -> bool:
        return objects.exists(self._scope.read(), name, pb.TABLE)

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

    @property
    def _owner(self) -> str:
        """Properties of the catalog itself belong to its line, and branches inherit them."""
        return self._scope.ref.line.top

    def _create(self, make: Callable[[Work], str], request: Request) -> str:
        """The id of what was made now, or when this very call was made before."""
        made: list[str] = []
        commit = self._scope.change(lambda work: made.append(make(work)), request)
        return made[-1] if commit is None else commit.operations[0].object_id

    def _listed(self, kind: int, namespace: Name | None, prefix: str | None, recursive: bool) -> list[str]:
        if prefix is not None and not isinstance(prefix, str):
            raise Invalid("a prefix is text", expected="str", found=type(prefix).__name__)
        work = self._scope.read()
        parent = work.top if namespace is None else namespaces.find_namespace(work, namespace)
        found = (objects.descendants if recursive else objects.children)(work, parent, kind, prefix or "")
        return [child.id for child in found]
