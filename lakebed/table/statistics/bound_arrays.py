"""Bounds of many files at once: a column of Iceberg's single-value bytes as values that compare without Python.

Bytes of fixed width are read where they lie in Arrow's buffers; text is compared as bytes, whose order is that of its
code points.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy
import pyarrow
import pyarrow.compute

from lakebed.errors import Corrupt
from lakebed.table.filter.filter import Operator, Value
from lakebed.table.types.types import BINARY, STRING, Decimal, Fixed, Primitive, Type
from lakebed.table.types.values import decode_bound, unscaled

Mask = numpy.ndarray[Any, numpy.dtype[numpy.bool_]]
Numeric = numpy.ndarray[Any, Any]

# By the width of the bytes, the widest first: the narrower ones were written before the column was widened.
_LAYOUTS: Final[dict[str, dict[int, str]]] = {
    "boolean": {1: "u1"},
    "int": {4: "<i4"},
    "long": {8: "<i8", 4: "<i4"},
    "float": {4: "<f4"},
    "double": {8: "<f8", 4: "<f4"},
    "date": {4: "<i4"},
    **{name: {8: "<i8"} for name in ("time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")},
}
_TEXT: Final = frozenset({"string", "binary", "uuid"})

_NUMPY: Final[dict[Operator, Callable[[Any, Any], Mask]]] = {
    Operator.EQUAL: numpy.equal,
    Operator.LESS: numpy.less,
    Operator.LESS_OR_EQUAL: numpy.less_equal,
    Operator.GREATER: numpy.greater,
    Operator.GREATER_OR_EQUAL: numpy.greater_equal,
}
_ARROW: Final[dict[Operator, Callable[[Any, Any], Any]]] = {
    Operator.EQUAL: pyarrow.compute.equal,
    Operator.LESS: pyarrow.compute.less,
    Operator.LESS_OR_EQUAL: pyarrow.compute.less_equal,
    Operator.GREATER: pyarrow.compute.greater,
    Operator.GREATER_OR_EQUAL: pyarrow.compute.greater_equal,
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Bounds that numpy compares. `known` is None if all are; `comparable` makes a number of a plain value."""

    values: Numeric
    known: Mask | None
    comparable: Callable[[Any], Any]

    def holds(self, operator: Operator, value: Value) -> Mask:
        """Where a bound is known and compares so with the value."""
        found = self._compared(operator, value)
        return found if self.known is None else found & self.known

    def may_hold(self, operator: Operator, value: Value) -> Mask:
        """Where a bound compares so with the value, or is not known."""
        found = self._compared(operator, value)
        return found if self.known is None else found | ~self.known

    def at(self, rows: Numeric) -> "Numbers":
        """The bounds of these rows."""
        return Numbers(self.values[rows], None if self.known is None else self.known[rows], self.comparable)

    def _compared(self, operator: Operator, value: Value) -> Mask:
        return _NUMPY[operator](self.values, self.comparable(value)).astype(
            bool, copy=False
        )  # of objects they are objects


@dataclass(frozen=True, slots=True)
class Texts:
    """Bounds of text or bytes, as an Arrow array of bytes; null is unknown."""

    values: pyarrow.Array

    def holds(self, operator: Operator, value: Value) -> Mask:
        """Where a bound is known and compares so with the value."""
        return _mask(self._compared(operator, value))

    def may_hold(self, operator: Operator, value: Value) -> Mask:
        """Where a bound compares so with the value, or is not known."""
        return _mask(self._compared(operator, value).fill_null(True))

    def starts_with(self, prefix: str) -> Mask:
        """Where a bound is known and begins so."""
        return _mask(pyarrow.compute.starts_with(self.values, self.comparable(prefix)))

    def passes(self, rows: Mask, test: Callable[[str], bool]) -> Mask:
        """Of these rows, all of which have a bound, those whose text passes; each distinct one is looked at once."""
        places = numpy.flatnonzero(rows)
        encoded = self.values.take(pyarrow.array(places)).dictionary_encode()
        answers = numpy.array([test(one.decode()) for one in encoded.dictionary.to_pylist()], bool)
        found = numpy.zeros(len(rows), bool)
        found[places] = answers[encoded.indices.to_numpy()]
        return found

    def same(self, other: "Texts") -> Mask:
        """Where both are known and equal."""
        return _mask(pyarrow.compute.equal(self.values, other.values))

    def at(self, rows: Numeric) -> "Texts":
        """The bounds of these rows."""
        return Texts(self.values.take(pyarrow.array(rows)))

    @staticmethod
    def comparable(value: Any) -> bytes:
        # Python orders lone surrogates, which UTF-8 does not have, by their code points too.
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)

    def _compared(self, operator: Operator, value: Value) -> Any:
        return _ARROW[operator](self.values, pyarrow.scalar(self.comparable(value), self.values.type))


