"""Random changes of schemas, as a user makes them one after the other, on any level, and what rows show after them.

The model of reading knows ids alone: neither names in files, nor statistics, nor types of engines.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal as Number
from random import Random
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.schema.evolution import (
    FIRST,
    add_column,
    after,
    before,
    drop_column,
    make_optional,
    move_column,
    rename_column,
    set_comment,
    set_default,
    set_key,
    widen_column,
)
from lakebed.table.schema.schema import Schema, physical_names, with_ids
from lakebed.table.types.types import ELEMENT, KEY, VALUE, Field, List, Map, Struct, Type, children_of, parse_type, walk

NAMES = ("a", "B", "c", "Ünï", "e", "f", "g.h", "I")
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "int": (7, -(2**31)),
    "long": (7, 2**62),
    "float": (0.5, -1.25),
    "double": (0.1, 1e300),
    "decimal(5, 2)": (Number("1.25"), Number("-999.99")),
    "decimal(9, 2)": (Number("1.25"),),
    "date": (0, 19_000),
    "timestamp": (1_700_000_000_000_001,),
    "timestamptz": (-1, 1_700_000_000_000_001),
    "string": ("", "it's \\ `ü` 💧\n"),
    "binary": (b"", b"\x00\xff'"),
}
TYPES = (
    *DEFAULTS,
    "list<int>",
    "map<string, float>",
    "struct<a: int, B: string>",
    "list<struct<a: int, c: float>>",
    "map<int, struct<a: int, B: decimal(5, 2)>>",
)
WIDER = {"int": "long", "float": "double", "decimal(5, 2)": "decimal(9, 2)"}

_INT, _FLOAT, _STRING = map(parse_type, ("int", "float", "string"))

FIRST_SCHEMA = with_ids(
    Schema(
        [
            Field("id", parse_type("long"), required=True),
            Field("a", _INT),
            Field("B", Struct((Field("a", _FLOAT), Field("c", _STRING, required=True)))),
            Field("c", List(Struct((Field("a", _INT), Field("B", _STRING))), element_required=True)),
            Field("Ünï", Map(_STRING, Struct((Field("a", parse_type("decimal(5, 2)")), Field("c", List(_INT)))))),
        ]
    ),
    1,
    1,
)


Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the field at a path; `detail` is a new name, type, comment or default, or another field's path."""

    change: str
    path: Path
    detail: Any = None
    default: Any = None
    required: bool = False


CHANGES = (
    *("add",) * 4,
    *("drop", "rename", "widen") * 2,
    "first",
    "before",
    "after",
    "optional",
    "comment",
    "default",
    "key",
)


def draw(random: Random, schema: Schema) -> Step:
    """A change that makes some sense for the schema, which need not allow it."""
    change = random.choice(CHANGES)
    ways = list(walk(schema.fields))
    path = _path(way := random.choice(ways))
    beside = [one for one in ways if one[:-1] == way[:-1]]
    match change:
        case "add":
            type = random.choice(TYPES)
            default = random.choice([None, *DEFAULTS.get(type, ())])
            above = random.choice([(), (), path, *(_path(one) for one in ways if isinstance(one[-1].type, Struct))])
            return Step(change, (*above, random.choice(NAMES)), type, default, random.random() < 0.3)
        case "rename":
            return Step(change, path, random.choice(NAMES))
        case "widen":
            return Step(change, path, WIDER.get(str(way[-1].type), random.choice(TYPES)))
        case "before" | "after":
            return Step(change, path, _path(random.choice(random.choice([ways, beside, beside]))))
        case "comment":
            return Step(change, path, random.choice(["said", "said again"]))
        case "default":
            return Step(change, path, random.choice([None, *DEFAULTS.get(str(way[-1].type), ())]))
        case _:
            return Step(change, path)


def _path(way: tuple[Field, ...]) -> Path:
    return tuple(one.name for one in way)


def take(step: Step, schema: Schema, ids: Iterator[int], used_names: Collection[str] = ()) -> Schema:
    """The schema after the change; `Invalid` if it does not allow it."""
    match step.change:
        case "add":
            kept = {"required": step.required, "default": step.default}
            return add_column(schema, step.path, step.detail, ids=ids, used_names=used_names, **kept)
        case "drop":
            return drop_column(schema, step.path)
        case "rename":
            return rename_column(schema, step.path, step.detail)
        case "first":
            return move_column(schema, step.path, FIRST)
        case "before":
            return move_column(schema, step.path, before(step.detail))
        case "after":
            return move_column(schema, step.path, after(step.detail))
        case "widen":
            return widen_column(schema, step.path, step.detail)
        case "optional":
            return make_optional(schema, step.path)
        case "comment":
            return set_comment(schema, step.path, step.detail)
        case "default":
            return set_default(schema, step.path, step.detail)
        case "key":
            return set_key(schema, [step.path])
    raise AssertionError(step.change)


def evolutions(random: Random, schema: Schema, ids: Iterator[int], steps: int) -> list[Schema]:
    """The schema and those that random changes make of it one after the other; what is not allowed changes nothing."""
    found, used = [schema], set(physical_names(schema))
    for _ in range(steps):
        try:
            found.append(take(draw(random, found[-1]), found[-1], ids, used))
        except Invalid:
            continue
        used |= physical_names(found[-1])
    return found


Row = dict[str, Any]
"""A row as Arrow takes it: plain values by columns' names; a map is a list of pairs."""


def rows(random: Random, schema: Schema, count: int) -> list[Row]:
    """Random rows of a schema, with nulls wherever they may be."""
    return [_row(random, schema.fields) for _ in range(count)]


def _row(random: Random, fields: tuple[Field, ...]) -> Row:
    return {
        one.name: None if not one.required and random.random() < 0.3 else _value(random, one.type) for one in fields
    }


def _value(random: Random, type: Type) -> Any:
    match type:
        case Struct(fields):
            return _row(random, fields)
        case List():
            part = children_of(type)
            return [_row(random, part)[ELEMENT] for _ in range(random.randrange(3))]
        case Map():
            pairs = [_row(random, children_of(type)) for _ in range(random.randrange(3))]
            return list({repr(one[KEY]): (one[KEY], one[VALUE]) for one in pairs}.values())
        case _:
            return random.choice(DEFAULTS[str(type)])


def shown(row: Row, written: tuple[Field, ...], read: tuple[Field, ...]) -> Row:
    """A row of one schema as a later one shows it."""
    old = {one.id: one for one in written}
    return {
        one.name: _shown(row[old[one.id].name], old[one.id].type, one.type) if one.id in old else one.initial_default
        for one in read
    }


def _shown(value: Any, written: Type, read: Type) -> Any:
    if value is None:
        return None
    old, new = children_of(written), children_of(read)
    match read:
        case Struct():
            return shown(value, old, new)
        case List():
            return [shown({ELEMENT: one}, old, new)[ELEMENT] for one in value]
        case Map():
            pairs = [shown({KEY: key, VALUE: one}, old, new) for key, one in value]
            return [(one[KEY], one[VALUE]) for one in pairs]
        case _:
            return value
