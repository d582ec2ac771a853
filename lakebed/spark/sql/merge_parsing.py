"""Parses MERGE."""

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.expressions import Cutter, distinct_names, table_names
from lakebed.spark.sql.row_parsing import assignments, value
from lakebed.spark.sql.source_parsing import source
from lakebed.spark.sql.statements import Assigned, Merge, MergeClause
from lakebed.table.expression.merge_clauses import Then, When
from lakebed.table.expression.scope import TARGET


def merge(cursor: Cursor) -> Merge:
    """MERGE INTO … USING … ON … WHEN …."""
    cursor.expect("MERGE")
    evolves = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    table = cursor.name()
    tables = table_names(table, cursor.alias(), TARGET)
    cursor.expect("USING")
    rows, named = source(cursor, "ON")
    cutter = Cutter.of(cursor.words, table, distinct_names(tables, named))
    cursor.expect("ON")
    on = cutter.cut(cursor.until("WHEN"))
    clauses = []
    while cursor.word is not None:
        clauses.append(_clause(cursor, cutter))
    if not clauses:
        raise cursor.refused("a merge has no clause", expected="WHEN MATCHED or WHEN NOT MATCHED")
    return Merge(table, rows, on, tuple(clauses), tuple(cutter.views), evolves)


def _clause(cursor: Cursor, cutter: Cutter) -> MergeClause:
    cursor.expect("WHEN")
    when = _when(cursor)
    where = cutter.cut(cursor.until("THEN")) if cursor.take("AND") else None
    cursor.expect("THEN")
    if when is not When.NOT_MATCHED and cursor.take("DELETE"):
        return MergeClause(when, Then.DELETE, None, where)
    if when is not When.NOT_MATCHED and cursor.take("UPDATE"):
        cursor.expect("SET")
        return MergeClause(when, Then.UPDATE, _updated_values(cursor, when, cutter), where)
    if when is When.NOT_MATCHED and cursor.take("INSERT"):
        return MergeClause(when, Then.INSERT, _inserted_values(cursor, cutter), where)
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


def _updated_values(cursor: Cursor, when: When, cutter: Cutter) -> Assigned | None:
    if when is When.MATCHED and cursor.take("*"):
        return None
    return assignments(cursor.until("WHEN"), cutter)


def _inserted_values(cursor: Cursor, cutter: Cutter) -> Assigned | None:
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
    values = [value(item, cutter) for item in cursor.inside().items()]
    if len(columns) != len(values):
        problem = f"{len(columns)} columns have {len(values)} values"
        raise cursor.words.refused(problem, word, expected=f"{len(columns)} values")
    return tuple(((column,), given) for column, given in zip(columns, values, strict=True))
