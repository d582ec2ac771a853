"""A project's `.sql` files: each statement defines a dataset or a flow, or sets what the statements behind it go by."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from lakebed.errors import Invalid
from lakebed.pipelines.declarative.definitions import Dataset, DefinedFlow, Kind, Place
from lakebed.pipelines.declarative.queries import Query, RenamedQuery, SqlQuery, StreamQuery
from lakebed.pipelines.declarative.registry import Registry
from lakebed.pipelines.declarative.scope import Scope
from lakebed.pipelines.declarative.sql_changes import changes
from lakebed.pipelines.declarative.wanted import Parts
from lakebed.pipelines.flows import Cdc
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.properties import properties
from lakebed.spark.sql.tokens import Words, statements_of

_EXPECTED = (
    "CREATE MATERIALIZED VIEW, STREAMING TABLE, TEMPORARY VIEW, VIEW or FLOW, SET or USE; a table's rows come behind AS"
)


def read_sql(registry: Registry, text: str, path: Path) -> None:
    """Add what a file defines; `Invalid` says the file, the line and the word."""
    file = _File(registry, path, registry.scope)
    for words in statements_of(text):
        line = text.count("\n", 0, words.start) + 1
        try:
            file.read(Cursor(words), Place(str(path), line))
        except Invalid as error:
            if path.name not in error.subject:
                place = path.name if error.subject.startswith("line ") else f"{path.name}:{line}"
                error.subject = f"{place}, {error.subject}" if error.subject else place
            raise


@dataclass(slots=True)
class _Clauses:
    """What stands between a table's name and its query."""

    columns: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    format: str | None = None


