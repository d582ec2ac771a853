"""Running a query by DuckDB over scans of the lake's tables: it reads these tables, and nothing else."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lakebed.catalog.objects.properties import is_text
from lakebed.errors import Invalid, NotFound
from lakebed.lake.engines import check_installed
from lakebed.lake.inspect import inspect
from lakebed.lake.query.names import Moment, QueryName, query_names, quoted, replaced
from lakebed.lake.query.rows import Failing, QueryRows, explained
from lakebed.lake.sql.names import Line
from lakebed.lake.table import Table
from lakebed.store import Version

if TYPE_CHECKING:
    import duckdb

QueryArgs = Sequence[Any] | Mapping[str, Any]

SYSTEM = "__"
"""The prefix of system tables."""

LOCKS = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)
"""After these, DuckDB reads no file, no address on the network and no variable of the program, and can't be told to."""

_SHOW = re.compile(r"\s*SHOW\b", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run_query(line: Line, version: Version, text: str, args: QueryArgs | None) -> QueryRows:
    """The rows of a query with the names of a line; tables without a moment are read at a version of the lake."""
    if not isinstance(text, str):
        raise Invalid("a query is text", expected="str", found=type(text).__name__)
    if not is_text(text):
        raise Invalid("a query has half of a surrogate pair", expected="valid Unicode", found=repr(text))
    check_installed("duckdb", "duckdb")
    import duckdb

    query = _Query(duckdb.connect(":memory:"), line, version)
    with explained(query.sources):
        for lock in LOCKS:  # first of all: a moment may be an expression, which DuckDB evaluates
            query.connection.execute(lock)
        prepared = query.prepared(text)
        _check_reads(query.connection, prepared)
        relation = query.bound(prepared, args)
    return QueryRows(query.connection, relation, query.sources)


def _check_reads(connection: "duckdb.DuckDBPyConnection", text: str) -> None:
    """Refuse anything but one query."""
    kinds = [statement.type.name for statement in connection.extract_statements(text)]
    if "MULTI" in kinds:
        advice = "Name its values: SELECT * FROM (PIVOT … ON … IN (…) USING …)."
        raise Invalid("DuckDB makes several statements of this PIVOT", advice=advice)
    if _SHOW.match(text):
        advice = "Query __tables, or another system table: SELECT * FROM __tables."
        raise Invalid("SHOW knows only what this query reads", advice=advice)
    if len(kinds) != 1 or kinds[0] not in ("SELECT", "EXPLAIN"):
        raise Invalid(
            "query takes one query, which only reads",
            expected="SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE or EXPLAIN",
            found=", ".join(kinds) or "nothing",
            advice="Change tables by their handles, such as append(…), or by lake.sql(spark, …).",
        )


@dataclass(slots=True)
class _Query:
    """The tables of one query, as views of a connection."""

    connection: "duckdb.DuckDBPyConnection"
    line: Line
    version: Version
    sources: list[Failing] = field(default_factory=list)
    _views: dict[tuple[str, ...], str] = field(default_factory=dict)
    """(view, folded) -> what it shows"""
    _added: set[str] = field(default_factory=set)
    _lake_views: list[QueryName] = field(default_factory=list)

    def prepared(self, text: str) -> str:
        """The text with names that DuckDB can read; all tables that it may name are added.

        Other names are left to DuckDB: columns, common table expressions, its own schemas, and mistakes.
        """
        names = query_names(text)
        for name in names:
            if name.is_plain:
                self._add_if_there(name)
        own = [found for name in names if not name.is_plain and (found := self._long_name(name)) is not None]
        for name in own:
            self._add(name, (name.schema, name.parts[-1]), self._table(name))
        return replaced(text, own, lambda name: f"{quoted(name.schema)}.{quoted(name.parts[-1])}")

    def bound(self, text: str, args: QueryArgs | None) -> "duckdb.DuckDBPyRelation":
        """The query, whose names and types DuckDB has checked."""
        import duckdb

        try:
            return self.connection.sql(text, params=args)
        except duckdb.CatalogException:
            if self._lake_views:
                raise Invalid(
                    "DuckDB can't read a view of the lake",
                    subject=self._lake_views[0].spelled,
                    advice="Query the tables that it is made of, or use lake.sql(spark, …).",
                ) from None
            raise

    def _add_if_there(self, name: QueryName) -> None:
        line = self.line._pinned(self.version)
        if name.parts[0].startswith(SYSTEM):
            with suppress(NotFound):
                self._add_rows(name, name.parts, name.parts[0], inspect(line._scope, name.parts[0], None, None))
        elif line.view_exists(name.parts):
            self._lake_views.append(name)
        elif (table := _table(line, name.parts)) is not None:
            self._add(name, name.parts, table)

    def _long_name(self, name: QueryName) -> QueryName | None:
        """The name of a table; None for another path with dots, such as to a field inside a column.

        A long name without ref and moment may go on after the table's: `a.b.items.id` is a column of `a.b.items`.
        """
        if name.place is not None or name.moment is not None:
            return name
        line = self.line._pinned(self.version)
        counts = range(len(name.parts), 2, -1)
        return next((name.first(count) for count in counts if line.table_exists(name.parts[:count])), None)

    def _add(self, name: QueryName, view: tuple[str, ...], table: Table) -> None:
        self._add_rows(name, view, table.id, table.scan().to_dataset())

    def _add_rows(self, name: QueryName, view: tuple[str, ...], shown: str, rows: Any) -> None:
        own = tuple(part.lower() for part in view)
        known = self._views.setdefault(own, shown)
        if known != shown:
            raise Invalid(
                "DuckDB does not distinguish names by case, and two tables of the query differ in nothing else",
                subject=name.spelled,
                advice="Use lake.sql(spark, …), or rename one of them.",
            )
        source = f"lakebed {' '.join(own)}"
        if source in self._added:
            return
        self._added.add(source)
        if isinstance(rows, Failing):
            self.sources.append(rows)
        self.connection.register(source, rows)
        if len(view) > 1:
            self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(view[0])}")
        self.connection.execute(f"CREATE VIEW {'.'.join(map(quoted, view))} AS FROM {quoted(source)}")

    def _table(self, name: QueryName) -> Table:
        """A table with a ref or a moment."""
        line = self.line if name.place is None else self.line._beside(name.place)
        line = line._pinned(self.version) if name.moment is None else self._then(line, name.moment)
        table = _table(line, name.parts)
        if table is None:
            advice = "Catalog.tables(recursive=True) lists the tables."
            raise NotFound("there is no such table in the lake", subject=name.spelled, advice=advice)
        return table

    def _then(self, line: Line, moment: Moment) -> Line:
        if moment.expression is None:
            return line._then(moment.version, moment.time)
        [(micros,)] = self.connection.execute(f"SELECT epoch_us(CAST({moment.expression} AS TIMESTAMPTZ))").fetchall()
        return line._then(None, _EPOCH + timedelta(microseconds=micros))


def _table(line: Line, parts: tuple[str, ...]) -> Table | None:
    """The table of this name, None if there is none. `"a.b".items` is in the namespace b of a."""
    dotted = tuple(one for part in parts for one in part.split("."))
    return next((line.table(name) for name in (parts, dotted) if line.table_exists(name)), None)
