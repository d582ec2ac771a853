"""Parses CREATE and DROP."""

from dataclasses import dataclass, field

from lakebed.spark.sql.column_parsing import declared_column
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.properties import properties
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.statements import Column, CreateTable, CreateTemporaryView, DropTable

_FORMATS = ("LAKEBED", "PARQUET")
KINDS = "TABLE, VIEW, NAMESPACE, BRANCH or TAG"
"""What statements create and drop."""


def create(cursor: Cursor) -> CreateTable | CreateTemporaryView:
    """CREATE [OR REPLACE] TABLE, or a temporary view."""
    replace = cursor.take("REPLACE")
    if not replace:
        cursor.expect("CREATE")
        replace = cursor.take("OR", "REPLACE")
    everywhere = cursor.take("GLOBAL")
    if cursor.take("TEMPORARY") or cursor.take("TEMP"):
        return _temporary_view(cursor, replace, everywhere)
    if not cursor.take("TABLE"):
        raise cursor.refused("sql can't create this", expected=KINDS)
    return _table(cursor, replace)


def _temporary_view(cursor: Cursor, replace: bool, everywhere: bool) -> CreateTemporaryView:
    cursor.expect("VIEW")
    name = cursor.column("the view's name")
    columns = tuple(item.column() for item in cursor.inside().items()) if cursor.sees("(") else ()
    cursor.expect("AS")
    return CreateTemporaryView(name, find_uses(cursor.rest("a query")), columns, replace, everywhere)


@dataclass(slots=True)
class _Clauses:
    """The clauses behind a table's columns, in any order."""

    partition_by: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    location: str | None = None
    seen: set[str] = field(default_factory=set)

    def begin(self, cursor: Cursor, *keywords: str) -> bool:
        word = cursor.word
        if not cursor.take(*keywords):
            return False
        if keywords[0] in self.seen:
            raise cursor.words.refused("this clause comes twice", word)
        self.seen.add(keywords[0])
        return True


def _table(cursor: Cursor, replace: bool) -> CreateTable:
    if_not_exists = not replace and cursor.take("IF", "NOT", "EXISTS")
    table = cursor.name()
    declared = _Declared()
    if cursor.sees("("):
        inside = cursor.inside()
        while inside.word is not None:
            declared.add(inside)
    clauses = _clauses(cursor)
    query = _query(cursor, declared.columns)
    return CreateTable(
        table,
        tuple(declared.columns),
        tuple(declared.key),
        clauses.partition_by,
        (*clauses.properties, *declared.checks),
        clauses.comment,
        clauses.location,
        query,
        if_not_exists,
        replace,
        cursor.words,
    )


def _query(cursor: Cursor, columns: list[Column]) -> Query | None:
    """The query behind AS."""
    if cursor.word is None:
        if not columns:
            raise cursor.refused("a table needs columns", expected="(columns) or AS query")
        return None
    if columns:
        raise cursor.refused("a table created from a query has the query's columns", expected="the end")
    cursor.expect("AS")
    return find_uses(cursor.rest("a query"))


@dataclass(slots=True)
class _Declared:
    """What is in the parentheses: columns, the primary key, and checks, which are properties of the table."""

    columns: list[Column] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    checks: list[tuple[str, str]] = field(default_factory=list)

    def add(self, inside: Cursor) -> None:
        """The next column or constraint, up to a comma."""
        if inside.sees("CONSTRAINT") or inside.sees("PRIMARY", "KEY") or inside.sees("CHECK"):
            self._add_constraint(inside)
        else:
            self._add_column(inside)
        if inside.word is not None:
            inside.expect(",")
            if inside.word is None:
                raise inside.refused("this statement can't be read", expected="more after the comma")

    def _add_constraint(self, inside: Cursor) -> None:
        name = inside.column("its name") if inside.take("CONSTRAINT") else None
        if name is not None and inside.take("CHECK"):
            self.checks.append((f"check.{name}", inside.inside().rest("a condition").own_text))
        else:
            self._begin_key(inside)
            self.key += [part.column() for part in inside.inside().items()]

    def _begin_key(self, inside: Cursor) -> None:
        if self.key or not inside.take("PRIMARY", "KEY"):
            expected = "one PRIMARY KEY (columns), or CONSTRAINT name CHECK (condition)"
            raise inside.refused("this constraint can't be declared here", expected=expected)

    def _add_column(self, inside: Cursor) -> None:
        column = declared_column(inside)
        if inside.sees("PRIMARY"):
            self._begin_key(inside)
            self.key.append(column.name)
        self.columns.append(column)


def _clauses(cursor: Cursor) -> _Clauses:
    found = _Clauses()
    while cursor.word is not None and not cursor.sees("AS"):
        if found.begin(cursor, "USING"):
            if not cursor.sees_one(*_FORMATS):
                raise cursor.refused("tables of the lake have one format", expected="USING lakebed, or nothing")
            cursor.position += 1
        elif found.begin(cursor, "PARTITIONED", "BY"):
            found.partition_by = tuple(item.rest("a column").own_text for item in cursor.inside().items())
        elif found.begin(cursor, "COMMENT"):
            found.comment = cursor.string()
        elif found.begin(cursor, "LOCATION"):
            found.location = cursor.string()
        elif found.begin(cursor, "TBLPROPERTIES"):
            found.properties = properties(cursor)
        else:
            expected = "USING, PARTITIONED BY, COMMENT, LOCATION, TBLPROPERTIES or AS"
            raise cursor.refused("this statement can't be read", expected=expected)
    return found


def drop(cursor: Cursor) -> DropTable:
    """DROP TABLE."""
    cursor.expect("DROP")
    if not cursor.take("TABLE"):
        raise cursor.refused("sql can't drop this", expected=KINDS)
    if_exists = cursor.take("IF", "EXISTS")
    table = cursor.name()
    if cursor.sees("PURGE"):
        raise cursor.refused(
            "only a dropped table can be purged", advice="Drop it, then use catalog.purge_table(…) in Python."
        )
    cursor.end()
    return DropTable(table, if_exists)