@dataclass(slots=True)
class _File:
    registry: Registry
    path: Path
    scope: Scope
    conf: dict[str, str] = field(default_factory=dict)

    def read(self, cursor: Cursor, place: Place) -> None:
        """Read one statement."""
        if cursor.take("SET", "CATALOG"):
            self._use_catalog(cursor)
        elif cursor.take("SET"):
            self._set(cursor)
        elif cursor.take("USE"):
            self._use(cursor)
        elif cursor.take("CREATE"):
            _ = cursor.take("OR", "REPLACE") or cursor.take("OR", "REFRESH")
            self._create(cursor, place)
        else:
            raise cursor.refused("a project can't have this statement", expected=_EXPECTED)

    def _create(self, cursor: Cursor, place: Place) -> None:
        if cursor.take("MATERIALIZED", "VIEW"):
            self._materialized_view(cursor, place)
        elif cursor.take("STREAMING", "TABLE"):
            self._streaming_table(cursor, place)
        elif cursor.take("TEMPORARY", "VIEW") or cursor.take("TEMP", "VIEW"):
            self._view(cursor, place, Kind.TEMPORARY_VIEW)
        elif cursor.take("VIEW"):
            self._view(cursor, place, Kind.VIEW)
        elif cursor.take("FLOW"):
            self._flow(cursor, place)
        else:
            raise cursor.refused("a project can't have this statement", expected=_EXPECTED)

    def _materialized_view(self, cursor: Cursor, place: Place) -> None:
        parts = self._table(cursor, Kind.MATERIALIZED_VIEW, place)
        cursor.expect("AS")
        self._add_flow(parts[-1], parts, SqlQuery(cursor.rest("a query")), place)

    def _streaming_table(self, cursor: Cursor, place: Place) -> None:
        parts = self._table(cursor, Kind.STREAMING_TABLE, place)
        if cursor.take("AS"):
            self._add_flow(parts[-1], parts, SqlQuery(cursor.rest("a query")), place)
        elif cursor.take("FLOW", "AUTO", "CDC"):
            source, cdc = changes(cursor)
            self._add_flow(parts[-1], parts, StreamQuery(source), place, cdc)
        else:
            cursor.end("AS, FLOW AUTO CDC, or the end")

    def _table(self, cursor: Cursor, kind: Kind, place: Place) -> Parts:
        cursor.take("IF", "NOT", "EXISTS")
        parts = self.scope.defined(cursor.chain(f"the {kind.value}'s name"))
        clauses = _clauses(cursor)
        self.registry.add(
            Dataset(
                parts,
                kind,
                place,
                clauses.comment,
                clauses.properties,
                clauses.partition_by,
                clauses.cluster_by,
                clauses.columns,
                clauses.format,
            )
        )
        return parts

    def _view(self, cursor: Cursor, place: Place, kind: Kind) -> None:
        cursor.take("IF", "NOT", "EXISTS")
        word, own = cursor.word, cursor.chain("the view's name")
        if kind is Kind.TEMPORARY_VIEW and len(own) > 1:
            raise cursor.words.refused("a temporary view has a name of one part", word)
        parts = own if kind is Kind.TEMPORARY_VIEW else self.scope.defined(own)
        names = tuple(_view_column(item) for item in cursor.inside().items()) if cursor.sees("(") else ()
        clauses = _clauses(cursor)
        cursor.expect("AS")
        query = SqlQuery(cursor.rest("a query"))
        self.registry.add(Dataset(parts, kind, place, clauses.comment, clauses.properties))
        self._add_flow(parts[-1], parts, RenamedQuery(query, names) if names else query, place)

    def _flow(self, cursor: Cursor, place: Place) -> None:
        word, name = cursor.word, cursor.chain("the flow's name")
        if len(name) > 1:
            raise cursor.words.refused("a flow has a name of one part", word)
        if cursor.take("COMMENT"):
            cursor.string("a comment")
        cursor.expect("AS")
        if cursor.take("AUTO", "CDC"):
            cursor.expect("INTO")
            target = cursor.chain("the streaming table")
            source, cdc = changes(cursor)
            self._add_flow(name[0], target, StreamQuery(source), place, cdc)
            return
        cursor.expect("INSERT", "INTO")
        target = cursor.chain("the streaming table")
        cursor.take("BY", "NAME")
        self._add_flow(name[0], target, SqlQuery(cursor.rest("a query")), place)

    def _add_flow(self, name: str, target: Parts, query: Query, place: Place, cdc: Cdc | None = None) -> None:
        self.registry.add_flow(DefinedFlow(name, target, query, self.scope, place, dict(self.conf), (), cdc))

    def _set(self, cursor: Cursor) -> None:
        if cursor.take("TIME", "ZONE"):
            self.conf["spark.sql.session.timeZone"] = cursor.string("a zone")
            cursor.end()
            return
        key = cursor.until("=")
        if not key.words or not cursor.take("="):
            raise cursor.refused("a setting has a name and a value", expected="SET name = value")
        name = key.words[0].text if len(key.words) == 1 else key.own_text
        value: Words = cursor.rest("a value")
        self.conf[name] = value.words[0].text if len(value.words) == 1 else value.own_text

    def _use(self, cursor: Cursor) -> None:
        _ = cursor.take("DATABASE") or cursor.take("SCHEMA") or cursor.take("NAMESPACE")
        self.scope = self.scope.using(cursor.chain("a database"))
        cursor.end()

    def _use_catalog(self, cursor: Cursor) -> None:
        word = cursor.word
        name = cursor.column("a catalog")
        if name.casefold() not in self.scope.catalogs:
            raise cursor.words.refused(
                "a pipeline publishes one catalog", word, expected=" or ".join(sorted(self.scope.catalogs))
            )
        self.scope = replace(self.scope, database=())
        cursor.end()


def _clauses(cursor: Cursor) -> _Clauses:
    found = _Clauses()
    if cursor.sees("("):
        found.columns = cursor.inside().rest("columns").own_text
    while cursor.word is not None and not cursor.sees_one("AS", "FLOW"):
        if cursor.take("PARTITIONED", "BY"):
            found.partition_by = tuple(_column(item) for item in cursor.inside().items())
        elif cursor.take("CLUSTER", "BY"):
            found.cluster_by = tuple(_column(item) for item in cursor.inside().items())
        elif cursor.take("COMMENT"):
            found.comment = cursor.string("a comment")
        elif cursor.take("TBLPROPERTIES"):
            found.properties |= dict(properties(cursor))
        elif cursor.take("USING"):
            found.format = cursor.column("a format")
        else:
            raise cursor.refused(
                "this statement can't be read",
                expected="PARTITIONED BY, CLUSTER BY, COMMENT, TBLPROPERTIES, USING or AS",
            )
    return found


def _column(item: Cursor) -> str:
    name = item.column()
    item.end("a plain column")
    return name


def _view_column(item: Cursor) -> str:
    name = item.column()
    if item.take("COMMENT"):
        item.string("a comment")
    item.end("a comma")
    return name
