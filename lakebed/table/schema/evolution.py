"""Schema evolution: what turns a table's schema into its next one. No change rewrites a file.

Each function answers a new schema, with the id of the one it was given: the caller gives it one of its own. Field ids
are the caller's to take, `column_id_count` of them, and never come again; so are physical names. What is refused is
`Invalid`, which names the field and the rule.

A path is dotted text or a tuple of names. What is inside a list or a map is reached by `element` and `value`; a map's
keys never change, since two of them could become one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.schema.defaults import plain_default
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Path, Schema, check_identifier, physical_names
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import (
    DOUBLE,
    ELEMENT,
    FLOAT,
    INT,
    KEY,
    LONG,
    VALUE,
    Decimal,
    Field,
    List,
    Map,
    Parts,
    Struct,
    Type,
    numbered,
    parse_type,
    parts_of,
    walk,
    with_parts,
)

_WIDER = {(INT, LONG), (FLOAT, DOUBLE)}


class Side(Enum):
    """Where a column goes: to the front of its struct, or beside another one in it."""

    FIRST = "first"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Position:
    """A place among the columns of one struct; `other` is the path of the column that it is beside."""

    side: Side
    other: Path = ()


FIRST = Position(Side.FIRST)


def before(path: Path) -> Position:
    """The place just before another column."""
    return Position(Side.BEFORE, path)


def after(path: Path) -> Position:
    """The place just behind another column."""
    return Position(Side.AFTER, path)


def column_id_count(type: Type | str) -> int:
    """How many field ids a new column of this type takes."""
    return 1 + len(list(walk(parts_of(_parsed(type)))))


def add_column(
    schema: Schema,
    path: Path,
    type: Type | str,
    *,
    ids: Iterator[int],
    used_names: Collection[str] = (),
    required: bool = False,
    default: Any = None,
    comment: str = "",
    position: Position | None = None,
) -> Schema:
    """Add a column, last in its struct unless a position is given.

    Rows that are there already show the default, null without one, and so do rows that will come without the column: a
    required column has to have one. `used_names` are all physical names that the table ever had (`physical_names`), on
    any level: data of a column that was dropped must not come back under a new one.
    """
    above, name = _new_place(schema, path)
    new = Field(name, _parsed(type), required, comment)
    value = plain_default(new, default)
    if required and value is None:
        raise _refused(path, "a required column is added without a default: rows that are there would have no value")
    [given] = numbered((new,), ids)
    used = {*used_names, *physical_names(schema)}
    column = replace(
        given, physical_name=_physical_name(name, given.id, used), initial_default=value, write_default=value
    )
    grown = _changed(schema, above, lambda fields: (*fields, column))
    return grown if position is None else _moved(grown, (*above, column), position)


def drop_column(schema: Schema, path: Path, *, in_use: Collection[int] = ()) -> Schema:
    """Take a column away, with all inside it; its data stays in the files, and no later column shows it.

    `in_use` are the ids of fields that the table's partition spec or sort order takes its values from.
    """
    *above, column = way = _named_way(schema, path)
    gone = {one[-1].id for one in walk((column,))}
    _check_free(schema, way, gone, "dropped")
    if used := gone.intersection(in_use):
        of = schema.path_of(min(used))
        raise _refused(way, "a column that the partition spec or sort order uses is dropped", found=of)
    if len(_siblings(schema, above)) == 1:
        raise _refused(way, "the last column is dropped, and there must be one")
    return _changed(schema, above, lambda fields: tuple(one for one in fields if one.id != column.id))


def rename_column(schema: Schema, path: Path, name: str) -> Schema:
    """Give a column another name: the last part of its path, never a path. In the files it keeps the one it has."""
    way = _named_way(schema, path)
    _check_new_name([one for one in _siblings(schema, way[:-1]) if one.id != way[-1].id], way[:-1], name)
    return _replaced(schema, way, lambda column: replace(column, name=name))


def move_column(schema: Schema, path: Path, position: Position) -> Schema:
    """Put a column in another place of its struct."""
    return _moved(schema, _named_way(schema, path), position)


def widen_column(schema: Schema, path: Path, type: Type | str) -> Schema:
    """Give a column a type that holds all values of its own: int to long, float to double, a decimal of more digits."""
    wider = _parsed(type)
    way = _mutable_way(schema, path)
    if not widens(way[-1].type, wider):
        raise _refused(
            way,
            "a column's type only gets wider",
            expected="int to long, float to double, or a decimal of the same scale and more digits",
            found=f"{way[-1].type} to {wider}",
        )
    if wider == way[-1].type:
        return schema
    first = way[-1].widened_from or way[-1].type
    return _replaced(schema, way, lambda column: replace(column, type=wider, widened_from=first))


def make_optional(schema: Schema, path: Path) -> Schema:
    """Let a column, a list's element or a map's value be null from now on."""
    way = _mutable_way(schema, path)
    _check_free(schema, way, {one[-1].id for one in walk((way[-1],))}, "made optional")
    return _replaced(schema, way, lambda column: replace(column, required=False))


def set_comment(schema: Schema, path: Path, comment: str) -> Schema:
    """Say something else of a column; "" says nothing."""
    return _replaced(schema, _named_way(schema, path), lambda column: replace(column, comment=comment))


def set_default(schema: Schema, path: Path, default: Any) -> Schema:
    """What a column gets in rows that will come without it, null for None; rows that are there stay as they are."""
    way = _named_way(schema, path)
    value = plain_default(way[-1], default)
    return _replaced(schema, way, lambda column: replace(column, write_default=value))


def set_key(schema: Schema, names: Iterable[Path]) -> Schema:
    """Make these columns, which have to be required, the primary key; no names, and there is none."""
    if isinstance(names, str):
        raise Invalid("a primary key is given as a list of names", subject=repr(names), expected=f"[{names!r}]")
    ways = [schema.way(name) for name in names]
    for way in ways:
        check_identifier(way)
    return Schema(schema.fields, schema.id, [way[-1].id for way in ways])


def _parsed(type: Type | str) -> Type:
    return parse_type(type) if isinstance(type, str) else type


def widens(narrow: Type, wide: Type) -> bool:
    """Whether a column of the one type can become one of the other; types with parts never change as a whole."""
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    parts = isinstance(narrow, Struct | List | Map)
    return not parts and (narrow == wide or (narrow, wide) in _WIDER)


def _new_place(schema: Schema, path: Path) -> tuple[Parts, str]:
    """What a new column will be inside of, and its name."""
    names: tuple[str, ...] = tuple(path.rsplit(".", 1)) if isinstance(path, str) else tuple(path)
    if not names:
        raise Invalid("a path has no name in it", subject=repr(path))
    *above, name = names
    way = _mutable_way(schema, above[0] if isinstance(path, str) else tuple(above)) if above else ()
    if way and not isinstance(way[-1].type, Struct):
        raise _refused(way, "a column is added to what is no struct", found=str(way[-1].type))
    _check_new_name(_siblings(schema, way), way, name)
    return way, name


def _check_new_name(siblings: Iterable[Field], above: Parts, name: str) -> None:
    if not isinstance(name, str):
        return  # which the schema refuses
    if not above:
        check_free_name(name)
    for one in siblings:
        if folded_column(one.name) == folded_column(name):
            subject = ".".join([*(each.name for each in above), name])
            raise Invalid("a column of this name is there", subject=subject, found=one.name, advice="Choose another.")


def _physical_name(name: str, id: int, used: Collection[str]) -> str:
    while folded_column(name) in used:
        name = f"{name}_{id}"
    return name


def _mutable_way(schema: Schema, path: Path) -> Parts:
    """The way to a field that is no key of a map, nor inside one."""
    way = schema.way(path)
    if any(isinstance(outer.type, Map) and one.name == KEY for outer, one in pairwise(way)):
        raise _refused(way, "the keys of a map are changed, and two of them could become one")
    return way


def _named_way(schema: Schema, path: Path) -> Parts:
    """The way to a field that has a name of its own: not the part of a list or map."""
    way = _mutable_way(schema, path)
    if len(way) > 1 and not isinstance(way[-2].type, Struct):
        raise _refused(way, f"the part of a list or map ({ELEMENT}, {KEY}, {VALUE}) has no name or place of its own")
    return way


def _check_free(schema: Schema, way: Parts, ids: Collection[int], what: str) -> None:
    for id in schema.identifier_ids:
        if id in ids:
            raise _refused(
                way,
                f"a column of the primary key is {what}",
                found=f"the key {', '.join(schema.key)}",
                advice="Give the table another key first.",
            )


def _siblings(schema: Schema, above: Iterable[Field]) -> Parts:
    """The fields inside the last of these, or the columns if there is none."""
    *_, last = (None, *above)
    return schema.fields if last is None else parts_of(schema.field_by_id(last.id).type)


def _moved(schema: Schema, way: Parts, position: Position) -> Schema:
    *above, column = way
    return _changed(schema, above, lambda fields: _reordered(schema, fields, column.id, position))


def _reordered(schema: Schema, fields: Parts, id: int, position: Position) -> Parts:
    [column] = [one for one in fields if one.id == id]
    others = [one for one in fields if one.id != id]
    if position.side is Side.FIRST:
        return (column, *others)
    beside = schema.way(position.other)
    if beside[-1].id == id:
        raise _refused(beside, "a column is moved beside itself")
    places = [place for place, one in enumerate(others) if one.id == beside[-1].id]
    if not places:
        raise _refused(beside, "a column stays in its struct", found=f"{column.name}, which is in another one")
    at = places[0] + (position.side is Side.AFTER)
    return (*others[:at], column, *others[at:])


def _replaced(schema: Schema, way: Parts, change: Callable[[Field], Field]) -> Schema:
    *above, column = way
    return _changed(schema, above, lambda fields: tuple(change(one) if one.id == column.id else one for one in fields))


def _changed(schema: Schema, above: Iterable[Field], change: Callable[[Parts], Parts]) -> Schema:
    """The schema with what is inside the last of these fields, or with the columns if there is none, changed."""
    fields = _rebuilt(schema.fields, [one.id for one in above], change)
    return Schema(fields, schema.id, schema.identifier_ids)


def _rebuilt(fields: Parts, way: list[int], change: Callable[[Parts], Parts]) -> Parts:
    if not way:
        return change(fields)
    return tuple(
        replace(one, type=with_parts(one.type, _rebuilt(parts_of(one.type), way[1:], change)))
        if one.id == way[0]
        else one
        for one in fields
    )


def _refused(path: Path | Parts, problem: str, **details: Any) -> Invalid:
    names = [path] if isinstance(path, str) else [one if isinstance(one, str) else one.name for one in path]
    return Invalid(problem, subject=".".join(names), **details)


def new_columns(table: Schema, given: Schema) -> list[tuple[tuple[str, ...], Type]]:
    """The paths and types of the columns that are given and not there, compared by name without case, in their order.

    A field inside a struct counts, in lists and maps too; what is new as a whole comes without its parts.
    """
    return list(_new(table.fields, given.fields, ()))


def _new(there: Parts, given: Parts, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Type]]:
    known = {folded_column(one.name): one for one in there}
    for one in given:
        found = known.get(folded_column(one.name))
        if found is None:
            yield (*path, one.name), one.type
        else:
            yield from _inside(found.type, one.type, (*path, found.name))


def _inside(there: Type, given: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Type]]:
    if isinstance(there, Struct | List | Map) and type(there) is type(given):
        yield from _new(parts_of(there), parts_of(given), path)
