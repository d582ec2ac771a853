"""The WHEN clauses of a merge: which rows they are for, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.assignments import Assignment, bind_assignments
from lakebed.table.expression.build import coerced, stored
from lakebed.table.expression.expression import ColumnOf, Constant, Expression
from lakebed.table.expression.parse import parse_predicate
from lakebed.table.expression.scope import SOURCE, TARGET, Scope
from lakebed.table.expression.types import compared_type, decimal_of
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.tree import bare, chained, names_of, short, sql_tree
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, Decimal, Field, Simple, Type


class When(Enum):
    """Which rows a clause is for."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class Then(Enum):
    """What becomes of a row."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class Clause:
    """One WHEN clause. `values` of None are all columns by name; without `where` it is for all such rows."""

    when: When
    then: Then
    values: tuple[tuple[str, Any], ...] | None = None
    where: str | Condition | None = None

    def __str__(self) -> str:
        condition = "" if self.where is None else f" AND {self.where}"
        return f"WHEN {self.when.value.upper()}{condition} THEN {self.then.value.upper()}"


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause whose names and types are settled; of an insert every column has a value."""

    then: Then
    where: Expression | None
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundClauses:
    """The clauses of a merge for each kind of rows, in their order: the first whose condition is true decides."""

    matched: tuple[BoundClause, ...]
    not_matched: tuple[BoundClause, ...]
    not_matched_by_source: tuple[BoundClause, ...]

    @property
    def decides_once(self) -> bool:
        """Whether a row of the table may meet only one of the source: else it would not be clear what becomes of it."""
        return decides_once(self.matched)


def check_clauses(clauses: Sequence[Clause]) -> None:
    """Refuse what is no clause, none at all, and a clause that no row could reach."""
    for one in clauses:
        if not isinstance(one, Clause):
            raise Invalid(
                "a merge is made of clauses",
                expected="such as lakebed.when_matched_update()",
                found=f"{one!r} of type {type(one).__name__}",
            )
    if not clauses:
        raise Invalid("a merge has no clause", expected="one or more, such as lakebed.when_matched_update()")
    _check_reached(clauses)


def decides_once(matched: Sequence[Clause | BoundClause]) -> bool:
    """Whether clauses for rows that match need a row to match only one; not if it is deleted anyway."""
    return bool(matched) and not (len(matched) == 1 and matched[0].then is Then.DELETE and matched[0].where is None)


def bind_clauses(clauses: Sequence[Clause], target: Schema, source: Schema, now: int) -> BoundClauses:
    """Clauses for a table and for what is merged into it.

    Where rows match, `target.x` and `source.x` are their columns; those of a row that has no other are the only ones.
    `Invalid` names the column that is not there or does not fit, and a clause that no row could reach.
    """
    check_clauses(clauses)
    schemas = {TARGET: target, SOURCE: source}
    scopes = {
        When.MATCHED: Scope(schemas, now),
        When.NOT_MATCHED: Scope({SOURCE: source}, now),
        When.NOT_MATCHED_BY_SOURCE: Scope({TARGET: target}, now),
    }
    bound: dict[When, list[BoundClause]] = {one: [] for one in When}
    for one in clauses:
        bound[one.when].append(_bound(one, target, source, scopes[one.when]))
    return BoundClauses(*(tuple(bound[one]) for one in When))


def _check_reached(clauses: Sequence[Clause]) -> None:
    finished: set[When] = set()
    for one in clauses:
        if one.when in finished:
            raise Invalid(
                "a clause comes after one that leaves no row to it",
                subject=str(one),
                advice="Give the one before it a condition, or put it last.",
            )
        if one.where is None:
            finished.add(one.when)


def _bound(clause: Clause, target: Schema, source: Schema, scope: Scope) -> BoundClause:
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
    return tuple(Assignment(one, stored(scope.column((SOURCE, one.name)), one)) for one in target.fields)


