"""The parts of an Arrow expression, which Arrow does not show: read from the bytes that it pickles.

Arrow writes an expression as one record batch (`arrow::compute::Serialize`): its calls, columns and literals in order,
as pairs of the schema's metadata, and the values of literals and options as columns. Python's metadata drops pairs with
equal keys, so that they are read through Arrow's C data interface.
"""

from collections.abc import Iterator
from ctypes import Structure, addressof, c_char_p, c_int32, c_int64, c_void_p, string_at
from dataclasses import dataclass

import pyarrow
import pyarrow.compute as compute
import pyarrow.ipc

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column by its name, or a field inside structs by the names on the way."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value."""

    value: pyarrow.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments; `options` is a struct, or None."""

    function: str
    arguments: tuple["Node", ...]
    options: pyarrow.Scalar | None


Node = Column | Literal | Call


def tree_of(expression: compute.Expression) -> Node | None:
    """The parts of an expression; None if Arrow writes them in a form that is not known here."""
    try:
        buffer = expression.__reduce__()[1][0]
        batch = pyarrow.ipc.open_file(buffer).get_batch(0)
        pairs = iter(_pairs(batch.schema))
        root = _node(next(pairs), pairs, batch)
        return root if next(pairs, None) is None else None
    except (pyarrow.ArrowException, LookupError, StopIteration, TypeError, ValueError):
        return None


def columns_of(node: Node) -> Iterator[str]:
    """The names of the columns that an expression needs, perhaps several times."""
    match node:
        case Column(names):
            yield names[0]
        case Call(_, arguments):
            for argument in arguments:
                yield from columns_of(argument)


def _node(pair: Pair, rest: Iterator[Pair], batch: pyarrow.RecordBatch) -> Node:
    match pair:
        case "literal", place:
            return Literal(batch.column(int(place))[0])
        case "field_ref", name:
            return Column((name,))
        case "nested_field_ref", count:
            return Column(tuple(_value(next(rest), "field_ref") for _ in range(int(count))))
        case "call", function:
            return _call(function, rest, batch)
    raise ValueError(f"an unknown part of an expression: {pair}")


def _call(function: str, rest: Iterator[Pair], batch: pyarrow.RecordBatch) -> Call:
    arguments: list[Node] = []
    options: pyarrow.Scalar | None = None
    while (pair := next(rest))[0] != "end":
        if pair[0] == "options":
            options = batch.column(int(pair[1]))[0]
        else:
            arguments.append(_node(pair, rest, batch))
    return Call(function, tuple(arguments), options)


def _value(pair: Pair, key: str) -> str:
    if pair[0] != key:
        raise ValueError(f"{key} expected: {pair}")
    return pair[1]


class _ArrowSchema(Structure):
    """A schema in Arrow's C data interface."""

    _fields_ = (
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_void_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    )


def _pairs(schema: pyarrow.Schema) -> list[Pair]:
    """All pairs of a schema's metadata, in their order."""
    exported = _ArrowSchema()
    address = addressof(exported)
    schema._export_to_c(address)
    try:
        return list(_read_pairs(exported.metadata))
    finally:
        pyarrow.Schema._import_from_c(address)  # which releases it


def _read_pairs(place: int | None) -> Iterator[Pair]:
    """The pairs at an address: their number, then each key and value after its length."""
    if place is None:
        return
    count = c_int32.from_address(place).value
    place += 4
    for _ in range(count):
        texts = []
        for _ in range(2):
            length = c_int32.from_address(place).value
            texts.append(string_at(place + 4, length).decode())
            place += 4 + length
        yield texts[0], texts[1]
