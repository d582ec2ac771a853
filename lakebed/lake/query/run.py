"""Running a query by DuckDB over scans of the lake's tables: it reads these tables, and nothing else."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lakebed.catalog.objects.properties import is_text
from lakebed.errors import Invalid, LakebedError, NotFound
from lakebed.lake.engines import check_installed
from lakebed.lake.inspect import inspect
from lakebed.lake.query.names import Moment, QueryName, query_names, quoted, replaced
from lakebed.lake.query.rows import Failing, QueryRows, explained, translated_error
from lakebed.lake.query.views import duckdb_text
from lakebed.lake.sql.names import Line, Places
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.store import Version

if TYPE_CHECKING:
    import duckdb

QueryArgs = Sequence[Any] | Mapping[str, Any]

SYSTEM = "__"
"""The prefix of system tables."""

LOCKS = (
    "SET TimeZone = 'UTC'",  # as filters read a time without a zone, on whatever machine
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)
"""After these, DuckDB means the same on every machine. It reads no file, no address on the network and no variable of
the program, and no setting changes that.
"""

DEEPEST = 128
"""How many views may stand on one another."""

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
    _within: tuple[View, ...] = ()
    """The lake's views whose queries are being prepared, the outermost first."""
    _catalogs: dict[str, dict[str, str | None]] = field(default_factory=dict)
    """The catalogs that first parts of names are, if they are; None stands for the query's own."""
    _unread: dict[str, LakebedError] = field(default_factory=dict)
    """Views that DuckDB can't read, and why. What looks like the name of one may be a column."""

    def prepared(self, text: str) -> str:
        """The text with names that DuckDB can read; all tables that it may name are added.

        Other names are left to DuckDB: columns, common table expressions, its own schemas, and mistakes.
        """
        names = query_names(text)
        plain = [name for name in names if name.is_plain and self._in_catalog(name) is name]
        for name in plain:
            self._add_if_there(name)
        own = [found for name in names if name not in plain and (found := self._long_name(name)) is not None]
        for name in own:
            self._add_replaced(name)
        return replaced(text, own, lambda name: ".".join(map(quoted, name.shown)))

    def bound(self, text: str, args: QueryArgs | None) -> "duckdb.DuckDBPyRelation":
        """The query, whose names and types DuckDB has checked."""
        import duckdb

        try:
            return self.connection.sql(text, params=args)
        except duckdb.CatalogException:
            for error in self._unread.values():
                raise error from None
            raise

    def _add_if_there(self, name: QueryName) -> None:
        line = self.line._pinned(self.version)
        if name.parts[0].startswith(SYSTEM):
            with suppress(NotFound):
                self._add_rows(name, name.parts, name.parts[0], inspect(line._scope, name.parts[0], None, None))
        elif line.view_exists(name.parts):
            self._add_view(name, name.parts, line.view(name.parts))
        elif (table := _table(line, name.parts)) is not None:
            self._add(name, name.parts, table)

    def _long_name(self, name: QueryName) -> QueryName | None:
        """The name of a table; None for another path with dots, such as to a field inside a column.

        A long name without ref and moment may go on after the table's: `a.b.items.id` is a column of `a.b.items`.
        """
        if name.place is not None or name.moment is not None:
            return self._in_catalog(name)
        line = self.line._pinned(self.version)
        names = [name.first(count) for count in range(len(name.parts), 2, -1)]
        found = next((one for one in names if line.table_exists(one.parts) or line.view_exists(one.parts)), None)
        other = name if found is not None else self._in_catalog(name)
        if other is name:
            return found
        line = self._read_line(other)
        names = [other.first(count) for count in range(len(other.parts), 0, -1)]
        return next((one for one in names if line.table_exists(one.parts) or line.view_exists(one.parts)), None)

    def _in_catalog(self, name: QueryName) -> QueryName:
        """The name without the catalog that it begins with, if no namespace is called so, as in `lake.sql`."""
        first = name.parts[0].casefold()
        is_whole = name.place is not None and not name.place.startswith("@")
        if is_whole or len(name.parts) < 2 or (name.is_plain and not name.is_read):  # `o.id` is a column
            return name
        if first not in self._catalogs:
            self._catalogs[first] = Places(self.line, self.version).catalogs([first])
        found = self._catalogs[first]
        return name.inside(found[first]) if first in found else name

    def _read_line(self, name: QueryName) -> Line:
        line = self.line if name.place is None else self.line._beside(name.place)
        return line._pinned(self.version)

    def _add_replaced(self, name: QueryName) -> None:
        """Add what a name means that DuckDB can't read."""
        line = self.line._pinned(self.version)
        if name.place is None and name.moment is None and line.view_exists(name.parts):
            self._add_view(name, name.shown, line.view(name.parts))
        else:
            self._add(name, name.shown, self._table(name))

    def _add_view(self, name: QueryName, shown: tuple[str, ...], view: View) -> None:
        """Make a view of DuckDB's of one of the lake's, with all that its query reads."""
        import duckdb

        self._check_depth(view)
        if not self._is_new(name, shown, view.id):
            return
        inner = replace(self, _within=(*self._within, view), _unread={})
        try:
            text = inner.prepared(duckdb_text(view))
            _check_reads(self.connection, text)
            self._make(shown, text)
        except duckdb.Error as error:
            failures = list(inner._unread.values())
            self._forget(shown, name, failures[0] if failures else translated_error(error))
        except LakebedError as error:
            self._forget(shown, name, error)

    def _check_depth(self, view: View) -> None:
        if view.id in [one.id for one in self._within]:
            circle = " → ".join(str(one.name) for one in (*self._within, view))
            raise Invalid("a view is made of itself", subject=circle)
        if len(self._within) >= DEEPEST:
            raise Invalid(f"more than {DEEPEST} views stand on one another", subject=str(view.name))

    def _forget(self, shown: tuple[str, ...], name: QueryName, error: LakebedError) -> None:
        """Remember why a view can't be read; the name may still be another's."""
        del self._views[_folded(shown)]
        error.subject = f"{name.spelled}: {error.subject}" if error.subject else name.spelled
        self._unread[name.spelled] = error

    def _add(self, name: QueryName, view: tuple[str, ...], table: Table) -> None:
        self._add_rows(name, view, table.id, table.scan().to_dataset())

    def _add_rows(self, name: QueryName, shown: tuple[str, ...], id: str, rows: object) -> None:
        if not self._is_new(name, shown, id):
            return
        if isinstance(rows, Failing):
            self.sources.append(rows)
        source = f"lakebed {' '.join(_folded(shown))}"
        self.connection.register(source, rows)
        self._make(shown, f"FROM {quoted(source)}")

    def _is_new(self, name: QueryName, shown: tuple[str, ...], id: str) -> bool:
        """Whether a name is to be added; `Invalid` if it would be that of two objects."""
        known = self._views.get(_folded(shown))
        if known is not None and known != id:
            raise Invalid(
                "DuckDB does not distinguish names by case, and two tables of the query differ in nothing else",
                subject=name.spelled,
                advice="Use lake.sql(spark, …), or rename one of them.",
            )
        self._views[_folded(shown)] = id
        return known is None

    def _make(self, shown: tuple[str, ...], text: str) -> None:
        if len(shown) > 1:
            self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(shown[0])}")
        self.connection.execute(f"CREATE VIEW {'.'.join(map(quoted, shown))} AS {text}")

    def _table(self, name: QueryName) -> Table:
        """A table with a ref or a moment."""
        line = self.line if name.place is None else self.line._beside(name.place)
        line = line._pinned(self.version) if name.moment is None else self._then(line, name.moment)
        table = _table(line, name.parts)
        if table is None and line.view_exists(name.parts):
            advice = 'Name the ref or the moment of the whole query: lake.query(…, ref="dev").'
            raise Invalid("DuckDB reads a view where the query reads", subject=name.spelled, advice=advice)
        if table is None:
            advice = "Catalog.tables(recursive=True) lists the tables."
            raise NotFound("there is no such table in the lake", subject=name.spelled, advice=advice)
        return table

    def _then(self, line: Line, moment: Moment) -> Line:
        if moment.expression is None:
            return line._then(moment.version, moment.time)
        [(micros,)] = self.connection.execute(f"SELECT epoch_us(CAST({moment.expression} AS TIMESTAMPTZ))").fetchall()
        return line._then(None, _EPOCH + timedelta(microseconds=micros))


def _folded(name: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in name)


def _table(line: Line, parts: tuple[str, ...]) -> Table | None:
    """The table of this name, None if there is none. `"a.b".items` is in the namespace b of a."""
    dotted = tuple(one for part in parts for one in part.split("."))
    return next((line.table(name) for name in (parts, dotted) if line.table_exists(name)), None)
