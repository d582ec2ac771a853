"""Schema evolution: what turns a table's schema into its next one. No change rewrites a file.

Each function returns a new schema with the id of the one it was given; the caller assigns it an id of its own. The
caller also allocates field ids, `column_id_count` of them. Field ids and physical names are never reused. A change that
is refused raises `Invalid`, which names the field and the rule.

A path is dotted text or a tuple of names. `element` and `value` lead into a list or a map. A map's keys never change,
since two of them could become one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any

from lakebed.errors import Invalid
from lakebed.table.schema.defaults import plain_default
from lakebed.table.schema.metadata_columns import check_free_name
from lakebed.table.schema.schema import Path, Schema, check_identifier, check_key_names, physical_names
from lakebed.table.types.names import folded_column, physical_name
from lakebed.table.types.nesting import check_nesting
from lakebed.table.types.types import (
    BINARY,
    DOUBLE,
    ELEMENT,
    FLOAT,
    INT,
    KEY,
    LONG,
    STRING,
    UNLIMITED,
    VALUE,
    Decimal,
    Field,
    Fields,
    List,
    Map,
    Struct,
    Type,
    Way,
    children_of,
    numbered_fields,
    walk,
    with_children,
)

_WIDER = {(INT, LONG), (FLOAT, DOUBLE)}


class Side(Enum):
    """Where a column goes: to the front of its struct, or beside another column in it."""

    FIRST = "first"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Position:
    """A place among the columns of one struct; `other` is the path of the column beside it."""

    side: Side
    other: Path = ()


FIRST = Position(Side.FIRST)


def before(path: Path) -> Position:
    """The place just before another column."""
    return Position(Side.BEFORE, path)


def after(path: Path) -> Position:
    """The place just after another column."""
    return Position(Side.AFTER, path)


def column_id_count(type: Type | str) -> int:
    """How many field ids a new column of this type takes."""
    return 1 + len(list(walk(children_of(_parsed(type)))))


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
    known: Field | None = None,
) -> Schema:
    """Add a column, last in its struct unless a position is given.

    Rows that exist already, and rows written later without the column, show the default, or null if there is none. A
    required column must have a default. `used_names` are all physical names that the table ever had (`physical_names`),
    on any level: data of a dropped column must not come back under a new one. If the column is one that is `known` on
    another line, it has its ids and its names in files, and takes no new ones.
    """
    above, new = _new_column(schema, path, type, required=required, comment=comment)
    value = plain_default(new, default)
    if required and value is None:
        raise _refused(path, "a required column can't be added without a default: existing rows would have no value")
    check_nesting([new], above)
    if known is None:
        [numbered] = numbered_fields((new,), ids)
        used = {*used_names, *physical_names(schema)}
        named = replace(numbered, physical_name=physical_name(new.name, numbered.id, used))
    else:
        named = _numbered_as(new, known)
    column = replace(named, initial_default=value, write_default=value)
    grown = _with_fields(schema, above, lambda fields: (*fields, column))
    return grown if position is None else _with_moved(grown, (*above, column), position)


def new_column(schema: Schema, path: Path, type: Type | str) -> tuple[int | None, Field]:
    """The id of the struct that a column would be added to, None if it is the table itself; and the column."""
    above, new = _new_column(schema, path, type, required=False, comment="")
    return (above[-1].id if above else None), new


def is_like(one: Field, other: Field) -> bool:
    """Whether two columns have one name and one type, whatever their ids, comments and defaults are."""
    return one.name == other.name and _bare_type(one.type) == _bare_type(other.type)


def _new_column(schema: Schema, path: Path, type: Type | str, *, required: bool, comment: str) -> tuple[Way, Field]:
    above, name = _new_place(schema, path)
    return above, Field(name, type, required, comment)  # type: ignore[arg-type]  # text is parsed there


def _bare_type(type: Type) -> Type:
    parts = children_of(type)
    return with_children(type, tuple(Field(part.name, _bare_type(part.type), part.required) for part in parts))


def _numbered_as(new: Field, known: Field) -> Field:
    parts = zip(children_of(new.type), children_of(known.type), strict=True)
    inner = tuple(_numbered_as(part, same) for part, same in parts)
    return replace(
        new,
        id=known.id,
        physical_name=known.physical_name,
        widened_from=known.widened_from,
        type=with_children(new.type, inner),
    )


def drop_column(schema: Schema, path: Path, *, in_use: Collection[int] = ()) -> Schema:
    """Remove a column with everything inside it. Its data stays in the files, and no later column shows it.

    `in_use` are the ids of fields that the table's partition spec or sort order takes its values from.
    """
    *above, column = way = _named_way(schema, path)
    dropped = {inner[-1].id for inner in walk((column,))}
    _check_not_in_key(schema, way, dropped, "dropped")
    if used := dropped.intersection(in_use):
        raise _refused(
            way,
            "a column that the partition spec or sort order uses can't be dropped",
            found=schema.path_of(min(used)),
        )
    if len(_siblings(schema, above)) == 1:
        raise _refused(way, "the last column can't be dropped")
    return _with_fields(schema, above, lambda fields: tuple(field for field in fields if field.id != column.id))


def rename_column(schema: Schema, path: Path, name: str) -> Schema:
    """Give a column another name: the last part of its path, never a path. Its name in the files stays the same."""
    *above, column = way = _named_way(schema, path)
    siblings = [field for field in _siblings(schema, above) if field.id != column.id]
    _check_new_name(siblings, tuple(above), name)
    return _with_field(schema, way, lambda field: replace(field, name=name))


def move_column(schema: Schema, path: Path, position: Position) -> Schema:
    """Move a column to another place in its struct."""
    return _with_moved(schema, _named_way(schema, path), position)


def widen_column(schema: Schema, path: Path, type: Type | str) -> Schema:
    """Give a column a type that holds all its values: int to long, float to double, a decimal with more digits."""
    declared = Field("", type)  # type: ignore[arg-type]  # text is parsed there
    wider = declared.type
    way = _mutable_way(schema, path)
    narrow = way[-1].type
    if not widens(narrow, wider):
        raise _refused(
            way,
            "a column's type can only get wider",
            expected="int to long, float to double, or a decimal of the same scale and more digits",
            found=f"{narrow} to {wider}",
        )
    if wider == narrow:
        length = declared.max_length or (UNLIMITED if wider in (STRING, BINARY) else None)
        return _with_field(schema, way, lambda field: replace(field, max_length=length))
    first = way[-1].widened_from or narrow
    return _with_field(schema, way, lambda field: replace(field, type=wider, widened_from=first))


def widens(narrow: Type, wide: Type) -> bool:
    """Whether a column of the first type can become one of the second; a nested type never changes as a whole."""
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    nested = isinstance(narrow, Struct | List | Map)
    return not nested and (narrow == wide or (narrow, wide) in _WIDER)


def make_optional(schema: Schema, path: Path) -> Schema:
    """Let a column, a list's element or a map's value be null from now on."""
    way = _mutable_way(schema, path)
    _check_not_in_key(schema, way, {inner[-1].id for inner in walk((way[-1],))}, "made optional")
    return _with_field(schema, way, lambda field: replace(field, required=False))


def set_comment(schema: Schema, path: Path, comment: str) -> Schema:
    """Replace a column's comment; "" removes it."""
    return _with_field(schema, _named_way(schema, path), lambda field: replace(field, comment=comment))


