"""What a merge matches rows by: pairs of columns that are equal, one of the table and one of the source."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.table.expression.build import coerced
from lakebed.table.expression.expression import ColumnOf, Expression
from lakebed.table.expression.scope import SOURCE, TARGET, Scope
from lakebed.table.expression.types import compared_type, decimal_of
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.tree import bare, chained, names_of, short, sql_tree
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import DOUBLE, FLOAT, Decimal, Field, Simple, Type

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
