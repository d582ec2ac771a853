"""Which changes of rows could leave two rows with one primary key: all others need not look for keys."""

from collections.abc import Iterable, Sequence

from lakebed.errors import Invalid
from lakebed.table.expression.expression import Cast, ColumnOf, Expression
from lakebed.table.expression.merge_clauses import Clause, KeyPair, Then, When, bind_keys
from lakebed.table.expression.parse import parse_expression
from lakebed.table.expression.scope import SOURCE, TARGET, Scope
from lakebed.table.expression.types import WHOLE
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

_Paired = dict[str, ColumnOf]
"""By the table's column, the source's column that is equal where rows match."""


def sets_key(schema: Schema, names: Iterable[str]) -> bool:
    """Whether one of these columns is in the primary key, or has a part of it inside."""
    return not {folded_column(name) for name in names}.isdisjoint(_key_columns(schema))


def is_part_of_key(schema: Schema, names: Iterable[str]) -> bool:
    """Whether the primary key has all of these columns: rows that differ in them have different keys."""
    return {folded_column(name) for name in names} <= {folded_column(name) for name in schema.key}


def merge_keeps_keys(on: str | Sequence[str], clauses: Sequence[Clause], target: Schema, source: Schema) -> bool:
    """Whether a merge can't give a row the key of another row of the table, for any source without repeated keys.

    That is so if rows match by columns of the key, new rows take these columns from the source, and updated rows keep
    theirs.
    """
    paired = _paired(on, target, source)
    return paired is not None and all(_keeps_keys(clause, paired, target, source) for clause in clauses)


def _key_columns(schema: Schema) -> set[str]:
    return {folded_column(schema.way_by_id(id)[0].name) for id in schema.identifier_ids}


def _paired(on: str | Sequence[str], target: Schema, source: Schema) -> _Paired | None:
    """The columns that rows match by; None if there are others than equal columns of one kind."""
    try:
        pairs = bind_keys(on, target, source)
    except Invalid:
        return None  # a condition of Spark's, or one that the merge will refuse
    if not all(map(_is_exact, pairs)):
        return None
    return {folded_column(pair.column.way[0].name): _column(pair.source) for pair in pairs}


def _is_exact(pair: KeyPair) -> bool:
    """Whether the source's value is stored as the value that was compared."""
    ours, theirs = pair.column, _column(pair.source)
    is_same = ours.type == theirs.type or (ours.type in WHOLE and theirs.type in WHOLE)
    return is_same and len(ours.way) == len(theirs.way) == 1


def _column(expression: Expression) -> ColumnOf:
    while isinstance(expression, Cast):
        expression = expression.value
    assert isinstance(expression, ColumnOf), "keys are columns"
    return expression


def _keeps_keys(clause: Clause, paired: _Paired, target: Schema, source: Schema) -> bool:
    match clause.then:
        case Then.DELETE:
            return True
        case Then.UPDATE:
            names = _key_columns(target) & _names_set(clause, target)
            return all(_takes_pair(name, clause, paired, target, source) for name in names)
        case Then.INSERT:
            is_by_key = paired.keys() <= {folded_column(name) for name in target.key}
            return is_by_key and all(_takes_pair(name, clause, paired, target, source) for name in paired)


def _names_set(clause: Clause, target: Schema) -> set[str]:
    names = target.names if clause.values is None else [name for name, _ in clause.values]
    return set(map(folded_column, names))


def _takes_pair(name: str, clause: Clause, paired: _Paired, target: Schema, source: Schema) -> bool:
    """Whether a clause sets a column to the source's column that it equals where rows match."""
    if name not in paired or clause.when is When.NOT_MATCHED_BY_SOURCE:
        return False
    if clause.values is None:
        return folded_column(paired[name].way[0].name) == name
    given = {folded_column(column): value for column, value in clause.values}.get(name)
    schemas = {SOURCE: source} if clause.when is When.NOT_MATCHED else {TARGET: target, SOURCE: source}
    try:
        return isinstance(given, str) and parse_expression(given, Scope(schemas, 0)) == paired[name]
    except Invalid:
        return False  # an expression of Spark's, or one that the merge will refuse