def check_all_in(target: Schema, source: Schema) -> None:
    """Refuse a source that lacks columns where all are taken by name."""
    there = {folded_column(one) for one in source.names}
    missing = [one.name for one in target.fields if folded_column(one.name) not in there]
    if missing:
        raise Invalid(
            "a merge without values sets all columns, and its source lacks some",
            subject=", ".join(missing),
            found=", ".join(source.names),
            advice="Give the clause its values.",
        )


def _defaults(target: Schema, given: Sequence[Assignment]) -> list[Assignment]:
    """What the columns without a value get: their defaults, else null."""
    named = {one.field.name for one in given}
    rest = [one for one in target.fields if one.name not in named]
    return [Assignment(one, stored(Constant(one.write_default, one.type), one)) for one in rest]


_EXPECTED = "a column, a list of columns, or target.a = source.b, joined by AND"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two columns that are equal where rows match; both values are of one type."""

    target: Expression
    source: Expression
    column: ColumnOf
    """The table's column as it is, whatever type it is compared as."""


def bind_keys(on: str | Sequence[str], target: Schema, source: Schema) -> tuple[KeyPair, ...]:
    """The columns that rows are matched by; `Invalid` for anything but equalities of columns."""
    scope = Scope({TARGET: target, SOURCE: source}, 0)
    if not isinstance(on, str):
        return tuple(_named(one, scope) for one in _listed(on))
    if folded_column(on) in map(folded_column, target.names):
        return (_named(on, scope),)
    tree = bare(sql_tree(on))
    names = names_of(tree)
    if names is not None:
        return (_pair(scope.column((TARGET, *names)), scope.column((SOURCE, *names))),)
    parts = [bare(one) for one in (chained(tree) if tree.key == "and" else [tree])]
    return tuple(_equality(one, scope, on) for one in parts)


def _listed(on: Sequence[str]) -> Sequence[str]:
    if not isinstance(on, Sequence) or not on or not all(isinstance(one, str) for one in on):
        raise Invalid("this names no columns to match by", expected=_EXPECTED, found=repr(on))
    return on


def _named(name: str, scope: Scope) -> KeyPair:
    return _pair(scope.column((TARGET, name)), scope.column((SOURCE, name)))


def _equality(node: object, scope: Scope, on: str) -> KeyPair:
    if getattr(node, "key", "") == "eq":
        names = names_of(bare(node.this)), names_of(bare(node.expression))  # type: ignore[attr-defined]
        if names[0] and names[1]:
            sides = {one.source: one for one in map(scope.column, names)}  # type: ignore[arg-type]
            if sides.keys() == {TARGET, SOURCE}:
                return _pair(sides[TARGET], sides[SOURCE])
    raise Invalid(
        "the local engine matches rows by equal columns only",
        subject=short(on),
        expected=_EXPECTED,
        advice="The local engine can not: read with Spark, change the rows there, and overwrite.",
    )


def _pair(target: ColumnOf, source: ColumnOf) -> KeyPair:
    type = _common(target.type, source.type)
    if type is None:
        raise Invalid(
            "two columns can't be compared",
            subject=f"{target} = {source}",
            found=f"{target.type} and {source.type}",
            advice="Cast the source's column first.",
        )
    return KeyPair(coerced(target, type), coerced(source, type), target)


def _common(target: Type, source: Type) -> Type | None:
    type = compared_type(target, source) if isinstance(target, Simple) and isinstance(source, Simple) else None
    if not isinstance(type, Decimal):
        return type
    scales = [one.scale for one in (decimal_of(target), decimal_of(source)) if one is not None]
    return type if type.scale == max(scales) else None  # else different values would become equal


def key_fields(schema: Schema, on: Sequence[str]) -> tuple[Field, ...]:
    """The columns that rows are matched by; `Invalid` for one that can't be, or that comes twice."""
    fields = tuple(_key_field(schema, name) for name in on)
    if len({one.id for one in fields}) < len(fields):
        raise Invalid("a column is named twice", subject=", ".join(on), expected="each column of the key once")
    return fields


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
