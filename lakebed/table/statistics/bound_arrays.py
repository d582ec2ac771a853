"""Bounds of many files at once: a column of Iceberg's single-value bytes, as arrays that numpy or Arrow compare.

Fixed-width bytes are read in place from Arrow's buffers; text is compared as bytes, whose order is that of its code
points.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from lakebed.deferred import numpy, pyarrow
from lakebed.errors import Corrupt
from lakebed.table.filter.filter import Operator, Value
from lakebed.table.types.types import BINARY, STRING, Decimal, Fixed, Primitive, Type
from lakebed.table.types.values import decode_bound, unscaled

Mask: TypeAlias = "numpy.ndarray[Any, numpy.dtype[numpy.bool_]]"
Numeric: TypeAlias = "numpy.ndarray[Any, Any]"

# By the width of the bytes: those of a column that was widened, and perhaps restored since, come in both.
_LAYOUTS: Final[dict[str, dict[int, str]]] = {
    "boolean": {1: "u1"},
    "int": {8: "<i8", 4: "<i4"},
    "long": {8: "<i8", 4: "<i4"},
    "float": {8: "<f8", 4: "<f4"},
    "double": {8: "<f8", 4: "<f4"},
    "date": {4: "<i4"},
    **{name: {8: "<i8"} for name in ("time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")},
}
_TEXT: Final = frozenset({"string", "binary", "uuid"})

_COMPARISONS: Final = {
    Operator.EQUAL: "equal",
    Operator.LESS: "less",
    Operator.LESS_OR_EQUAL: "less_equal",
    Operator.GREATER: "greater",
    Operator.GREATER_OR_EQUAL: "greater_equal",
}
"""The name of the function of numpy, and of Arrow, for each operator."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Bounds that numpy compares. `known` is None if all are known; `comparable` turns a plain value into a number."""

    values: Numeric
    known: Mask | None
    comparable: Callable[[Any], Any]

    def holds(self, operator: Operator, value: Value) -> Mask:
        """Where a bound is known and the comparison holds."""
        holds = self._compare(operator, value)
        return holds if self.known is None else holds & self.known

    def may_hold(self, operator: Operator, value: Value) -> Mask:
        """Where the comparison holds or the bound is unknown."""
        holds = self._compare(operator, value)
        return holds if self.known is None else holds | ~self.known

    def at(self, rows: Numeric) -> Numbers:
        """The bounds of these rows."""
        return Numbers(self.values[rows], None if self.known is None else self.known[rows], self.comparable)

    def _compare(self, operator: Operator, value: Value) -> Mask:
        compare: Callable[[Any, Any], Mask] = getattr(numpy, _COMPARISONS[operator])
        # For an array of objects, numpy answers with objects.
        return compare(self.values, self.comparable(value)).astype(bool, copy=False)


@dataclass(frozen=True, slots=True)
class Texts:
    """Bounds of text or bytes, as an Arrow array of bytes; null means unknown."""

    values: pyarrow.Array

    def holds(self, operator: Operator, value: Value) -> Mask:
        """Where a bound is known and the comparison holds."""
        return _mask(self._compare(operator, value))

    def may_hold(self, operator: Operator, value: Value) -> Mask:
        """Where the comparison holds or the bound is unknown."""
        return _mask(self._compare(operator, value).fill_null(True))

    def starts_with(self, prefix: str) -> Mask:
        """Where a bound is known and starts with the prefix."""
        return _mask(pyarrow.compute.starts_with(self.values, self.comparable(prefix)))

    def passes(self, rows: Mask, test: Callable[[str], bool]) -> Mask:
        """Where the text passes among these rows, all of which have a bound; each distinct text is tested once."""
        places = numpy.flatnonzero(rows)
        encoded = self.values.take(pyarrow.array(places)).dictionary_encode()
        answers = numpy.array([test(text.decode()) for text in encoded.dictionary.to_pylist()], bool)
        passed = numpy.zeros(len(rows), bool)
        passed[places] = answers[encoded.indices.to_numpy()]
        return passed

    def same(self, other: Texts) -> Mask:
        """Where both bounds are known and equal."""
        return _mask(pyarrow.compute.equal(self.values, other.values))

    def at(self, rows: Numeric) -> Texts:
        """The bounds of these rows."""
        return Texts(self.values.take(pyarrow.array(rows)))

    @staticmethod
    def comparable(value: Any) -> bytes:
        # Python orders lone surrogates, which UTF-8 does not allow, by their code points too.
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)

    def _compare(self, operator: Operator, value: Value) -> Any:
        compare = getattr(pyarrow.compute, _COMPARISONS[operator])
        return compare(self.values, pyarrow.scalar(self.comparable(value), self.values.type))


Bounds = Numbers | Texts


def bounds_of(type: Type, column: pyarrow.Array) -> Bounds | None:
    """The bounds in a column of bytes of this type; None for a type whose values have no order here.

    They are the values that `decode_bound` gives one by one, and `Corrupt` where it is; a NaN counts as unknown.
    """
    if isinstance(type, Decimal):
        return _decimals(type, column)
    if isinstance(type, Fixed) or (isinstance(type, Primitive) and type.name in _TEXT):
        return Texts(_checked(type, column))
    return _numbers(type, column) if isinstance(type, Primitive) and type.name in _LAYOUTS else None


