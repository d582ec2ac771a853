"""`spark.catalog`, which shows the lake's namespaces, tables and views beside Spark's own."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.catalog import Catalog, Column, Database, Table
from pyspark.sql.types import StructType

from lakebed.catalog.objects.namespaces import location_of
from lakebed.catalog.objects.properties import COMMENT, properties_of
from lakebed.catalog.transaction.objects import name_of
from lakebed.errors import NotFound
from lakebed.lake.attached.names import Found, Names, parsed
from lakebed.lake.catalog import Catalog as LakeHandle
from lakebed.lake.namespace import Namespace
from lakebed.lake.table import Table as LakeTable
from lakebed.lake.view import View
from lakebed.records.layout import Attribute
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.extension import extended
from lakebed.spark.types import result_schema
from lakebed.table.types.names import folded_column

VIEW = "VIEW"


class LakeCatalog:
    """What a catalog of Spark's does more. Whatever it does not find in the lake, and all else, is Spark's."""

    if TYPE_CHECKING:
        _names: Names

    @property
    def _own(self) -> Catalog:
        return cast(Catalog, super())

    def currentDatabase(self) -> str:
        namespace = self._names.current.namespace if self._names.is_open else ()
        with spark_alone():
            return ".".join(namespace) if namespace else self._own.currentDatabase()

    def setCurrentDatabase(self, dbName: str) -> None:
        with spark_alone():
            found = self._namespace(dbName)
            if found is None:
                self._own.setCurrentDatabase(dbName)
            self._names.use(() if found is None else found.parts)

    def listDatabases(self, pattern: str | None = None) -> list[Database]:
        with spark_alone():
            own = self._own.listDatabases(pattern)
            if not self._names.is_open:
                return own
            found = self._names.catalog.namespaces(recursive=True)
            lakes = _databases(self._names, self._names.catalog, found)
            return [*own, *(database for database in lakes if _matches(database.name, pattern))]

    def databaseExists(self, dbName: str) -> bool:
        with spark_alone():
            return self._namespace(dbName) is not None or self._own.databaseExists(dbName)

    def getDatabase(self, dbName: str) -> Database:
        with spark_alone():
            found = self._namespace(dbName)
            if found is None:
                return self._own.getDatabase(dbName)
            return _databases(self._names, found.catalog, [found.catalog.namespace(found.parts)])[0]

    def listTables(self, dbName: str | None = None, pattern: str | None = None) -> list[Table]:
        with spark_alone():
            if dbName is None:
                own = self._own.listTables(self._own.currentDatabase(), pattern)
                return [*self._tables(self._names.current.namespace, pattern), *own] if self._names.is_open else own
            found = self._namespace(dbName)
            if found is None:
                return self._own.listTables(dbName, pattern)
            temporary = [table for table in self._own.listTables(None, pattern) if table.isTemporary]
            return [*self._tables(found.parts, pattern), *temporary]

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:
        with spark_alone():
            if self._found(tableName, dbName) is not None:
                return True
            return self._own.tableExists(tableName) if dbName is None else self._own.tableExists(tableName, dbName)

    def getTable(self, tableName: str) -> Table:
        with spark_alone():
            found = self._found(tableName)
            return self._own.getTable(tableName) if found is None else _tables(found.catalog, [_handle(found)])[0]

    def listColumns(self, tableName: str, dbName: str | None = None) -> list[Column]:
        with spark_alone():
            found = self._found(tableName, dbName)
            if found is not None:
                return _columns(self._names, found)
            own = self._own
            return own.listColumns(tableName) if dbName is None else own.listColumns(tableName, dbName)

    def refreshTable(self, tableName: str) -> None:
        with spark_alone():
            if self._found(tableName) is None:  # a table of the lake is always read as it is
                self._own.refreshTable(tableName)

    def listViews(self, dbName: str | None = None, pattern: str | None = None) -> list[Table]:
        with spark_alone():
            found = None if dbName is None else self._namespace(dbName)
            if found is None:
                own = self._own.listViews(dbName, pattern)
                return own if dbName or not self._names.is_open else [*self._views(self._names.current.namespace), *own]
            return [view for view in self._views(found.parts) if _matches(view.name, pattern)]

    def createDatabase(self, dbName: str, ifNotExists: bool = False, properties: Any = None) -> None:
        with spark_alone():
            found = self._owned(dbName)
            if found is None:
                return self._own.createDatabase(dbName, ifNotExists, properties)
            found.catalog.create_namespace(found.parts, if_not_exists=ifNotExists, properties=properties)
            return None

    def dropDatabase(self, dbName: str, ifExists: bool = False, cascade: bool = False) -> None:
        with spark_alone():
            found = self._namespace(dbName)
            if found is None:
                return self._own.dropDatabase(dbName, ifExists, cascade)
            found.catalog.drop_namespace(found.parts, cascade)
            return None

    def dropTable(self, tableName: str, ifExists: bool = False, purge: bool = False) -> None:
        with spark_alone():
            found = self._found(tableName)
            if found is None:
                return self._own.dropTable(tableName, ifExists, purge)
            found.catalog.drop_table(found.parts)
            if purge:
                found.catalog.purge_table(found.parts)
            return None

    def dropView(self, viewName: str, ifExists: bool = False) -> None:
        with spark_alone():
            found = self._found(viewName)
            if found is None:
                return self._own.dropView(viewName, ifExists)
            found.catalog.drop_view(found.parts)
            return None

    def truncateTable(self, tableName: str) -> None:
        with spark_alone():
            found = self._found(tableName)
            if found is None:
                return self._own.truncateTable(tableName)
            found.table.truncate()
            return None

    def getTableProperties(self, tableName: str) -> dict[str, str]:
        with spark_alone():
            found = self._found(tableName)
            return self._own.getTableProperties(tableName) if found is None else dict(_handle(found).properties)

    def _owned(self, name: str) -> Found | None:
        """Where an object of this name is in the lake, or would be created; None if that is in Spark."""
        self._names.check_open()
        found = self._names.at(*parsed(name))
        return found if found is not None and self._names.owns(found) else None

    def _namespace(self, name: str) -> Found | None:
        return self._names.namespace(name) if self._names.is_open else None

    def _found(self, name: str, namespace: str | None = None) -> Found | None:
        if not self._names.is_open:
            return None
        return self._names.read(name if namespace is None else f"{namespace}.{name}")

    def _tables(self, namespace: tuple[str, ...], pattern: str | None) -> list[Table]:
        catalog, where = self._names.catalog, namespace or None
        tables = _tables(catalog, [*catalog.tables(where), *catalog.views(where)])
        return sorted((table for table in tables if _matches(table.name, pattern)), key=lambda table: table.name)

    def _views(self, namespace: tuple[str, ...]) -> list[Table]:
        return [table for table in self._tables(namespace, None) if table.tableType == VIEW]


def lake_catalog(own: Catalog, names: Names) -> Catalog:
    """A catalog of Spark's that shows the lake's objects too."""
    made: Any = object.__new__(extended(LakeCatalog, own))
    made.__dict__.update(own.__dict__)
    made._names = names
    return cast(Catalog, made)


def _matches(name: str, pattern: str | None) -> bool:
    """Whether a name passes a pattern of Spark's: * stands for anything, | separates several."""
    return pattern is None or any(
        fnmatchcase(folded_column(name), folded_column(one.strip())) for one in pattern.split("|")
    )


