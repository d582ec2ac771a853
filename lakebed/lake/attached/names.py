"""The names that an attached session gives, and whether they are the lake's.

A name is looked for among the session's temporary views, then in the lake, then in Spark's own catalogs. A new table is
the lake's if its namespace is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.catalog.transaction.context import Context
from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.catalog import Catalog, open_catalog
from lakebed.lake.sql.current import Current, choose, current
from lakebed.lake.sql.names import DATABASES, Places
from lakebed.lake.sql.read import FORMATS, SESSION
from lakebed.lake.sql.system_tables import is_system_name
from lakebed.records.names import normal_name
from lakebed.spark.sql.names import chain_end
from lakebed.spark.sql.tokens import quoted, words_of
from lakebed.spark.variables import verbatim

if TYPE_CHECKING:
    from lakebed.lake.table import Table

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """An object's place in the lake: a catalog on a ref, and the object's name in it."""

    catalog: Catalog
    parts: Parts
    is_named_with_ref: bool = False

    @property
    def is_table(self) -> bool:
        return _is_name(self.parts) and self.catalog.table_exists(self.parts)

    @property
    def exists(self) -> bool:
        return self.is_table or (_is_name(self.parts) and self.catalog.view_exists(self.parts))

    @property
    def is_system(self) -> bool:
        """Whether it is a system table, such as `__tables` or `sales.orders.files`."""
        return _is_name(self.parts) and is_system_name(self.catalog, self.parts)

    @property
    def is_namespace(self) -> bool:
        return _is_name(self.parts) and self.catalog.namespace_exists(self.parts)

    @property
    def has_home(self) -> bool:
        """Whether it could be created: its namespace is there, or it needs none."""
        return _is_name(self.parts) and (len(self.parts) == 1 or self.catalog.namespace_exists(self.parts[:-1]))

    @property
    def table(self) -> "Table":
        return self.catalog.table(self.parts)

    @property
    def spelled(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Names:
    """A session's names in a lake."""

    context: Context
    spark: SparkSession

    @property
    def current(self) -> Current:
        """The ref and the namespace that the session uses."""
        return current(self.spark, self.context)

    @property
    def catalog(self) -> Catalog:
        """The catalog that the session uses, on its ref; an error says how to get away from a ref that is gone."""
        self.check_open()
        try:
            return open_catalog(self.context, self.current.ref or DEFAULT)
        except NotFound as error:
            error.advice = f"The session uses {self.current.ref}: attach it again, lakebed.spark.attach(spark, lake)."
            raise

    def use(self, namespace: Parts) -> None:
        """Choose the namespace of names with one part."""
        choose(self.spark, self.context, Current(self.current.ref, namespace))

    @property
    def is_open(self) -> bool:
        try:
            self.context.metastore.newest()
        except LakebedError:
            return False
        return True

    def check_open(self) -> None:
        """Refuse to go on with a lake that was closed: its names would be Spark's, and rows would land there."""
        if not self.is_open:
            raise closed(self.context)

    def read(self, text: str) -> Found | None:
        """The table or view of a name; None if the lake does not have it."""
        found = self.place(*parsed(text))
        is_there = found is not None and (found.is_named_with_ref or found.exists or found.is_system)
        return found if is_there else None

    def written(self, text: str) -> Found | None:
        """Where a table of this name is, or would be created; None if that is in Spark."""
        found = self.place(*parsed(text))
        return found if found is not None and self.owns(found) else None

    def namespace(self, text: str) -> Found | None:
        """The namespace of a name; None if the lake does not have it."""
        found = self.at(*parsed(text))
        return found if found is not None and found.is_namespace else None

    def place(self, ref: str | None, parts: Parts) -> Found | None:
        """Where the lake has a table of this name, or would have it; None for a name that can only be Spark's."""
        if _is_sparks(parts) or (ref is None and len(parts) == 1 and self.is_temporary(parts[0])):
            return None
        whole = (*self.current.namespace, *parts) if ref is None and len(parts) == 1 else parts
        return self.at(ref, whole)

    def at(self, ref: str | None, parts: Parts) -> Found | None:
        """The same for the whole name of an object, with or without its catalog."""
        if _is_sparks(parts):
            return None
        own = self._catalog(ref)
        opened = parts[0].casefold()
        if ref is None and len(parts) > (2 if opened in DATABASES else 1):
            catalogs = Places(own, self.context.metastore.newest(), is_attached=True).catalogs([opened])
            if opened in catalogs:
                beside = catalogs[opened]
                return Found(own if beside is None else open_catalog(self.context, beside), parts[1:])
        return Found(own, parts, ref is not None)

    def has_catalog(self, name: str) -> bool:
        """Whether the lake has a catalog of this name."""
        try:
            open_catalog(self.context, name)
        except LakebedError:
            return False
        return True

    def owns(self, found: Found) -> bool:
        """Whether an object is the lake's: it is there, or its namespace is, and Spark has no object of this name."""
        if found.is_named_with_ref or found.exists or found.is_namespace:
            return True
        return found.has_home and not self.is_in_spark(found.parts)

    def knows(self, words: Iterable[str]) -> bool:
        """Whether one of these words is a name at the top of the catalog, or in the session's namespace: one look."""
        catalog = self.catalog
        work = catalog._scope.read()
        parents = [work.top]
        if self.current.namespace and catalog.namespace_exists(self.current.namespace):
            parents.append(catalog.namespace(self.current.namespace).id)
        wanted = [(parent, word) for parent in parents for word in words if _is_name((word,))]
        return any(found is not None for found in work.reader.resolve(wanted))

    def is_temporary(self, name: str) -> bool:
        """Whether the session has a temporary view of this name."""
        try:
            return self.spark.catalog.getTable(verbatim(self.spark, quoted(name))).isTemporary
        except AnalysisException:
            return False

    def is_in_spark(self, parts: Parts) -> bool:
        """Whether Spark itself has a table, view or database of this name."""
        name, catalog = verbatim(self.spark, ".".join(map(quoted, parts))), self.spark.catalog
        try:
            return catalog.tableExists(name) or catalog.databaseExists(name)
        except AnalysisException:
            return False

    def _catalog(self, ref: str | None) -> Catalog:
        return self.catalog if ref is None else self.catalog._beside(ref)


