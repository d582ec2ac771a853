"""Thrift's compact protocol, read strictly: what other readers skip, cut or guess is `Malformed`.

    struct = field ‖ … ‖ 00
    field  = delta of the id, 4 bits ‖ type, 4 bits ‖ the id as a zigzag varint if the delta is 0 ‖ value
    list   = count, 4 bits ‖ type, 4 bits ‖ the count as a varint if it is 15 or more ‖ values

Known fields have their declared type and come once; unknown fields are skipped, so that files of newer writers can be
read. A count or a length never exceeds the bytes that are left.

Functions take the bytes and a place, and return a value and the place behind it. Numbers of one byte are read where
they stand: with a call for each, a footer takes three times as long. An `IndexError` says that the bytes end too early.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

BOOLEAN: Final = 1
BYTE: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8

_FALSE, _LIST, _SET, _MAP, _STRUCT, _UUID = 2, 9, 10, 11, 12, 13
_BITS: Final = {I16: 16, I32: 32, I64: 64}
_SIZES: Final = {BYTE: 1, DOUBLE: 8, _UUID: 16}

MAX_DEPTH: Final = 32
"""How deeply unknown fields may be nested: more could exhaust the stack of a reader that skips them."""


class Malformed(ValueError):
    """The bytes are not the struct that they should be."""


class Struct:
    """A struct by the ids of its fields; `required` are names."""

    __slots__ = ("fields", "name", "required")

    def __init__(self, name: str, fields: Mapping[int, tuple[str, "Kind"]], required: Collection[str] = ()) -> None:
        self.name = name
        self.fields = {id: (field, _wire(kind), kind) for id, (field, kind) in fields.items()}
        self.required = frozenset(required)


class ListOf:
    """A list of values of one kind."""

    __slots__ = ("element", "wire")

    def __init__(self, element: "Kind") -> None:
        self.element = element
        self.wire = _wire(element)


Kind = int | Struct | ListOf
"""What a field holds: a simple type by its number, a struct, or a list."""

_Read = tuple[Any, int]


def decode(data: bytes, struct: Struct) -> dict[str, Any]:
    """The fields that are set of the struct that the bytes are, by name; `Malformed` if they are not this struct."""
    try:
        found, place = _struct(data, 0, struct)
    except IndexError:
        raise Malformed("it ends too early") from None
    if place != len(data):
        raise Malformed(f"{len(data) - place} bytes follow its end")
    return found


def _struct(data: bytes, place: int, struct: Struct) -> tuple[dict[str, Any], int]:
    fields, found, id = struct.fields, dict[str, Any](), 0
    while head := data[place]:
        place += 1
        if head > 15:
            id += head >> 4
        else:
            id, place = _number(data, place, 16)
        wire = head & 15
        known = fields.get(id)
        if known is None:
            place = _after(data, place, wire, MAX_DEPTH)
            continue
        name, expected, kind = known
        if name in found:
            raise Malformed(f"{struct.name} has {name} twice")
        if wire != expected:
            if expected != BOOLEAN or wire != _FALSE:
                raise Malformed(f"{struct.name}.{name} has type {wire} of Thrift")
            found[name] = False
        elif I16 <= wire <= I64:
            number = data[place]
            place += 1
            if number > 127:
                number, place = _varint(data, place - 1, _BITS[wire])
            found[name] = (number >> 1) ^ -(number & 1)
        elif wire == BOOLEAN:  # in structs the type is the value
            found[name] = True
        else:
            found[name], place = _READERS[wire](data, place, kind)
    if not struct.required <= found.keys():
        raise Malformed(f"{struct.name} has no {', '.join(sorted(struct.required - found.keys()))}")
    return found, place + 1


def _list(data: bytes, place: int, kind: ListOf) -> tuple[list[Any], int]:
    count, wire, place = _list_head(data, place)
    if count and wire != kind.wire:
        raise Malformed(f"a list has values of type {wire} of Thrift")
    element, read, values = kind.element, _READERS[kind.wire], []
    for _ in range(count):
        value, place = read(data, place, element)
        values.append(value)
    return values, place


def _list_head(data: bytes, place: int) -> tuple[int, int, int]:
    """The number of values, their type, and the place of the first."""
    head = data[place]
    count, place = head >> 4, place + 1
    if count == 15:
        count, place = _varint(data, place, 32)
    _check_count(data, place, count)
    return count, head & 15, place


def _check_count(data: bytes, place: int, count: int) -> None:
    if count > len(data) - place:
        raise Malformed(f"a list of {count} values is longer than the rest")


def _number(data: bytes, place: int, bits: int) -> tuple[int, int]:
    number, place = _varint(data, place, bits)
    return (number >> 1) ^ -(number & 1), place


def _varint(data: bytes, place: int, bits: int) -> tuple[int, int]:
    byte = data[place]
    number, shift = byte & 127, 7
    while byte > 127:
        place += 1
        byte = data[place]
        number |= (byte & 127) << shift
        shift += 7
        if shift > 70:
            raise Malformed("a number has more than ten bytes")
    if number >> bits:
        raise Malformed(f"a number has more than {bits} bits")
    return number, place + 1


def _simple(data: bytes, place: int, kind: int) -> _Read:
    return _number(data, place, _BITS[kind]) if kind in _BITS else _bytes(data, place, _SIZES[kind])


def _binary(data: bytes, place: int, _: Any = None) -> tuple[bytes, int]:
    length = data[place]
    place += 1
    if length > 127:
        length, place = _varint(data, place - 1, 32)
    return _bytes(data, place, length)


def _bytes(data: bytes, place: int, length: int) -> tuple[bytes, int]:
    end = place + length
    if end > len(data):
        raise IndexError
    return data[place:end], end


_READERS: dict[int, Callable[[bytes, int, Any], _Read]] = {
    **dict.fromkeys((*_BITS, *_SIZES), _simple),
    BINARY: _binary,
    _LIST: _list,
    _STRUCT: _struct,
}


def _after(data: bytes, place: int, wire: int, depth: int) -> int:
    """The place behind a value of an unknown field."""
    if not depth:
        raise Malformed("unknown fields are nested too deeply")
    if wire in (BOOLEAN, _FALSE):
        return place
    if wire in _BITS or wire in _SIZES or wire == BINARY:
        return _READERS[wire](data, place, wire)[1]
    if wire in (_LIST, _SET):
        count, element, place = _list_head(data, place)
        return _after_all(data, place, (element,), count, depth)
    if wire == _MAP:
        return _after_map(data, place, depth)
    if wire == _STRUCT:
        return _after_struct(data, place, depth)
    raise Malformed(f"a field has the unknown type {wire}")


def _after_struct(data: bytes, place: int, depth: int) -> int:
    while head := data[place]:
        place = _number(data, place + 1, 16)[1] if head < 16 else place + 1
        place = _after(data, place, head & 15, depth - 1)
    return place + 1


def _after_map(data: bytes, place: int, depth: int) -> int:
    count, place = _varint(data, place, 32)
    _check_count(data, place, count)
    if not count:
        return place
    kinds = data[place]
    return _after_all(data, place + 1, (kinds >> 4, kinds & 15), count, depth)


def _after_all(data: bytes, place: int, wires: Sequence[int], count: int, depth: int) -> int:
    for _ in range(count):
        for wire in wires:
            if wire in (BOOLEAN, _FALSE):
                place += 1  # outside of structs a boolean is a byte
            else:
                place = _after(data, place, wire, depth - 1)
    return place


def _wire(kind: Kind) -> int:
    """The type of a kind in the bytes."""
    if isinstance(kind, Struct):
        return _STRUCT
    return _LIST if isinstance(kind, ListOf) else kind