def set_default(schema: Schema, path: Path, default: Any) -> Schema:
    """Set what rows written later without the column get, None for null; existing rows stay as they are."""
    way = _named_way(schema, path)
    value = plain_default(way[-1], default)
    return _with_field(schema, way, lambda field: replace(field, write_default=value))


def set_key(schema: Schema, names: Iterable[Path]) -> Schema:
    """Make these columns, which must be required, the primary key; without names there is none."""
    check_key_names(names)
    ways = [schema.way(name) for name in names]
    for way in ways:
        check_identifier(way)
    return Schema(schema.fields, schema.id, [way[-1].id for way in ways], schema.unknown)


def drop_key_columns(schema: Schema, names: Iterable[Path]) -> Schema:
    """Remove columns from the primary key; `Invalid` for a column that is not in it."""
    left = list(schema.identifier_ids)
    for name in names:
        way = schema.way(name)
        if way[-1].id not in left:
            raise _refused(way, "the column is not in the primary key", expected=f"one of {', '.join(schema.key)}")
        left.remove(way[-1].id)
    return Schema(schema.fields, schema.id, left, schema.unknown)


def new_columns(table: Schema, given: Schema) -> list[tuple[tuple[str, ...], Type]]:
    """The paths and types of the given columns that the table does not have, compared by name without case, in order.

    Fields inside structs, lists and maps count. The fields inside a new column are not listed.
    """
    return list(_new_fields(table.fields, given.fields, ()))


def _parsed(type: Type | str) -> Type:
    field = Field("", type)  # type: ignore[arg-type]  # text is parsed there
    check_nesting([field])
    return field.type


