"""Filters that other engines push down as Arrow expressions, as filters to prune by.

The filter keeps every row for which the expression is true, and perhaps more: the expression itself is evaluated
afterwards. What is not known here keeps all rows. Engines disagree on NaN, so that rows with NaN are always kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import pyarrow
import pyarrow.compute as compute
import pyarrow.types as arrow

from lakebed.arrow.expression.tree import Call, Column, Literal, Node, columns_of, tree_of
from lakebed.arrow.transforms import plain_value
from lakebed.arrow.types import kernel_type
from lakebed.errors import Invalid
from lakebed.table.filter.bind import TERMS
from lakebed.table.filter.filter import (
    ALWAYS,
    NEVER,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    NotNull,
    OneOf,
    Operator,
    Value,
    all_of,
    any_of,
    leaves_of,
)
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BOOLEAN, DOUBLE, FLOAT, UUID, Field, List, Map, Struct, Way

_OPERATORS = {
    "equal": Operator.EQUAL,
    "not_equal": Operator.NOT_EQUAL,
    "less": Operator.LESS,
    "less_equal": Operator.LESS_OR_EQUAL,
    "greater": Operator.GREATER,
    "greater_equal": Operator.GREATER_OR_EQUAL,
}
_FAMILIES = (
    arrow.is_boolean,
    arrow.is_integer,
    arrow.is_floating,
    arrow.is_decimal,
    lambda type: arrow.is_string(type) or arrow.is_large_string(type) or arrow.is_string_view(type),
    lambda type: arrow.is_binary(type) or arrow.is_large_binary(type) or arrow.is_binary_view(type),
    arrow.is_date32,
    arrow.is_time64,
    lambda type: arrow.is_timestamp(type) and type.tz is None,
    lambda type: arrow.is_timestamp(type) and type.tz is not None,
)
"""Types that are compared with one another by their values; anything else is left to Arrow."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What an expression keeps, the columns that it needs, None if that is not known, and how rows are tested."""

    filter: Filter
    columns: frozenset[str] | None
    test: "PushedTest"


def pushed_filter(expression: compute.Expression, schema: Schema) -> Pushed:
    """A filter that keeps every row for which the expression is true."""
    tree = tree_of(expression)
    if tree is None:
        return Pushed(ALWAYS, None, PushedTest(expression, None))
    filter = _Translation(schema).where(tree, True)
    if sum(1 for _ in leaves_of(filter)) > TERMS:
        filter = ALWAYS
    return Pushed(filter, frozenset(columns_of(tree)), PushedTest(expression, tree))


@dataclass(frozen=True, slots=True)
class PushedTest:
    """An expression that rows are tested by, and its parts if they are known."""

    expression: compute.Expression
    tree: Node | None

    def mask(self, rows: pyarrow.RecordBatch) -> pyarrow.BooleanArray:
        """For which rows it is true."""
        found = None if self.tree is None else _by_kernels(self.tree, rows)
        holds = _by_plan(self.expression, rows) if found is None else found
        return holds.fill_null(False) if holds.null_count else holds


def _by_kernels(node: Node, rows: pyarrow.RecordBatch) -> pyarrow.Array | None:
    """An expression of plain comparisons; None for any other, as Arrow casts what it compares in ways of its own."""
    match node:
        case Column((name,)) if arrow.is_boolean(rows.column(name).type):
            return rows.column(name)
        case Call("is_valid", (Column((name,)),)):
            return rows.column(name).is_valid()
        case Call("and_kleene" | "or_kleene" | "invert" as function, arguments):
            inner = [_by_kernels(one, rows) for one in arguments]
            return None if any(one is None for one in inner) else compute.call_function(function, inner)
        case Call(function, (Column((name,)), Literal(value))) if function in _OPERATORS:
            column = rows.column(name)
            return compute.call_function(function, [column, value]) if column.type == value.type else None
    return None


def _by_plan(expression: compute.Expression, rows: pyarrow.RecordBatch) -> pyarrow.Array:
    """For which rows an expression is true, or null.

    Arrow has no call for it but a plan. Filtering by the expression would copy the columns, and evaluate it again for
    others.
    """
    import pyarrow.acero as acero  # here, since it loads pandas, which takes 0.4 s

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(pyarrow.Table.from_batches([rows])))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["holds"]), [source])
    return project.to_table(use_threads=False).column("holds").combine_chunks()


