"""DESCRIBE: a table's columns, its details or history, a namespace."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import QUERY, Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.names import NAMESPACE, namespace_name, object_name
from lakebed.spark.sql.objects.show import whole_number


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """The columns of a table or view, or one of them; `extended`, also what else it is."""

    table: LakeName
    extended: bool
    column: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """The commits that changed a table, newest first."""

    table: LakeName
    limit: int | None


@dataclass(frozen=True, slots=True)
class DescribeDetail:
    """A table in one row."""

    table: LakeName


@dataclass(frozen=True, slots=True)
class DescribeNamespace:
    """A namespace; `extended`, with its properties."""

    namespace: LakeName
    extended: bool


def describe(cursor: Cursor) -> DescribeTable | DescribeHistory | DescribeDetail | DescribeNamespace:
    """DESCRIBE of what is not a query; the cursor stands behind the first word."""
    if _takes_kind(cursor, "HISTORY"):
        table = cursor.name()
        limit = whole_number(cursor) if cursor.take("LIMIT") else None
        cursor.end("LIMIT or the end")
        return DescribeHistory(table, limit)
    if _takes_kind(cursor, "DETAIL"):
        table = cursor.name()
        cursor.end()
        return DescribeDetail(table)
    if _takes_kind(cursor, *NAMESPACE):
        extended = cursor.take("EXTENDED")
        namespace = namespace_name(cursor)
        cursor.end()
        return DescribeNamespace(namespace, extended)
    if _takes_kind(cursor, "FUNCTION"):
        raise cursor.refused("functions are the session's", advice="Pass it to spark.sql(…).")
    if _takes_kind(cursor, "CATALOG", "BRANCH", "TAG"):
        raise cursor.refused("sql can't describe this", advice="Use catalog.describe() in Python, or SHOW REFERENCES.")
    return _describe_table(cursor)


def _takes_kind(cursor: Cursor, *keywords: str) -> bool:
    """Whether one of these words comes next, before a name: it may also be a table of that name."""
    behind = cursor.words.words[cursor.position + 1 : cursor.position + 2]
    found = cursor.sees_one(*keywords) and bool(behind) and behind[0].names
    cursor.position += found
    return found


def _describe_table(cursor: Cursor) -> DescribeTable:
    cursor.take("TABLE")
    extended = _takes_kind(cursor, "EXTENDED", "FORMATTED")
    table = object_name(cursor, "a table such as sales.orders")
    column = None if cursor.word is None else cursor.chain("a column")
    cursor.end("a column or the end")
    return DescribeTable(table, extended, column)


def describes_query(cursor: Cursor) -> bool:
    """Whether a query is described."""
    return cursor.take("QUERY") or (cursor.sees_one("(", *QUERY) and not cursor.sees("TABLE"))
