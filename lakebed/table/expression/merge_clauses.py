"""The WHEN clauses of a merge and the columns that its rows are matched by, as given and bound to both schemas."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.assignments import Assignment, bind_assignments
from lakebed.table.expression.build import SPARK, as_stored, as_type
from lakebed.table.expression.expression import ColumnOf, Constant, Expression
from lakebed.table.expression.parse import parse_predicate
from lakebed.table.expression.scope import SOURCE, TARGET, Scope
from lakebed.table.expression.statement_text import as_written
from lakebed.table.expression.types import compared_type, decimal_of
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.tree import bare, chained, names_of, short, sql_tree
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, Decimal, Field, Simple, Type

_MATCHED_BY = "a column, a list of columns, or target.a = source.b, joined by AND"


class When(Enum):
    """The rows that a clause applies to."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class Then(Enum):
    """What a clause does with a row."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class Clause:
    """One WHEN clause. `values` of None sets all columns by name; without `where` it applies to all such rows."""

    when: When
    then: Then
    values: tuple[tuple[str, Any], ...] | None = None
    where: str | Condition | None = None

    def __str__(self) -> str:
        condition = "" if self.where is None else f" AND {as_written(self.where)}"
        return f"WHEN {self.when.value.upper()}{condition} THEN {self.then.value.upper()}"


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause with its names and types resolved; an insert has a value for every column."""

    then: Then
    where: Expression | None
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundClauses:
    """The clauses of a merge for each kind of row, in order: the first whose condition is true decides."""

    matched: tuple[BoundClause, ...]
    not_matched: tuple[BoundClause, ...]
    not_matched_by_source: tuple[BoundClause, ...]

    @property
    def decides_once(self) -> bool:
        """Whether a row of the table may match only one row of the source: with more, its fate would be ambiguous."""
        return decides_once(self.matched)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two columns that are equal where rows match; both expressions have one type."""

    target: Expression
    source: Expression
    column: ColumnOf
    """The table's column itself, whatever type it is compared as."""


def check_clauses(clauses: Sequence[Clause]) -> None:
    """Refuse values that are not clauses, an empty list, and a clause that no row can reach."""
    for clause in clauses:
        if not isinstance(clause, Clause):
            raise Invalid(
                "a merge takes clauses only",
                expected="such as lakebed.when_matched_update()",
                found=f"{clause!r} of type {type(clause).__name__}",
            )
    if not clauses:
        raise Invalid("a merge has no clause", expected="one or more, such as lakebed.when_matched_update()")
    _check_reached(clauses)


def decides_once(matched: Sequence[Clause | BoundClause]) -> bool:
    """Whether these clauses need each row to match only once; not if it is deleted in any case."""
    return bool(matched) and not (len(matched) == 1 and matched[0].then is Then.DELETE and matched[0].where is None)


def bind_clauses(clauses: Sequence[Clause], target: Schema, source: Schema, now: int) -> BoundClauses:
    """Bind the clauses of a merge to the table's schema and its source's.

    Where rows match, `target.x` and `source.x` are their columns; an unmatched row has only its own side's columns.
    `Invalid` names a column that does not exist or does not fit, or a clause that no row can reach.
    """
    check_clauses(clauses)
    schemas = {TARGET: target, SOURCE: source}
    scopes = {
        When.MATCHED: Scope(schemas, now),
        When.NOT_MATCHED: Scope({SOURCE: source}, now),
        When.NOT_MATCHED_BY_SOURCE: Scope({TARGET: target}, now),
    }
    bound: dict[When, list[BoundClause]] = {when: [] for when in When}
    for clause in clauses:
        bound[clause.when].append(_bind(clause, target, source, scopes[clause.when]))
    return BoundClauses(*(tuple(bound[when]) for when in When))


def check_all_in(target: Schema, source: Schema) -> None:
    """Refuse a source without some of the table's columns, for a clause that sets all of them by name."""
    names = {folded_column(name) for name in source.names}
    missing = [field.name for field in target.fields if folded_column(field.name) not in names]
    if missing:
        raise Invalid(
            "a clause without values sets all columns, and some are missing in the source",
            subject=", ".join(missing),
            found=", ".join(source.names),
            advice="Give the clause its values.",
        )


def bind_keys(on: str | Sequence[str], target: Schema, source: Schema) -> tuple[KeyPair, ...]:
    """The pairs of columns that rows are matched by; `Invalid` for anything but equalities of columns."""
    scope = Scope({TARGET: target, SOURCE: source}, 0)
    if not isinstance(on, str):
        return tuple(_same_name(name, scope) for name in _checked_names(on))
    if folded_column(on) in map(folded_column, target.names):
        return (_same_name(on, scope),)
    tree = bare(sql_tree(on))
    names = names_of(tree)
    if names is not None:
        return (_pair(scope.column((TARGET, *names)), scope.column((SOURCE, *names))),)
    parts = [bare(part) for part in (chained(tree) if tree.key == "and" else [tree])]
    return tuple(_equality(part, scope, on) for part in parts)


