"""Types of columns: Iceberg's, by its names. What Spark has no type for, the local engine alone reads and writes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.types.names import check_column_names


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts; `NAMES` has them all."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number with `scale` of its `precision` digits behind the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise Invalid(
                "a decimal has another precision or scale",
                subject=str(self),
                expected="a precision of 1 to 38 and a scale of 0 to the precision",
            )

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes, of which every value has just as many."""

    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.length, int) or self.length not in _LENGTHS:
            raise Invalid(
                "a fixed has another length", subject=str(self), expected=f"{_LENGTHS[0]} to {_LENGTHS[-1]} bytes"
            )

    def __str__(self) -> str:
        return f"fixed({self.length})"


@dataclass(frozen=True, slots=True)
class List:
    """Any number of elements; an id of 0 is one that no table has given out yet."""

    element: "Type"
    element_required: bool = False
    element_id: int = 0

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Values by keys, which are never null."""

    key: "Type"
    value: "Type"
    value_required: bool = False
    key_id: int = 0
    value_id: int = 0

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields, as a column that holds columns."""

    fields: tuple["Field", ...]

    def __post_init__(self) -> None:
        if not self.fields:
            raise Invalid("a struct has no field", expected="at least one, as Parquet has it")
        check_column_names([one.name for one in self.fields])

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{_quoted(one.name)}: {one.type}' for one in self.fields)}>"


Simple = Primitive | Decimal | Fixed
"""Types without parts: their values are plain ones, and can have bounds, defaults and transforms."""