def whole_numbers(column: pyarrow.Array) -> pyarrow.Array | None:
    """A column whose values all have four bytes, or all eight, as little-endian numbers; None for any other."""
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
    mask = lower.may_hold(Operator.LESS_OR_EQUAL, ordered[-1]) & upper.may_hold(Operator.GREATER_OR_EQUAL, ordered[0])
    if len(ordered) > 1:
        # Few rows overlap the range of the values; only their bounds are searched among the values.
        rows = numpy.flatnonzero(mask)
        mask[rows] = _any_within([lower.comparable(value) for value in ordered], lower.at(rows), upper.at(rows))
    return mask


def wrong_row(type: Type, column: pyarrow.Array) -> int:
    """The first row whose bytes are not a value of the type, in a column of bounds that has such a row."""
    for row, data in enumerate(column.to_pylist()):
        try:
            if data is not None:
                decode_bound(type, data)
        except Corrupt:
            return row
    raise AssertionError("every bound is a value of the type")


def _numbers(type: Primitive, column: pyarrow.Array) -> Numbers:
    layouts = _LAYOUTS[type.name]
    known = _known(column)
    values = _fixed(column, known, layouts)
    if values is None:
        raise _corrupt(type, column)
    if type.name == "boolean" and values.max(initial=0) > 1:
        raise _corrupt(type, column)
    if values.dtype.kind == "f":
        values = values.astype(numpy.float64, copy=False)  # else numpy would round the value that it compares
        numbers = ~numpy.isnan(values)
        known = known if numbers.all() else numbers if known is None else known & numbers
        return Numbers(values, known, float)
    return Numbers(values, known, int)


def _fixed(column: pyarrow.Array, known: Mask | None, layouts: dict[int, str]) -> Numeric | None:
    """The numbers in the bytes, zero where there are none; None if a value has another width."""
    offsets, data = _buffers(column)
    widths = offsets[1:] - offsets[:-1]
    first = layouts.get(int(widths[0])) if len(column) else None
    if first is not None and known is None and (widths == widths[0]).all():
        return numpy.frombuffer(data, first, len(column), int(offsets[0]))
    values = numpy.zeros(len(column), layouts[max(layouts)])
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
    """Decimals as their digits: whole numbers of 64 bits, or Python's own if one needs more."""
    known = _known(column)
    offsets, data = _buffers(column)
    widths = offsets[1:] - offsets[:-1]
    given = widths if known is None else widths[known]
    if len(given) and not (given.min() >= 1 and given.max() <= 16):
        raise _corrupt(type, column)
    if len(given) and given.max() > 8:
        whole = [0 if data is None else int.from_bytes(data, "big", signed=True) for data in column.to_pylist()]
        return Numbers(numpy.array(whole, object), known, partial(_digits, type.scale))
    # Read eight bytes from where each value begins, then shift out those that are not its own.
    starts = offsets[:-1] if known is None else offsets[:-1][known]
    read = _gathered(memoryview(data).tobytes() + bytes(8), starts, ">i8").astype(numpy.int64) >> (64 - 8 * given)
    return Numbers(_spread(read, known), known, partial(_digits, type.scale))


def _spread(values: Numeric, known: Mask | None) -> Numeric:
    """The values in their rows, with zeros where unknown."""
    if known is None:
        return values
    spread = numpy.zeros(len(known), values.dtype)
    spread[known] = values
    return spread


def _digits(scale: int, value: Any) -> int:
    return unscaled(value, scale)


def _gathered(data: Any, starts: Numeric, layout: str) -> Numeric:
    """The numbers at these offsets."""
    windows: Numeric = numpy.ndarray((len(data) - numpy.dtype(layout).itemsize + 1,), layout, data, strides=(1,))
    return windows[starts]


def _buffers(column: pyarrow.Array) -> tuple[Numeric, Any]:
    """The offsets of a binary array's values, with the end of the last, and the bytes that they point into."""
    _, offsets, data = column.buffers()
    width = "<i8" if column.type == pyarrow.large_binary() else "<i4"
    if offsets is None or not len(column):
        return numpy.zeros(1, width), b""
    used = numpy.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    return used, data if data is not None else b""


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
        return True  # ASCII: three times as fast as a cast
    try:
        column.cast(pyarrow.large_string() if column.type == pyarrow.large_binary() else pyarrow.string())
    except pyarrow.ArrowInvalid:
        return False
    return True


def _corrupt(type: Type, column: pyarrow.Array) -> Corrupt:
    data: bytes = column[wrong_row(type, column)].as_py()
    return Corrupt("these bytes are not a bound", expected=type, found=data.hex() or "no bytes")


def _any_within(ordered: list[Any], lower: Bounds, upper: Bounds) -> Any:
    if isinstance(lower, Numbers) and isinstance(upper, Numbers):
        return _number_within(ordered, lower, upper)
    pairs: Any = zip(lower.values.tolist(), upper.values.tolist(), strict=True)
    return [_text_within(ordered, low, high) for low, high in pairs]


def _number_within(ordered: list[Any], lower: Numbers, upper: Numbers) -> Mask:
    """Where the first number that is not below the lower bound is not above the upper one."""
    among = numpy.array(ordered, lower.values.dtype if lower.values.dtype == object else None)
    first = numpy.searchsorted(among, lower.values)
    first = first if lower.known is None else numpy.where(lower.known, first, 0)
    reached = (among[numpy.minimum(first, len(among) - 1)] <= upper.values).astype(bool, copy=False)
    return (first < len(among)) & (reached if upper.known is None else reached | ~upper.known)


def _text_within(ordered: list[bytes], lower: bytes | None, upper: bytes | None) -> bool:
    first = bisect_left(ordered, lower) if lower is not None else 0
    return first < len(ordered) and (upper is None or ordered[first] <= upper)


def _mask(array: Any) -> Mask:
    if array.null_count:
        array = array.fill_null(False)
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask
