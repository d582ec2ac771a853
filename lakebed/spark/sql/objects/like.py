"""CREATE TABLE … LIKE."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.properties import Pairs, properties


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """An empty table with the columns, layout and properties of another."""

    table: LakeName
    source: LakeName
    properties: Pairs
    location: str | None
    if_not_exists: bool


def create_table_like(cursor: Cursor) -> CreateTableLike | None:
    """CREATE TABLE t LIKE source; None for a CREATE TABLE of another form."""
    start = cursor.position
    cursor.expect("CREATE", "TABLE")
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    is_like = cursor.word is not None and cursor.word.names and bool(cursor.chain("a table")) and cursor.sees("LIKE")
    cursor.position = start
    if not is_like:
        return None
    cursor.expect("CREATE", "TABLE")
    cursor.take("IF", "NOT", "EXISTS")
    table = cursor.name()
    cursor.expect("LIKE")
    source = cursor.name()
    given: Pairs = ()
    location = None
    while cursor.word is not None:
        if not given and cursor.take("TBLPROPERTIES"):
            given = properties(cursor)
        elif location is None and cursor.take("LOCATION"):
            location = cursor.string()
        elif not cursor.take("USING", "LAKEBED"):
            cursor.end("TBLPROPERTIES, LOCATION or the end")
    return CreateTableLike(table, source, given, location, if_not_exists)