Bounds = Numbers | Texts


def bounds_of(type: Type, column: pyarrow.Array) -> Bounds | None:
    """A column of bounds of this type, as bytes; None for a type that has no order here.

    They are the values that `decode_bound` gives one by one, and `Corrupt` where it is; a NaN is no bound.
    """
    if isinstance(type, Decimal):
        return _decimals(type, column)
    if isinstance(type, Fixed) or (isinstance(type, Primitive) and type.name in _TEXT):
        return Texts(_checked(type, column))
    return _numbers(type, column) if isinstance(type, Primitive) and type.name in _LAYOUTS else None


def whole_numbers(column: pyarrow.Array) -> pyarrow.Array | None:
    """A column of values that all have four bytes, or all eight, as little-endian numbers; None for another."""
    offsets, _ = _buffers(column)
    widths = offsets[1:] - offsets[:-1]
    width = int(widths.max(initial=0))
    known = _known(column)
    if width not in (4, 8) or not (widths == width if known is None else (widths == width) | ~known).all():
        return None
    values = _fixed(column, known, {width: f"<i{width}"})
    return pyarrow.array(values, mask=None if known is None else ~known)


def within_any(values: Sequence[Value], lower: Bounds, upper: Bounds) -> Mask:
    """Where at least one of the values is neither below the lower nor above the upper bound."""
    ordered = sorted(values, key=lower.comparable)
    found = lower.may_hold(Operator.LESS_OR_EQUAL, ordered[-1]) & upper.may_hold(Operator.GREATER_OR_EQUAL, ordered[0])
    if len(ordered) > 1:
        # Between the outermost values few are left, and theirs are looked up among the values.
        rows = numpy.flatnonzero(found)
        found[rows] = _looked_up([lower.comparable(one) for one in ordered], lower.at(rows), upper.at(rows))
    return found


def _looked_up(ordered: list[Any], lower: Bounds, upper: Bounds) -> Any:
    if isinstance(lower, Numbers) and isinstance(upper, Numbers):
        return _number_within(ordered, lower, upper)
    pairs: Any = zip(lower.values.tolist(), upper.values.tolist(), strict=True)
    return [_text_within(ordered, low, high) for low, high in pairs]


def _number_within(ordered: list[Any], lower: Numbers, upper: Numbers) -> Mask:
    """Where one of the numbers, the first that is not below the lower bound, is not above the upper one."""
    among = numpy.array(ordered, lower.values.dtype if lower.values.dtype == object else None)
    first = numpy.searchsorted(among, lower.values)
    first = first if lower.known is None else numpy.where(lower.known, first, 0)
    reached = (among[numpy.minimum(first, len(among) - 1)] <= upper.values).astype(bool, copy=False)
    return (first < len(among)) & (reached if upper.known is None else reached | ~upper.known)


def _text_within(ordered: list[bytes], lower: bytes | None, upper: bytes | None) -> bool:
    first = bisect_left(ordered, lower) if lower is not None else 0
    return first < len(ordered) and (upper is None or ordered[first] <= upper)


def _numbers(type: Primitive, column: pyarrow.Array) -> Numbers:
    layouts = _LAYOUTS[type.name]
    known = _known(column)
    values = _fixed(column, known, layouts)
    if values is None:
        raise _corrupt(type, column)
    if type.name == "boolean" and values.max(initial=0) > 1:
        raise _corrupt(type, column)
    if values.dtype.kind == "f":
        values = values.astype(numpy.float64, copy=False)  # else numpy would round the value it is compared with
        numbers = ~numpy.isnan(values)
        known = known if numbers.all() else numbers if known is None else known & numbers
        return Numbers(values, known, float)
    return Numbers(values, known, int)


