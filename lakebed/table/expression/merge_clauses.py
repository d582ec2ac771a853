"""The WHEN clauses of a merge: which rows they are for, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.expression.assignments import Assignment, bind_assignments
from lakebed.table.expression.build import stored
from lakebed.table.expression.expression import Constant, Expression
from lakebed.table.expression.parse import parse_predicate
from lakebed.table.expression.scope import SOURCE, TARGET, Scope
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column


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
