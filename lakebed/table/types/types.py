"""Types of columns: Iceberg's, by its names. Types that Spark does not have are for the local engine alone.

A nested type has children, which are fields like those of a struct: a list has its element, a map its key and value.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.types.limits import EXPRESSION_CHARACTERS, LEVELS, check_length, shown, too_deep
from lakebed.table.types.names import check_column_names, physical_names_of
from lakebed.table.types.synonyms import SYNONYMS, TWO_WORDS, ZONES, nearest

ELEMENT, KEY, VALUE = "element", "key", "value"  # what Parquet, Iceberg and Spark call them

UNLIMITED = 0  # the length of a column that had one, and is to have none

_LENGTHS = range(1, 2**31)  # of fixed, as Arrow and Parquet count them
_BRACKETS = {"(": ")", "[": "]"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_TOKEN = re.compile(rf"\s*({_PLAIN.pattern}|[0-9]{{1,10}}|`(?:[^`]|``)+`|[<>()\[\],:])\s*")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parameters; `NAMES` lists them all."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number of `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise Invalid(
                "a decimal's precision or scale is out of range",
                subject=str(self),
                expected="a precision of 1 to 38 and a scale of 0 to the precision",
            )

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes of a fixed length."""

    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.length, int) or self.length not in _LENGTHS:
            raise Invalid(
                "the length of a fixed is out of range",
                subject=str(self),
                expected=f"{_LENGTHS[0]} to {_LENGTHS[-1]} bytes",
            )

    def __str__(self) -> str:
        return f"fixed({self.length})"


@dataclass(frozen=True, slots=True)
class List:
    """Any number of elements; an id of 0 has not been assigned by a table yet."""

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
    """Named fields: a column that holds columns."""

    fields: tuple["Field", ...]

    def __post_init__(self) -> None:
        if not self.fields:
            raise Invalid("a struct has no fields", expected="at least one, as Parquet requires")
        check_column_names([field.name for field in self.fields])

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{quoted_name(field.name)}: {field.type}' for field in self.fields)}>"


@dataclass(frozen=True, slots=True)
class Limited:
    """What `varchar(20)` declares: a column of a type, and a check that its values have at most 20 characters."""

    type: Primitive
    length: int


Simple = Primitive | Decimal | Fixed
"""Types that are not nested: their values are plain values, and can have bounds, defaults and transforms."""

Type = Simple | List | Map | Struct


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct. Its type may be given as text.

    `id` identifies it in every schema and file, whatever its name; `physical_name` is its name inside the files, fixed
    when it was added. The table assigns both: until then they are 0 and "".

    Defaults are plain values, None for null. Files older than the field show `initial_default`; rows that are written
    without it get `write_default`. `widened_from` is the type in its oldest files, None if it is the field's own.
    `max_length` is that of a `varchar(20)`, which is not part of the type: the table gets a check for it. `UNLIMITED`
    removes that check. `unknown` are keys that a newer Lakebed or another writer stored with it, as JSON.
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
    max_length: int | None = field(default=None, kw_only=True, compare=False, repr=False)
    unknown: str = field(default="", kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.type, str):
            declared = parse_declared(self.type)
            if isinstance(declared, Limited):
                object.__setattr__(self, "max_length", declared.length)
            object.__setattr__(self, "type", declared.type if isinstance(declared, Limited) else declared)
        elif not isinstance(self.type, Type):
            raise Invalid(
                "this is not a type",
                subject=self.name,
                expected="a type's name, such as long or list<string>",
                found=type(self.type).__name__,
            )


Fields = tuple[Field, ...]
"""The fields of a schema or struct, or the children of a list or map."""

Way = tuple[Field, ...]
"""A field at the end, and before it the fields that it is inside of, the outermost first."""

BOOLEAN = Primitive("boolean")
INT = Primitive("int")
LONG = Primitive("long")
FLOAT = Primitive("float")
DOUBLE = Primitive("double")
DATE = Primitive("date")
TIME = Primitive("time")  # microseconds since midnight
TIMESTAMP = Primitive("timestamp")  # microseconds, without a zone
TIMESTAMPTZ = Primitive("timestamptz")  # microseconds, an instant
TIMESTAMP_NS = Primitive("timestamp_ns")  # nanoseconds, without a zone: from 1677 to 2262
TIMESTAMPTZ_NS = Primitive("timestamptz_ns")
STRING = Primitive("string")
UUID = Primitive("uuid")  # 16 bytes, as RFC 9562 orders them
BINARY = Primitive("binary")