def _fixed(column: pyarrow.Array, known: Mask | None, layouts: dict[int, str]) -> Numeric | None:
    """The numbers that the bytes hold, zero where there are none; None if one has another width."""
    widest = max(layouts)
    offsets, data = _buffers(column)
    widths = offsets[1:] - offsets[:-1]
    if known is None and len(column) and (widths == widest).all():
        return numpy.frombuffer(data, layouts[widest], len(column), int(offsets[0]))
    values = numpy.zeros(len(column), layouts[widest])
    left = numpy.ones(len(column), bool) if known is None else known.copy()
    for width, layout in layouts.items():
        rows = numpy.flatnonzero((widths == width) & left)
        if len(rows):
            values[rows] = _gathered(data, offsets[:-1][rows], layout)
            left[rows] = False
    return None if left.any() else values


def _known(column: pyarrow.Array) -> Mask | None:
    return None if column.null_count == 0 else _mask(column.is_valid())


def _decimals(type: Decimal, column: pyarrow.Array) -> Numbers:
    """Decimals as their digits: whole numbers of 64 bits, or Python's own if one has more."""
    known = _known(column)
    offsets, data = _buffers(column)
    widths = offsets[1:] - offsets[:-1]
    given = widths if known is None else widths[known]
    if len(given) and not (given.min() >= 1 and given.max() <= 16):
        raise _corrupt(type, column)
    if len(given) and given.max() > 8:
        whole = [0 if one is None else int.from_bytes(one, "big", signed=True) for one in column.to_pylist()]
        return Numbers(numpy.array(whole, object), known, partial(_digits, type.scale))
    # Eight bytes from where each begins, whatever comes after it, and then without what does.
    starts = offsets[:-1] if known is None else offsets[:-1][known]
    read = _gathered(memoryview(data).tobytes() + bytes(8), starts, ">i8").astype(numpy.int64) >> (64 - 8 * given)
    return Numbers(_spread(read, known), known, partial(_digits, type.scale))


def _spread(values: Numeric, known: Mask | None) -> Numeric:
    """The values where they are known, else zeros."""
    if known is None:
        return values
    spread = numpy.zeros(len(known), values.dtype)
    spread[known] = values
    return spread


def _digits(scale: int, value: Any) -> int:
    return unscaled(value, scale)


def _gathered(data: Any, starts: Numeric, layout: str) -> Numeric:
    """The numbers that begin at these bytes."""
    windows: Numeric = numpy.ndarray((len(data) - numpy.dtype(layout).itemsize + 1,), layout, data, strides=(1,))
    return windows[starts]


def _buffers(column: pyarrow.Array) -> tuple[Numeric, Any]:
    """The offsets of a binary array's values, one more than there are, and the bytes that they point into."""
    _, offsets, data = column.buffers()
    width = "<i8" if column.type == pyarrow.large_binary() else "<i4"
    if offsets is None or not len(column):
        return numpy.zeros(1, width), b""
    found = numpy.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    return found, data if data is not None else b""


def _checked(type: Type, column: pyarrow.Array) -> pyarrow.Array:
    if type == STRING and not _is_text(column):
        raise _corrupt(type, column)
    if type not in (STRING, BINARY):
        lengths = range(1, type.length + 1) if isinstance(type, Fixed) else range(16, 17)
        widths = pyarrow.compute.binary_length(column).drop_null().to_numpy()
        if len(widths) and not (widths.min() in lengths and widths.max() in lengths):
            raise _corrupt(type, column)
    return column


def _is_text(column: pyarrow.Array) -> bool:
    offsets, data = _buffers(column)
    if numpy.frombuffer(data, numpy.uint8)[offsets[0] : offsets[-1]].max(initial=0) < 0x80:
        return True  # told three times faster than by a cast
    try:
        column.cast(pyarrow.large_string() if column.type == pyarrow.large_binary() else pyarrow.string())
    except pyarrow.ArrowInvalid:
        return False
    return True


def wrong_row(type: Type, column: pyarrow.Array) -> int:
    """The first row of a column of bounds, in which one is wrong, whose bytes are no value of the type."""
    for row, one in enumerate(column.to_pylist()):
        try:
            if one is not None:
                decode_bound(type, one)
        except Corrupt:
            return row
    raise AssertionError("every bound is one of the type")


def _corrupt(type: Type, column: pyarrow.Array) -> Corrupt:
    data: bytes = column[wrong_row(type, column)].as_py()
    return Corrupt("these bytes are not a bound", expected=type, found=data.hex() or "no bytes")


def _mask(found: Any) -> Mask:
    if found.null_count:
        found = found.fill_null(False)
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask
