"""Evaluating expressions on rows in memory, a column at a time.

Parts that SQL does not evaluate for a row are not evaluated for it here either: an error there would be wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast as typing_cast

import numpy
import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.arithmetic import calculate, extreme, negate, rounded, unsigned, whole
from lakebed.arrow.expression.casts import cast
from lakebed.arrow.expression.compare import among, compare, equal
from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.expression.pushed import PushedTest
from lakebed.arrow.expression.text import concatenate, length, lower, matches, substring, trimmed, upper
from lakebed.arrow.types import is_uuid, kernel_type
from lakebed.table.expression.expression import (
    VOID,
    AllTrue,
    AnyTrue,
    Call,
    Case,
    Cast,
    Coalesce,
    ColumnOf,
    Compared,
    Constant,
    Expression,
    Function,
    Matches,
    OneOf,
    columns_of,
)
from lakebed.table.expression.scope import ROWS
from lakebed.table.expression.types import UUID_LENGTH
from lakebed.table.filter.filter import ALWAYS, Filter, Predicate, predicates_of, without_predicates
from lakebed.table.types.types import UUID, Fixed, Type, children_of, with_children

_DIVISIONS = (Function.DIVIDE, Function.REMAINDER)
_STRICT = (Function.ADD, Function.SUBTRACT, Function.MULTIPLY, Function.CONCAT)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one or more sources, side by side; each source has `count` rows."""

    batches: Mapping[str, pyarrow.RecordBatch]
    count: int

    def filter(self, mask: pyarrow.Array) -> "Rows":
        """The rows for which the mask, which has no nulls, is true."""
        batches = {name: batch.filter(mask) for name, batch in self.batches.items()}
        return Rows(batches, compute.sum(mask, min_count=0).as_py())


def evaluate(expression: Expression, rows: Rows) -> pyarrow.Array:
    """The values of an expression, one for each row; `Invalid` names the part that fails for a row."""
    wanted: dict[str, dict[str, Type]] = {name: {} for name in rows.batches}
    for column in columns_of(expression):
        wanted[column.source][column.way[0].name] = column.way[0].type
    # A source without a column to read is left out: a batch of Arrow's without columns has no rows to filter.
    read = {name: _readable(rows.batches[name], columns) for name, columns in wanted.items() if columns}
    return _values(expression, Rows(read, rows.count))


def passing_rows(filter: Filter, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """The rows that pass a filter whose columns they have."""
    return where_true(batch, passing_mask(filter, batch))


def passing_mask(filter: Filter, batch: pyarrow.RecordBatch) -> pyarrow.BooleanArray:
    """Which rows pass a filter whose columns they have; predicates are evaluated on rows that pass the rest."""
    plain, predicates = without_predicates(filter), predicates_of(filter)
    if plain != ALWAYS:
        mask = filter_mask(plain, batch)
    else:
        mask = _holds(predicates[0], batch) if predicates else pyarrow.repeat(True, batch.num_rows)
        predicates = predicates[1:]
    for predicate in predicates:
        mask = compute.replace_with_mask(mask, mask, _holds(predicate, where_true(batch, mask)))
    return mask


def where_true(rows: pyarrow.RecordBatch, mask: pyarrow.BooleanArray) -> pyarrow.RecordBatch:
    """The rows for which a mask without nulls is true."""
    # A batch without columns has a number of rows, which Arrow's filter forgets.
    return rows.filter(mask) if rows.num_columns else rows.slice(0, mask.true_count)


def _holds(predicate: Predicate, rows: pyarrow.RecordBatch) -> pyarrow.BooleanArray:
    if isinstance(predicate.expression, PushedTest):
        return predicate.expression.mask(rows)
    holds = evaluate(typing_cast("Expression", predicate.expression), Rows({ROWS: rows}, rows.num_rows))
    return holds.fill_null(False)


def _readable(batch: pyarrow.RecordBatch, columns: Mapping[str, Type]) -> pyarrow.RecordBatch:
    """Some columns, in the layouts that kernels take for their types."""
    arrays = [for_kernels(batch.column(name), type) for name, type in columns.items()]
    return pyarrow.RecordBatch.from_arrays(arrays, [*columns])


def for_kernels(column: pyarrow.Array, type: Type) -> pyarrow.Array:
    """A column in the layout that kernels take for its type."""
    if is_uuid(column.type):
        return column.storage
    wanted = arrow_type(type)
    if pyarrow.types.is_nested(wanted) or column.type == wanted:
        return column
    return column.cast(wanted)  # text in another layout, a shorter int: `schema_of` treats them as the same type


def arrow_type(type: Type) -> pyarrow.DataType:
    """The type of values during evaluation: UUIDs are bytes, inside other types too."""
    return pyarrow.null() if type == VOID else kernel_type(_without_uuids(type))


def _without_uuids(type: Type) -> Type:
    """The type with bytes for UUIDs: Arrow makes no arrays of types that have extensions inside (pyarrow 26)."""
    if type == UUID:
        return Fixed(UUID_LENGTH)
    return with_children(type, tuple(replace(child, type=_without_uuids(child.type)) for child in children_of(type)))


def _values(expression: Expression, rows: Rows) -> pyarrow.Array:
    match expression:
        case Constant(value, type):
            return _repeated(value, arrow_type(type), rows.count)
        case ColumnOf():
            return _column(expression, rows)
        case Call(function, arguments):
            return _CALLS[function](expression, _arguments(expression, arguments, rows))
        case Compared(operator, left, right):
            return compare(operator, *_until_null([left, right], rows))
        case OneOf(value, options):
            return _one_of(_values(value, rows), options, rows)
        case Matches(value, pattern):
            return matches(_values(value, rows), pattern)
        case Cast(value):
            return cast(expression, _values(value, rows), arrow_type(expression.type))
        case _:
            return _lazy(expression, rows)


def _arguments(call: Call, arguments: Sequence[Expression], rows: Rows) -> list[pyarrow.Array]:
    if call.function in _DIVISIONS:  # Spark evaluates the divisor first
        return _until_null(arguments[::-1], rows)[::-1]
    if call.function in _STRICT:
        return _until_null(arguments, rows)
    return [_values(argument, rows) for argument in arguments]


def _until_null(arguments: Sequence[Expression], rows: Rows) -> list[pyarrow.Array]:
    """The values of arguments, each evaluated only where none before it is null: there the result is null anyway."""
    values, known = [], pyarrow.repeat(True, rows.count)
    for argument in arguments:
        values.append(_where(argument, rows, known))
        known = compute.and_(known, compute.is_valid(values[-1]))
    return values


def _one_of(value: pyarrow.Array, options: Sequence[Expression], rows: Rows) -> pyarrow.Array:
    constants = [option.value for option in options if isinstance(option, Constant)]
    is_one = among(value, pyarrow.array(constants, value.type))
    for option in options:
        if not isinstance(option, Constant):
            is_one = compute.or_kleene(is_one, equal(value, _values(option, rows)))
    return is_one


def _repeated(value: object, type: pyarrow.DataType, count: int) -> pyarrow.Array:
    if value is None:
        return pyarrow.nulls(count, type)
    # By `take`, since pyarrow 26 has no scalars of maps.
    return pyarrow.array([value], type).take(pyarrow.array(numpy.zeros(count, numpy.int64)))


def _column(column: ColumnOf, rows: Rows) -> pyarrow.Array:
    values = rows.batches[column.source].column(column.way[0].name)
    for field in column.way[1:]:
        values = compute.struct_field(values, field.name)  # null where the struct is
    return for_kernels(values, column.type)


_Calculation = Callable[[Call, Sequence[pyarrow.Array]], pyarrow.Array]

_CALLS: dict[Function, _Calculation] = {
    Function.ADD: calculate,
    Function.SUBTRACT: calculate,
    Function.MULTIPLY: calculate,
    Function.DIVIDE: calculate,
    Function.REMAINDER: calculate,
    Function.NEGATE: negate,
    Function.ABS: unsigned,
    Function.ROUND: rounded,
    Function.FLOOR: whole,
    Function.CEIL: whole,
    Function.GREATEST: extreme,
    Function.LEAST: extreme,
    Function.CONCAT: lambda _, values: concatenate(values),
    Function.UPPER: lambda _, values: upper(values[0]),
    Function.LOWER: lambda _, values: lower(values[0]),
    Function.TRIM: lambda call, values: trimmed(call.function, values[0]),
    Function.LTRIM: lambda call, values: trimmed(call.function, values[0]),
    Function.RTRIM: lambda call, values: trimmed(call.function, values[0]),
    Function.LENGTH: lambda _, values: length(values[0]),
    Function.SUBSTRING: lambda _, values: substring(*values),
    Function.NOT: lambda _, values: compute.invert(values[0]),
    Function.IS_NULL: lambda _, values: compute.is_null(values[0]),
    Function.IS_NAN: lambda _, values: compute.is_nan(values[0]).fill_null(False),
    Function.SAME: lambda _, values: _same(*values),
}


def _same(left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
    both_null = compute.and_(compute.is_null(left), compute.is_null(right))
    return compute.or_(equal(left, right).fill_null(False), both_null)


def _lazy(expression: AllTrue | AnyTrue | Case | Coalesce, rows: Rows) -> pyarrow.Array:
    match expression:
        case AllTrue(parts):
            holds = _values(parts[0], rows)
            for part in parts[1:]:
                holds = compute.and_kleene(holds, _where(part, rows, holds.fill_null(True)))
            return holds
        case AnyTrue(parts):
            holds = _values(parts[0], rows)
            for part in parts[1:]:
                holds = compute.or_kleene(holds, _where(part, rows, compute.invert(holds.fill_null(False))))
            return holds
        case Case():
            return _case(expression, rows)
        case Coalesce(parts):
            return _coalesce(parts, rows)


def _case(case: Case, rows: Rows) -> pyarrow.Array:
    pending = pyarrow.repeat(True, rows.count)
    chosen, values = [], []
    for branch in case.branches:
        holds = _where(branch.condition, rows, pending).fill_null(False)
        chosen.append(holds)
        values.append(_where(branch.value, rows, holds))
        pending = compute.and_not(pending, holds)
    return _picked([*chosen, pending], [*values, _where(case.otherwise, rows, pending)])


def _coalesce(parts: Sequence[Expression], rows: Rows) -> pyarrow.Array:
    pending = pyarrow.repeat(True, rows.count)
    chosen, values = [], []
    for part in parts:
        part_values = _where(part, rows, pending)
        holds = compute.and_(pending, compute.is_valid(part_values))
        chosen.append(holds)
        values.append(part_values)
        pending = compute.and_not(pending, holds)
    return _picked([*chosen, pending], [*values, values[0]])


def _where(expression: Expression, rows: Rows, mask: pyarrow.Array) -> pyarrow.Array:
    """The values where the mask, which has no nulls, is true, evaluated only there; null elsewhere."""
    asked = compute.sum(mask, min_count=0).as_py()
    if asked == rows.count:
        return _values(expression, rows)
    if asked == 0:
        return pyarrow.nulls(rows.count, arrow_type(expression.type))
    values = _values(expression, rows.filter(mask))
    places = compute.subtract(compute.cumulative_sum(mask.cast(pyarrow.int64())), 1)
    return values.take(compute.if_else(mask, places, pyarrow.scalar(None, pyarrow.int64())))


def _picked(masks: Sequence[pyarrow.Array], values: Sequence[pyarrow.Array]) -> pyarrow.Array:
    """The values of several columns where their masks are true: in each row one mask is."""
    count = len(masks[0])
    column = numpy.zeros(count, numpy.int64)
    for index, mask in enumerate(masks):
        column[mask.to_numpy(zero_copy_only=False)] = index
    return pyarrow.concat_arrays(values).take(pyarrow.array(column * count + numpy.arange(count)))