Type = Simple | List | Map | Struct


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct. Its type may be given as text.

    `id` identifies it in every schema and file, whatever it is called; `physical_name` is what it is called inside the
    files, fixed at its birth. Both are the table's to give: 0 and "" until then.

    Defaults are plain values, None for null: `initial_default` is what files show that are older than the field,
    `write_default` what rows get that come without it. `widened_from` is the type that its oldest files have, None if
    it is the field's own.
    """

    name: str
    type: Type
    required: bool = False
    comment: str = ""
    id: int = field(default=0, kw_only=True)
    physical_name: str = field(default="", kw_only=True)
    initial_default: Any = field(default=None, kw_only=True)
    write_default: Any = field(default=None, kw_only=True)
    widened_from: Type | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.type, str):
            object.__setattr__(self, "type", parse_type(self.type))
        elif not isinstance(self.type, Type):
            raise Invalid(
                "this is not a type",
                subject=self.name,
                expected="the name of one, such as long or list<string>",
                found=type(self.type).__name__,
            )


BOOLEAN = Primitive("boolean")
INT = Primitive("int")
LONG = Primitive("long")
FLOAT = Primitive("float")
DOUBLE = Primitive("double")
DATE = Primitive("date")
TIME = Primitive("time")  # microseconds since midnight
TIMESTAMP = Primitive("timestamp")  # microseconds, of no zone
TIMESTAMPTZ = Primitive("timestamptz")  # microseconds, an instant
TIMESTAMP_NS = Primitive("timestamp_ns")  # nanoseconds, of no zone: from 1677 to 2262
TIMESTAMPTZ_NS = Primitive("timestamptz_ns")
STRING = Primitive("string")
UUID = Primitive("uuid")  # 16 bytes, as RFC 9562 orders them
BINARY = Primitive("binary")

_NUMBERS = (BOOLEAN, INT, LONG, FLOAT, DOUBLE)
_TIMES = (DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
NAMES = {one.name: one for one in (*_NUMBERS, *_TIMES, STRING, UUID, BINARY)}
_SQL_NAMES = {"bool": BOOLEAN, "integer": INT, "bigint": LONG, "real": FLOAT, "timestamp_ntz": TIMESTAMP}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_TOKEN = re.compile(rf"\s*({_PLAIN.pattern}|[0-9]{{1,10}}|`(?:[^`]|``)+`|[<>()\[\],:])\s*")
_LENGTHS = range(1, 2**31)  # of fixed, as Arrow and Parquet count them
_DEPTH = 100  # of types in types; Parquet readers and Python's own stack end not far beyond


def parse_type(text: str) -> Type:
    """The type that a text names: `long`, `decimal(10, 2)`, `list<string>`, `map<string, int>`, `struct<a: int>`.

    `fixed(16)` may be written as Iceberg's JSON has it, `fixed[16]`.
    A name that is not letters, digits and underscores stands in backticks, its own backticks doubled.
    """
    tokens = _tokens(text)
    _check_depth(tokens)
    found = _parse(tokens, text)
    if tokens:
        raise _unreadable(text, f"{tokens[0]!r} after the type")
    return found


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unreadable(text, repr(text[at:]))
        tokens.append(match.group(1))
        at = match.end()
    return tokens


def _check_depth(tokens: list[str]) -> None:
    depth = 0
    for token in tokens:
        depth += (token == "<") - (token == ">")
        if depth > _DEPTH:
            raise Invalid("a type is nested too deep", expected=f"at most {_DEPTH} levels")


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _parse(tokens: list[str], text: str) -> Type:
    name = _take(tokens, text).lower()
    if name in _SHAPES:
        return _SHAPES[name](tokens, text)
    found = NAMES.get(name) or _SQL_NAMES.get(name)
    if found is None:
        raise _unreadable(text, repr(name))
    return found


def _parse_decimal(tokens: list[str], text: str) -> Type:
    _expect(tokens, "(", text)
    precision = _take(tokens, text)
    _expect(tokens, ",", text)
    scale = _take(tokens, text)
    _expect(tokens, ")", text)
    if not (precision.isdigit() and scale.isdigit()):
        raise _unreadable(text, f"decimal({precision}, {scale})")
    return Decimal(int(precision), int(scale))


def _parse_fixed(tokens: list[str], text: str) -> Type:
    opening = _take(tokens, text)
    if opening not in _BRACKETS:
        raise _unreadable(text, f"{opening!r} where '(' belongs")
    length = _take(tokens, text)
    _expect(tokens, _BRACKETS[opening], text)
    if not length.isdigit():
        raise _unreadable(text, f"fixed({length})")
    return Fixed(int(length))


def _parse_list(tokens: list[str], text: str) -> Type:
    _expect(tokens, "<", text)
    element = _parse(tokens, text)
    _expect(tokens, ">", text)
    return List(element)


def _parse_map(tokens: list[str], text: str) -> Type:
    _expect(tokens, "<", text)
    key = _parse(tokens, text)
    _expect(tokens, ",", text)
    value = _parse(tokens, text)
    _expect(tokens, ">", text)
    return Map(key, value)


def _parse_struct(tokens: list[str], text: str) -> Type:
    _expect(tokens, "<", text)
    fields = [_parse_field(tokens, text)]
    while tokens[:1] == [","]:
        tokens.pop(0)
        fields.append(_parse_field(tokens, text))
    _expect(tokens, ">", text)
    return Struct(tuple(fields))


def _parse_field(tokens: list[str], text: str) -> Field:
    token = _take(tokens, text)
    if token in "<>()[],:":
        raise _unreadable(text, f"{token!r} where a field's name belongs")
    name = token[1:-1].replace("``", "`") if token.startswith("`") else token
    _expect(tokens, ":", text)
    return Field(name, _parse(tokens, text))


_BRACKETS = {"(": ")", "[": "]"}
_SHAPES: dict[str, Callable[[list[str], str], Type]] = {
    "decimal": _parse_decimal,
    "fixed": _parse_fixed,
    "list": _parse_list,
    "map": _parse_map,
    "struct": _parse_struct,
}


def _take(tokens: list[str], text: str) -> str:
    if not tokens:
        raise _unreadable(text, "its end")
    return tokens.pop(0)


def _expect(tokens: list[str], wanted: str, text: str) -> None:
    found = _take(tokens, text)
    if found != wanted:
        raise _unreadable(text, f"{found!r} where {wanted!r} belongs")


def _unreadable(text: str, found: str) -> Invalid:
    names = ", ".join([*NAMES, "fixed(length)", "decimal(p, s)", "list<…>", "map<…, …>", "struct<name: …>"])
    return Invalid("this names no type", subject=repr(text), expected=names, found=found)


def leaves(fields: tuple[Field, ...], path: tuple[Field, ...] = ()) -> Iterator[tuple[Field, ...]]:
    """The columns that have values of their own, each as the path of fields to it through structs.

    What is inside a list or a map is not reached: there is no one value per row that bounds could be of.
    """
    for one in fields:
        if isinstance(one.type, Struct):
            yield from leaves(one.type.fields, (*path, one))
        elif isinstance(one.type, Simple):
            yield (*path, one)


Parts = tuple[Field, ...]

ELEMENT, KEY, VALUE = "element", "key", "value"  # what Parquet, Iceberg and Spark call them


def parts_of(type: Type) -> Parts:
    """The parts of a type, none for one that has no other types inside."""
    match type:
        case Struct(fields):
            return fields
        case List():
            return (_part(ELEMENT, type.element, type.element_required, type.element_id),)
        case Map():
            return (
                _part(KEY, type.key, True, type.key_id),
                _part(VALUE, type.value, type.value_required, type.value_id),
            )
        case _:
            return ()


def with_parts(type: Type, parts: Parts) -> Type:
    """The type with these parts in place of its own, which are as many unless it is a struct."""
    match type:
        case Struct():
            return Struct(parts)
        case List():
            [element] = parts
            return List(element.type, element.required, element.id)
        case Map():
            key, value = parts
            return Map(key.type, value.type, value.required, key.id, value.id)
        case _:
            return type


def walk(parts: Parts, path: Parts = ()) -> Iterator[Parts]:
    """Every field on every level, each as the way to it with itself as the last; a field before what is inside it."""
    for one in parts:
        way = (*path, one)
        yield way
        yield from walk(parts_of(one.type), way)


def numbered(fields: Parts, ids: Iterator[int]) -> Parts:
    """New fields with ids, called in the files as they are now.

    Ids go level by level, as Iceberg's do: all fields first, then what is inside them.
    """
    own = [next(ids) for _ in fields]
    return tuple(
        replace(one, id=id, physical_name=one.name, type=with_parts(one.type, numbered(parts_of(one.type), ids)))
        for one, id in zip(fields, own, strict=True)
    )


def _part(name: str, type: Type, required: bool, id: int) -> Field:
    return Field(name, type, required, id=id, physical_name=name)
