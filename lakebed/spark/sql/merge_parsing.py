"""Parses MERGE."""

from dataclasses import replace

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.expressions import Cutter, distinct_names, table_names
from lakebed.spark.sql.names import LakeName, chain_end, lake_name, moment_behind
from lakebed.spark.sql.queries import Query, find_uses
from lakebed.spark.sql.row_parsing import assignments
from lakebed.spark.sql.statements import Merge
from lakebed.spark.sql.tokens import Words, words_of
from lakebed.table.expression.merge_clauses import Clause, Then, When
from lakebed.table.expression.scope import SOURCE, TARGET

_HEAD = "SELECT * FROM "


def merge(cursor: Cursor) -> Merge:
    """MERGE INTO … USING … ON … WHEN …."""
    cursor.expect("MERGE")
    if cursor.sees("WITH"):
        advice = "Change the columns first: table.evolve() in Python."
        raise cursor.refused("a merge does not change columns", expected="INTO", advice=advice)
    cursor.expect("INTO")
    table = cursor.name()
    tables = table_names(table, cursor.alias(), TARGET)
    cursor.expect("USING")
    source, named = _source(cursor)
    cutter = Cutter(distinct_names(tables, named))
    cursor.expect("ON")
    on = cutter.cut(cursor.until("WHEN"))
    clauses = []
    while cursor.word is not None:
        clauses.append(_clause(cursor, cutter))
    if not clauses:
        raise cursor.refused("a merge has no clause", expected="WHEN MATCHED or WHEN NOT MATCHED")
    return Merge(table, source, on, tuple(clauses), tuple(cutter.views))


def _source(cursor: Cursor) -> tuple[Query, dict[tuple[str, ...], str]]:
    """The source as a query, and the names that its columns may have before them."""
    start = cursor.position
    name: LakeName | None = None
    own: tuple[str, ...] = ()
    if cursor.sees("("):
        cursor.inside()
    else:
        begin = cursor.position
        own = cursor.chain("a table, a view or (SELECT …)")
        _, behind = moment_behind(cursor.words, cursor.position)
        name = lake_name(cursor.words, begin, chain_end(cursor.words, begin))
        cursor.position = behind
    end = cursor.position
    alias = cursor.alias()
    if cursor.sees("("):
        raise cursor.refused("the columns of a source can't be renamed here", expected="ON")
    query = _select_all(cursor.words.part(start, end))
    if name is not None:
        return query, table_names(name, alias, SOURCE)
    source_name = alias or (own[0] if own else None)
    return query, {} if source_name is None else {(source_name.casefold(),): SOURCE}


def _select_all(source: Words) -> Query:
    """The query of all rows of a source. It begins at the statement's first words, so that no word moves."""
    blank = source.only()
    text = _HEAD + blank[len(_HEAD) :]
    return find_uses(replace(source, words=(*words_of(_HEAD).words, *source.words)), text)


def _clause(cursor: Cursor, cutter: Cutter) -> Clause:
    cursor.expect("WHEN")
    when = _when(cursor)
    where = cutter.cut(cursor.until("THEN")) if cursor.take("AND") else None
    cursor.expect("THEN")
    if when is not When.NOT_MATCHED and cursor.take("DELETE"):
        return Clause(when, Then.DELETE, None, where)
    if when is not When.NOT_MATCHED and cursor.take("UPDATE"):
        cursor.expect("SET")
        return Clause(when, Then.UPDATE, _updated_values(cursor, when, cutter), where)
    if when is When.NOT_MATCHED and cursor.take("INSERT"):
        return Clause(when, Then.INSERT, _inserted_values(cursor, cutter), where)
    expected = "INSERT" if when is When.NOT_MATCHED else "UPDATE or DELETE"
    raise cursor.refused("this clause can't do that", expected=expected)


def _when(cursor: Cursor) -> When:
    if cursor.take("MATCHED"):
        return When.MATCHED
    cursor.expect("NOT", "MATCHED")
    if cursor.take("BY", "SOURCE"):
        return When.NOT_MATCHED_BY_SOURCE
    cursor.take("BY", "TARGET")
    return When.NOT_MATCHED


def _updated_values(cursor: Cursor, when: When, cutter: Cutter) -> tuple[tuple[str, str], ...] | None:
    if when is When.MATCHED and cursor.take("*"):
        return None
    return assignments(cursor.until("WHEN"), cutter)


def _inserted_values(cursor: Cursor, cutter: Cutter) -> tuple[tuple[str, str], ...] | None:
    if cursor.take("*"):
        return None
    columns: list[str] = []
    for item in cursor.inside().items():
        word = item.word
        columns.append(item.column())
        if columns[-1].casefold() in map(str.casefold, columns[:-1]):
            raise cursor.words.refused("a column is set twice", word, expected="each once")
    cursor.expect("VALUES")
    word = cursor.word
    values = [cutter.cut(item.rest("an expression")) for item in cursor.inside().items()]
    if len(columns) != len(values):
        problem = f"{len(columns)} columns have {len(values)} values"
        raise cursor.words.refused(problem, word, expected=f"{len(columns)} values")
    return tuple(zip(columns, values, strict=True))
