"""Footers that are well-formed and wrong: a field of any struct is changed, and all is encoded again."""

from random import Random
from typing import Any

from lakebed.table.parquet.metadata import FILE
from lakebed.table.parquet.thrift import BOOLEAN, I16, I64, Kind, ListOf, Struct, decode
from tests.support.damage.mutate import footer_span

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 20, 127, -128, 1 << 15, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))

Tree = dict[str, Any]


def tree_of(parquet: bytes) -> Tree:
    """The footer of a file as values, to be changed."""
    start, end = footer_span(parquet)
    return decode(parquet[start : end - 8], FILE)


def with_tree(parquet: bytes, tree: Tree) -> bytes:
    """The file with another footer."""
    footer = encoded(tree, FILE)
    return parquet[: footer_span(parquet)[0]] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def with_changed_field(parquet: bytes, chance: Random) -> bytes:
    """The file with one field of its footer changed, set or unset."""
    tree = tree_of(parquet)
    struct, values = chance.choice(list(_structs(FILE, tree)))
    name, _, kind = chance.choice(list(struct.fields.values()))
    if chance.random() < 0.2:
        values.pop(name, None)
    else:
        values[name] = _other(values.get(name), kind, chance)
    return with_tree(parquet, tree)


def encoded(values: Tree, struct: Struct) -> bytes:
    """A struct in Thrift's compact protocol; every field has its id behind its type."""
    data = b""
    for id, (name, wire, kind) in struct.fields.items():
        if name in values:
            type = wire if kind != BOOLEAN or values[name] else 2
            data += bytes([type]) + _varint(id << 1) + (b"" if kind == BOOLEAN else _encoded(values[name], kind))
    return data + b"\0"


def _encoded(value: Any, kind: Kind) -> bytes:
    if isinstance(kind, Struct):
        return encoded(value, kind)
    if isinstance(kind, ListOf):
        head = bytes([0xF0 | kind.wire]) + _varint(len(value))
        return head + b"".join(_encoded(one, kind.element) for one in value)
    if isinstance(value, bytes):
        return value if kind != 8 else _varint(len(value)) + value
    return _varint(value * 2 if value >= 0 else -value * 2 - 1)


def _varint(number: int) -> bytes:
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def _structs(struct: Struct, values: Tree) -> list[tuple[Struct, Tree]]:
    """All structs in a tree, with what they hold."""
    found = [(struct, values)]
    for name, _, kind in struct.fields.values():
        if name not in values:
            continue
        if isinstance(kind, Struct):
            found += _structs(kind, values[name])
        elif isinstance(kind, ListOf) and isinstance(kind.element, Struct):
            for one in values[name]:
                found += _structs(kind.element, one)
    return [one for one in found if one[0].fields]


def _other(value: Any, kind: Kind, chance: Random) -> Any:
    if isinstance(kind, Struct):
        return {}
    if isinstance(kind, ListOf):
        return _other_list(value or [], kind, chance)
    if kind == BOOLEAN:
        return not value
    if I16 <= kind <= I64:
        near = (value or 0) + chance.choice((-1, 1, 2, 100))
        limit = {I16: 15, 5: 31, I64: 63}[kind]
        return max(-(1 << limit), min((1 << limit) - 1, chance.choice((*NUMBERS, near))))
    size = {3: 1, 7: 8}.get(kind)
    return chance.randbytes(size) if size else chance.choice((b"", (value or b"")[:-1], (value or b"") + b"\xff"))


def _other_list(value: list[Any], kind: ListOf, chance: Random) -> list[Any]:
    if not value or chance.random() < 0.2:
        return []
    place = chance.randrange(len(value))
    without = value[:place] + value[place + 1 :]
    if isinstance(kind.element, Struct):
        return chance.choice((without, [*value, value[place]], value[::-1]))
    return chance.choice((without, [*value, value[place]], [*without, _other(value[place], kind.element, chance)]))