def parsed(text: str) -> tuple[str | None, Parts]:
    """A name's ref, as it opens a catalog, and its parts: `sales.orders`, ``sales.`a.b` ``, `sales.orders@dev`."""
    if not isinstance(text, str):
        raise Invalid("a table's name is text", expected="str", found=type(text).__name__)
    words = words_of(text)
    if not words.words[0].names or chain_end(words, 0) != len(words.words):
        raise Invalid("this is not a table's name", subject=repr(text), expected="such as sales.orders")
    parts = tuple(word.text for word in words.words[::2])
    if len(parts) > 1 and "@" in parts[0]:
        return parts[0], parts[1:]
    own, at, ref = parts[-1].partition("@")
    return (f"@{ref}", (*parts[:-1], own)) if at else (None, parts)


def closed(context: Context) -> Invalid:
    """The error for a lake that was closed while a session is attached to it."""
    return Invalid(
        "the lake that this session is attached to was closed",
        subject=context.files.url,
        advice="Open it again and attach it: lakebed.spark.attach(spark, lake). Or lakebed.spark.detach(spark).",
    )


def _is_name(parts: Parts) -> bool:
    """Whether the lake could have such a name; Spark may have others."""
    try:
        return all(normal_name(part) for part in parts)
    except Invalid:
        return False


def _is_sparks(parts: Parts) -> bool:
    """Whether a name says that it is Spark's: a catalog of the session, or a path of files."""
    return parts[0].lower() in SESSION or (parts[0].lower() in FORMATS and "/" in parts[-1])