def _new_place(schema: Schema, path: Path) -> tuple[Way, str]:
    """The way to the struct that a new column will be inside of, and its name."""
    names: tuple[str, ...] = tuple(path.rsplit(".", 1)) if isinstance(path, str) else tuple(path)
    if not names:
        raise Invalid("a path has no name in it", subject=repr(path))
    *above, name = names
    way = _mutable_way(schema, above[0] if isinstance(path, str) else tuple(above)) if above else ()
    if way and not isinstance(way[-1].type, Struct):
        raise _refused(way, "a column can only be added to a struct", found=str(way[-1].type))
    _check_new_name(_siblings(schema, way), way, name)
    return way, name


def _check_new_name(siblings: Iterable[Field], above: Way, name: str) -> None:
    if not isinstance(name, str):
        return  # which the schema refuses
    if not above:
        check_free_name(name)
    for field in siblings:
        if folded_column(field.name) == folded_column(name):
            subject = ".".join([*(outer.name for outer in above), name])
            raise Invalid(
                "there is already a column with this name",
                subject=subject,
                found=field.name,
                advice="Choose another name.",
            )


def _mutable_way(schema: Schema, path: Path) -> Way:
    """The way to a field that is neither the key of a map nor inside one."""
    way = schema.way(path)
    if any(isinstance(outer.type, Map) and inner.name == KEY for outer, inner in pairwise(way)):
        raise _refused(way, "the keys of a map can't be changed: two of them could become one")
    return way


def _named_way(schema: Schema, path: Path) -> Way:
    """The way to a field with a name of its own: not a list's element, nor a map's key or value."""
    way = _mutable_way(schema, path)
    if len(way) > 1 and not isinstance(way[-2].type, Struct):
        raise _refused(way, f"{ELEMENT}, {KEY} and {VALUE} of a list or map have no name or place of their own")
    return way


def _check_not_in_key(schema: Schema, way: Way, ids: Collection[int], what: str) -> None:
    if any(id in ids for id in schema.identifier_ids):
        raise _refused(
            way,
            f"a column of the primary key can't be {what}",
            found=f"the key {', '.join(schema.key)}",
            advice="Give the table another key first.",
        )


def _siblings(schema: Schema, above: Iterable[Field]) -> Fields:
    """The fields inside the last of these, or the columns if there is none."""
    *_, last = (None, *above)
    return schema.fields if last is None else children_of(schema.field_by_id(last.id).type)


def _with_moved(schema: Schema, way: Way, position: Position) -> Schema:
    *above, column = way
    return _with_fields(schema, above, lambda fields: _reordered(schema, fields, column.id, position))


def _reordered(schema: Schema, fields: Fields, id: int, position: Position) -> Fields:
    [column] = [field for field in fields if field.id == id]
    others = [field for field in fields if field.id != id]
    if position.side is Side.FIRST:
        return (column, *others)
    beside = schema.way(position.other)
    if beside[-1].id == id:
        raise _refused(beside, "a column can't be moved beside itself")
    places = [place for place, field in enumerate(others) if field.id == beside[-1].id]
    if not places:
        raise _refused(beside, "a column can't leave its struct", found=f"{column.name}, in another struct")
    at = places[0] + (position.side is Side.AFTER)
    return (*others[:at], column, *others[at:])


def _with_field(schema: Schema, way: Way, change: Callable[[Field], Field]) -> Schema:
    """The schema with one field changed."""
    *above, changed = way
    return _with_fields(
        schema, above, lambda fields: tuple(change(field) if field.id == changed.id else field for field in fields)
    )


def _with_fields(schema: Schema, above: Iterable[Field], change: Callable[[Fields], Fields]) -> Schema:
    """The schema with the fields inside the last of these changed, or its columns if there is none."""
    fields = _rebuilt(schema.fields, [field.id for field in above], change)
    return Schema(fields, schema.id, schema.identifier_ids, schema.unknown)


def _rebuilt(fields: Fields, ids: list[int], change: Callable[[Fields], Fields]) -> Fields:
    if not ids:
        return change(fields)
    return tuple(
        replace(field, type=with_children(field.type, _rebuilt(children_of(field.type), ids[1:], change)))
        if field.id == ids[0]
        else field
        for field in fields
    )


def _new_fields(own: Fields, given: Fields, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Type]]:
    known = {folded_column(field.name): field for field in own}
    for field in given:
        found = known.get(folded_column(field.name))
        if found is None:
            yield (*path, field.name), field.type
        elif isinstance(found.type, Struct | List | Map) and type(found.type) is type(field.type):
            yield from _new_fields(children_of(found.type), children_of(field.type), (*path, found.name))


def _refused(path: Path | Way, problem: str, **details: Any) -> Invalid:
    names = [path] if isinstance(path, str) else [each if isinstance(each, str) else each.name for each in path]
    return Invalid(problem, subject=".".join(names), **details)
