"""Parses the rows that a table is changed by: the source of MERGE … USING, DELETE … USING and UPDATE … FROM."""

from dataclasses import replace

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.expressions import table_names
from lakebed.spark.sql.names import LakeName, chain_end, lake_name, moment_behind
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.tokens import Words, words_of
from lakebed.table.expression.scope import SOURCE

_HEAD = "SELECT * FROM "


def source(cursor: Cursor, behind: str) -> tuple[Query, dict[tuple[str, ...], str]]:
    """The source as a query, and the names that its columns may have before them; `behind` is the next keyword."""
    start = cursor.position
    name: LakeName | None = None
    own: tuple[str, ...] = ()
    if cursor.sees("("):
        cursor.inside()
    else:
        begin = cursor.position
        own = cursor.chain("a table, a view or (SELECT …)")
        _, end_of_moment = moment_behind(cursor.words, cursor.position)
        name = lake_name(cursor.words, begin, chain_end(cursor.words, begin))
        cursor.position = end_of_moment
    end = cursor.position
    alias = cursor.alias()
    if alias is not None and cursor.sees("("):  # other names for its columns
        cursor.inside()
        end = cursor.position
    if cursor.sees(","):
        raise cursor.refused("a change has one source", expected=behind, advice="Join the tables in (SELECT …).")
    query = _select_all(cursor.words.part(start, end))
    if name is not None:
        return query, table_names(name, alias, SOURCE)
    source_name = alias or (own[0] if own else None)
    return query, {} if source_name is None else {(source_name.casefold(),): SOURCE}


def _select_all(given: Words) -> Query:
    """The query of all rows of a source. It begins at the statement's first words, so that no word moves."""
    text = _HEAD + given.only()[len(_HEAD) :]
    return find_uses(replace(given, words=(*words_of(_HEAD).words, *given.words)), text)