def _handle(found: Found) -> LakeTable | View:
    return found.table if found.is_table else found.catalog.view(found.parts)


def _tables(catalog: LakeHandle, found: Sequence[LakeTable | View]) -> list[Table]:
    named = zip(found, _named(catalog, found), strict=True)
    own = catalog.name
    return [
        Table(parts[-1], own, list(parts[:-1]), comment, VIEW if isinstance(one, View) else "MANAGED", False)
        for one, (parts, comment) in named
    ]


def _databases(names: Names, catalog: LakeHandle, found: Sequence[Namespace]) -> list[Database]:
    own, files, work = catalog.name, names.context.files, catalog._scope.read()
    places = [files.location(location_of(work, namespace.id)) for namespace in found]
    named = zip(_named(catalog, found), places, strict=True)
    return [Database(".".join(parts), own, comment, place) for (parts, comment), place in named]


def _named(
    catalog: LakeHandle, found: Sequence[LakeTable | View | Namespace]
) -> list[tuple[tuple[str, ...], str | None]]:
    """The names and comments of objects, in one look."""
    work = catalog._scope.read()
    work.load((one.id, attribute) for one in found for attribute in (Attribute.LIFE, Attribute.PROPERTIES))
    return [(name_of(work, one.id), properties_of(work, one.id).get(COMMENT)) for one in found]


def _columns(names: Names, found: Found) -> list[Column]:
    one = _handle(found)
    if one.schema is None:
        raise NotFound("the view does not say which columns it has", subject=found.spelled, advice="Read it.")
    partitions = set(_source_ids(one)) if isinstance(one, LakeTable) else set()
    kinds: StructType = result_schema(one.schema)
    return [
        Column(
            name=field.name,
            description=field.comment or None,
            dataType=kind.dataType.simpleString(),
            nullable=not field.required,
            isPartition=field.id in partitions,
            isBucket=False,
            isCluster=False,
        )
        for field, kind in zip(one.schema.fields, kinds.fields, strict=True)
    ]


def _source_ids(table: LakeTable) -> Iterable[int]:
    return (field.source_id for field in table.spec.fields if str(field.transform) == "identity")