_NUMBERS = (BOOLEAN, INT, LONG, FLOAT, DOUBLE)
_TIMES = (DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
NAMES = {type.name: type for type in (*_NUMBERS, *_TIMES, STRING, UUID, BINARY)}
_MICROSECONDS = 6  # digits of a second: `timestamp(9)` is one of nanoseconds


def parse_type(text: str) -> Type:
    """The type that a text names: `long`, `decimal(10, 2)`, `list<string>`, `map<string, int>`, `struct<a: int>`.

    `fixed(16)` may also be written as in Iceberg's JSON, `fixed[16]`. Names of SQL, Spark, Arrow and numpy are taken
    too: `bigint`, `text`, `float64`, `array<int>`. `varchar(20)` is `Invalid`: only a column can be so declared.
    A name with anything but letters, digits and underscores stands in backticks, its own backticks doubled.
    """
    return _unlimited(parse_declared(text))


def parse_declared(text: str) -> Type | Limited:
    """The same for the type of a column, which may have a length: `varchar(20)`, `char(2)`, `varbinary(16)`."""
    tokens = _tokens(text)
    _check_depth(tokens, text)
    type = _parse(tokens, text)
    if tokens:
        raise _unreadable(text, f"{tokens[0]!r} after the type")
    return type


def children_of(type: Type) -> Fields:
    """The fields directly inside a type, none for a simple one."""
    match type:
        case Struct(fields):
            return fields
        case List():
            return (_child(ELEMENT, type.element, type.element_required, type.element_id),)
        case Map():
            return (
                _child(KEY, type.key, True, type.key_id),
                _child(VALUE, type.value, type.value_required, type.value_id),
            )
        case _:
            return ()


def with_children(type: Type, children: Fields) -> Type:
    """The type with other children. Only a struct may get more or fewer than it has."""
    match type:
        case Struct():
            return Struct(children)
        case List():
            [element] = children
            return List(element.type, element.required, element.id)
        case Map():
            key, value = children
            return Map(key.type, value.type, value.required, key.id, value.id)
        case _:
            return type


def walk(fields: Fields, above: Way = ()) -> Iterator[Way]:
    """The way to every field on every level; a field comes before its children."""
    for child in fields:
        way = (*above, child)
        yield way
        yield from walk(children_of(child.type), way)


def leaves(fields: Fields, above: Way = ()) -> Iterator[Way]:
    """The ways through structs to the columns that have values of their own.

    Columns inside lists and maps are left out: they don't have one value per row that bounds could cover.
    """
    for child in fields:
        if isinstance(child.type, Struct):
            yield from leaves(child.type.fields, (*above, child))
        elif isinstance(child.type, Simple):
            yield (*above, child)


def numbered_fields(fields: Fields, ids: Iterator[int]) -> Fields:
    """New fields with ids and physical names.

    Ids go level by level, as Iceberg's do: all fields first, then their children.
    """
    own = [next(ids) for _ in fields]
    names = physical_names_of([field.name for field in fields], own)
    return tuple(
        replace(
            field,
            id=id,
            physical_name=name,
            type=with_children(field.type, numbered_fields(children_of(field.type), ids)),
        )
        for field, id, name in zip(fields, own, names, strict=True)
    )


def named_fields(fields: Fields) -> Fields:
    """Fields that have ids, with physical names."""
    names = physical_names_of([field.name for field in fields], [field.id for field in fields])
    return tuple(
        replace(field, physical_name=name, type=with_children(field.type, named_fields(children_of(field.type))))
        for field, name in zip(fields, names, strict=True)
    )


def _child(name: str, type: Type, required: bool, id: int) -> Field:
    return Field(name, type, required, id=id, physical_name=name)


def quoted_name(name: str) -> str:
    """A name as it is written in a type or an expression: in backticks if it has to be."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


_Tokens = deque[str]


def _tokens(text: str) -> _Tokens:
    check_length(text, "a type", EXPRESSION_CHARACTERS)
    tokens, at = _Tokens(), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unreadable(text, repr(text[at : at + 80]))
        tokens.append(match.group(1))
        at = match.end()
    return tokens


def _begins(tokens: _Tokens, token: str) -> bool:
    return bool(tokens) and tokens[0] == token


def _check_depth(tokens: _Tokens, text: str) -> None:
    """Refuse a text nested beyond `LEVELS`, before it is parsed by recursion."""
    deepest, opened, last = 0, [0], ""
    for token in tokens:
        if token == "<":
            opened.append(opened[-1] + (1 if SYNONYMS.get(last, last) == "struct" else 2))
        elif token == ">" and len(opened) > 1:
            opened.pop()
        deepest, last = max(deepest, opened[-1]), token.lower()
    if deepest > LEVELS:
        raise too_deep(text, deepest)


def _parse(tokens: _Tokens, text: str) -> Type | Limited:
    name = _take(tokens, text).lower()
    if tokens and (name, tokens[0].lower()) in TWO_WORDS:
        name = TWO_WORDS[name, tokens.popleft().lower()]
    name = SYNONYMS.get(name, name)
    if name in _PARSERS:
        return _PARSERS[name](tokens, text)
    type = NAMES.get(name)
    if type is None:
        raise _unreadable(text, repr(name))
    return type


def _parse_part(tokens: _Tokens, text: str) -> Type:
    """A type inside of a list or map, whose values no check reaches."""
    return _unlimited(_parse(tokens, text))


def _unlimited(declared: Type | Limited) -> Type:
    if isinstance(declared, Limited):
        raise Invalid(
            "only a column, or a field of a struct, can have a length",
            subject=f"a {declared.type} of at most {declared.length}",
            advice=f"Use {declared.type}.",
        )
    return declared


def _parse_numbers(tokens: _Tokens, text: str, most: int) -> list[int]:
    """The numbers in parentheses after a name, none without parentheses."""
    if not _begins(tokens, "("):
        return []
    numbers = list[int]()
    while not numbers or _begins(tokens, ","):
        tokens.popleft()
        number = _take(tokens, text)
        if not number.isdigit() or len(numbers) == most:
            raise _unreadable(text, repr(number))
        numbers.append(int(number))
    _expect(tokens, ")", text)
    return numbers


def _parse_decimal(tokens: _Tokens, text: str) -> Type:
    precision, scale = (*(given := _parse_numbers(tokens, text, 2)), *(10, 0)[len(given) :])  # as in Spark
    return Decimal(precision, scale)


def _parse_timestamp(tokens: _Tokens, text: str) -> Type:
    [digits] = _parse_numbers(tokens, text, 1) or [_MICROSECONDS]
    zone = " ".join(islice(tokens, 3)).lower()
    if zone in ZONES:
        for _ in range(3):
            tokens.popleft()
    if digits > 9:
        raise _unreadable(text, f"{digits} digits of a second")
    suffix = "" if digits <= _MICROSECONDS else "_ns"
    return NAMES[f"{ZONES.get(zone, 'timestamp')}{suffix}"]


def _limited(type: Primitive, default: int | None) -> "_Parser":
    def parse(tokens: _Tokens, text: str) -> Type | Limited:
        lengths = _parse_numbers(tokens, text, 1)
        length = lengths[0] if lengths else default
        if length == 0:
            raise _unreadable(text, "a length of 0")
        return type if length is None else Limited(type, length)

    return parse


def _parse_binary(tokens: _Tokens, text: str) -> Type:
    return Fixed(*lengths) if (lengths := _parse_numbers(tokens, text, 1)) else BINARY


def _parse_fixed(tokens: _Tokens, text: str) -> Type:
    opening = _take(tokens, text)
    if opening not in _BRACKETS:
        raise _unreadable(text, f"{opening!r} instead of '('")
    length = _take(tokens, text)
    _expect(tokens, _BRACKETS[opening], text)
    if not length.isdigit():
        raise _unreadable(text, f"fixed({length})")
    return Fixed(int(length))


def _parse_list(tokens: _Tokens, text: str) -> Type:
    _expect(tokens, "<", text)
    element = _parse_part(tokens, text)
    _expect(tokens, ">", text)
    return List(element)


def _parse_map(tokens: _Tokens, text: str) -> Type:
    _expect(tokens, "<", text)
    key = _parse_part(tokens, text)
    _expect(tokens, ",", text)
    value = _parse_part(tokens, text)
    _expect(tokens, ">", text)
    return Map(key, value)


def _parse_struct(tokens: _Tokens, text: str) -> Type:
    _expect(tokens, "<", text)
    fields = [_parse_field(tokens, text)]
    while _begins(tokens, ","):
        tokens.popleft()
        fields.append(_parse_field(tokens, text))
    _expect(tokens, ">", text)
    return Struct(tuple(fields))


def _parse_field(tokens: _Tokens, text: str) -> Field:
    token = _take(tokens, text)
    if token in "<>()[],:":
        raise _unreadable(text, f"{token!r} instead of a field's name")
    name = token[1:-1].replace("``", "`") if token.startswith("`") else token
    if _begins(tokens, ":"):  # which SQL leaves out
        tokens.popleft()
    declared = _parse(tokens, text)
    if isinstance(declared, Limited):
        return Field(name, declared.type, max_length=declared.length)
    return Field(name, declared)


_Parser = Callable[[_Tokens, str], Type | Limited]
_PARSERS: dict[str, _Parser] = {
    "decimal": _parse_decimal,
    "timestamp": _parse_timestamp,
    "varchar": _limited(STRING, None),
    "char": _limited(STRING, 1),  # as standard SQL has it
    "varbinary": _limited(BINARY, None),
    "binary": _parse_binary,
    "fixed": _parse_fixed,
    "list": _parse_list,
    "map": _parse_map,
    "struct": _parse_struct,
}


def _take(tokens: _Tokens, text: str) -> str:
    if not tokens:
        raise _unreadable(text, "the end of the text")
    return tokens.popleft()


def _expect(tokens: _Tokens, wanted: str, text: str) -> None:
    found = _take(tokens, text)
    if found != wanted:
        raise _unreadable(text, f"{found!r} instead of {wanted!r}")


def _unreadable(text: str, found: str) -> Invalid:
    names = ", ".join([*NAMES, "fixed(length)", "decimal(p, s)", "list<…>", "map<…, …>", "struct<name: …>"])
    found = found if len(found) <= 80 else f"{found[:79]}…"
    near = nearest(found.strip("'"), [*NAMES, *SYNONYMS, *_PARSERS])
    advice = f"Did you mean {near}?" if near else ""
    return Invalid("this is not the name of a type", subject=shown(text), expected=names, found=found, advice=advice)