@dataclass(frozen=True, slots=True)
class _Translation:
    schema: Schema

    def where(self, node: Node, wanted: bool) -> Filter:
        """A filter that keeps the rows for which the expression is true, or false, as wanted."""
        match node:
            case Call("and" | "and_kleene", arguments):
                return _joined([self.where(one, wanted) for one in arguments], is_all=wanted)
            case Call("or" | "or_kleene", arguments):
                return _joined([self.where(one, wanted) for one in arguments], is_all=not wanted)
            case Call("invert", (inner,)):
                return self.where(inner, not wanted)
            case Call("if_else", (condition, then, otherwise)):
                first = all_of([self.where(condition, True), self.where(then, wanted)])
                return any_of([first, all_of([self.where(condition, False), self.where(otherwise, wanted)])])
            case Literal(value):
                return ALWAYS if value.as_py() is wanted else NEVER
            case Column() if (way := self._way(node)) is not None and way[-1].type == BOOLEAN:
                return Comparison(way[-1], Operator.EQUAL, wanted, inside=way[:-1])
            case Call("is_valid", (Column() as column,)):
                return self._null(column, not wanted)
            case Call("is_null", (Column() as column,), options) if not _has(options, "nan_is_null"):
                return self._null(column, wanted)
            case Call("is_in", (Column() as column,), options) if wanted and options is not None:
                return self._one_of(column, options)
            case Call(name, (Column() as column, Literal(value))) if name in _OPERATORS:
                return self._compared(column, _OPERATORS[name], value, wanted)
            case Call(name, (Literal(value), Column() as column)) if name in _OPERATORS:
                return self._compared(column, _OPERATORS[name].mirrored, value, wanted)
        return ALWAYS

    def _compared(self, column: Column, operator: Operator, literal: pyarrow.Scalar, wanted: bool) -> Filter:
        if not literal.is_valid:
            return NEVER  # unknown for every row
        way = self._way(column)
        value = None if way is None else _value_of(literal, way[-1])
        if way is None or value is None:
            return ALWAYS
        sign = operator if wanted else operator.negated
        return any_of([Comparison(way[-1], sign, value, inside=way[:-1]), *_nan(way)])

    def _one_of(self, column: Column, options: pyarrow.Scalar) -> Filter:
        way = self._way(column)
        if way is None:
            return ALWAYS
        listed = list(options["value_set"].values)
        values = [_value_of(one, way[-1]) for one in listed if one.is_valid]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return ALWAYS
        nulls = [IsNull(way[-1], inside=way[:-1])] if len(values) < len(listed) else []
        return any_of([OneOf(way[-1], tuple(known), inside=way[:-1]), *nulls, *_nan(way)])

    def _null(self, column: Column, is_null: bool) -> Filter:
        way = self._way(column)
        if way is None:
            return ALWAYS
        return (IsNull if is_null else NotNull)(way[-1], inside=way[:-1])

    def _way(self, column: Column) -> Way | None:
        """The column, by its exact name; None if it can't be tested by a filter."""
        try:
            way = self.schema.way(column.names)
        except Invalid:
            return None
        is_exact = tuple(field.name for field in way) == column.names
        is_plain = all(isinstance(field.type, Struct) for field in way[:-1])
        return way if is_exact and is_plain and not isinstance(way[-1].type, Struct | List | Map) else None


def _joined(parts: list[Filter], is_all: bool) -> Filter:
    return all_of(parts) if is_all else any_of(parts)


def _nan(way: Way) -> Iterator[Filter]:
    if way[-1].type in (FLOAT, DOUBLE):
        yield IsNan(way[-1], inside=way[:-1])


def _has(options: pyarrow.Scalar | None, name: str) -> bool:
    return options is not None and bool(options[name].as_py())


def _value_of(literal: pyarrow.Scalar, field: Field) -> Value | None:
    """A literal as exactly a value of the column; None if it is not one, or not comparable with the column."""
    form = kernel_type(field.type)
    if field.type == UUID or not any(family(literal.type) and family(form) for family in _FAMILIES):
        return None
    try:
        value = literal.cast(form)
    except pyarrow.ArrowException:
        return None
    plain = plain_value(value, field.type)
    if isinstance(plain, float) and (isnan(plain) or plain != literal.as_py()):
        return None
    return plain