def key_fields(schema: Schema, on: Sequence[str]) -> tuple[Field, ...]:
    """The columns with these names, to match rows by; `Invalid` for a column that can't be or that comes twice."""
    fields = tuple(_key_field(schema, name) for name in on)
    if len({field.id for field in fields}) < len(fields):
        raise Invalid("a column is named twice", subject=", ".join(on), expected="each column of the key once")
    return fields


def _check_reached(clauses: Sequence[Clause]) -> None:
    finished: set[When] = set()
    for clause in clauses:
        if clause.when in finished:
            raise Invalid(
                "no row can reach this clause: an earlier clause takes all of them",
                subject=str(clause),
                advice="Give the earlier clause a condition, or put it last.",
            )
        if clause.where is None:
            finished.add(clause.when)


def _bind(clause: Clause, target: Schema, source: Schema, scope: Scope) -> BoundClause:
    where = None if clause.where is None else parse_predicate(clause.where, scope)
    match clause.then:
        case Then.DELETE:
            return BoundClause(clause.then, where)
        case Then.UPDATE:
            return BoundClause(clause.then, where, _assignments(clause, target, source, scope))
        case Then.INSERT:
            given = _assignments(clause, target, source, scope)
            return BoundClause(clause.then, where, (*given, *_defaults(target, given)))


def _assignments(clause: Clause, target: Schema, source: Schema, scope: Scope) -> tuple[Assignment, ...]:
    if clause.values is not None:
        return bind_assignments(dict(clause.values), target, scope)
    check_all_in(target, source)
    return tuple(Assignment(field, as_stored(scope.column((SOURCE, field.name)), field)) for field in target.fields)


def _defaults(target: Schema, given: Sequence[Assignment]) -> list[Assignment]:
    """Assignments of the columns without a value: their defaults, else null."""
    named = {assignment.field.name for assignment in given}
    rest = [field for field in target.fields if field.name not in named]
    return [Assignment(field, as_stored(Constant(field.write_default, field.type), field)) for field in rest]


def _checked_names(on: Sequence[str]) -> Sequence[str]:
    if not isinstance(on, Sequence) or not on or not all(isinstance(name, str) for name in on):
        raise Invalid("no columns to match rows by are given", expected=_MATCHED_BY, found=repr(on))
    return on


def _same_name(name: str, scope: Scope) -> KeyPair:
    return _pair(scope.column((TARGET, name)), scope.column((SOURCE, name)))


def _equality(node: object, scope: Scope, on: str) -> KeyPair:
    if getattr(node, "key", "") == "eq":
        names = names_of(bare(node.this)), names_of(bare(node.expression))  # type: ignore[attr-defined]
        if names[0] and names[1]:
            sides = {column.source: column for column in map(scope.column, names)}  # type: ignore[arg-type]
            if sides.keys() == {TARGET, SOURCE}:
                return _pair(sides[TARGET], sides[SOURCE])
    raise Invalid(
        "the local engine matches rows by equal columns only",
        subject=short(on),
        expected=_MATCHED_BY,
        advice=SPARK,
    )


def _pair(target: ColumnOf, source: ColumnOf) -> KeyPair:
    type = _compared_as(target.type, source.type)
    if type is None:
        raise Invalid(
            "two columns can't be compared",
            subject=f"{target} = {source}",
            found=f"{target.type} and {source.type}",
            advice="Cast the source's column first.",
        )
    return KeyPair(as_type(target, type), as_type(source, type), target)


def _compared_as(target: Type, source: Type) -> Type | None:
    type = compared_type(target, source) if isinstance(target, Simple) and isinstance(source, Simple) else None
    if not isinstance(type, Decimal):
        return type
    scales = [decimal.scale for decimal in (decimal_of(target), decimal_of(source)) if decimal is not None]
    return type if type.scale == max(scales) else None  # with fewer digits, different values would become equal


def _key_field(schema: Schema, name: str) -> Field:
    *above, field = schema.way(name)
    if above:
        raise Invalid(
            "rows can't be matched by a column inside a struct",
            subject=name,
            expected="a column of the table",
            advice=f"Use merge(data, 'target.{name} = source.{name}', …).",
        )
    if not isinstance(field.type, Simple) or field.type in (FLOAT, DOUBLE):
        raise Invalid(
            "rows can't be matched by this column",
            subject=name,
            expected="a column of whole numbers, decimals, text, bytes, booleans or times",
            found=str(field.type),
        )
    return field
