"""A schema: the columns of a table, each with an id that it keeps and the name that it has in the files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from lakebed.errors import Invalid
from lakebed.table.schema.defaults import check_default
from lakebed.table.types.names import check_column_names, folded_column
from lakebed.table.types.types import (
    DOUBLE,
    FLOAT,
    Field,
    Parts,
    Simple,
    Struct,
    Type,
    numbered,
    parts_of,
    walk,
    with_parts,
)

Path = str | tuple[str, ...]
"""The way to a field: names with dots between them, or a tuple of names if one has a dot itself.

A list's element, a map's keys and its values are called `element`, `key` and `value`.
"""


@dataclass(frozen=True)
class Schema:
    """Columns in their order. `id` is the schema's own number in its table, 0 for one that no table has.

    `identifier_ids` are the fields that tell rows apart, as Iceberg has them: the table's primary key, in its order.
    """

    fields: tuple[Field, ...]
    id: int = 0
    identifier_ids: tuple[int, ...] = ()

    def __init__(
        self, fields: Iterable[Field] | Mapping[str, str | Type], id: int = 0, identifier_ids: Iterable[int] = ()
    ) -> None:
        columns = _named(fields) if isinstance(fields, Mapping) else tuple(fields)
        for one in columns:
            if not isinstance(one, Field):
                raise Invalid("a schema is made of fields", expected="lakebed.Field", found=type(one).__name__)
        check_column_names([one.name for one in columns])
        _check_defaults(columns)
        object.__setattr__(self, "fields", columns)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "identifier_ids", tuple(identifier_ids))
        _check_identifiers(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(one.name for one in self.fields)

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key: the paths of its columns, none if the table has no key."""
        return tuple(self.path_of(id) for id in self.identifier_ids)

    def field(self, name: str) -> Field:
        """The column of this name, compared without case; `Invalid` if there is none."""
        found = self._by_name.get(folded_column(name)) if isinstance(name, str) else None
        if found is None:
            raise Invalid("there is no such column", subject=repr(name), expected=f"one of {', '.join(self.names)}")
        return found

    def find(self, path: Path) -> Field:
        """The field at a path through structs, lists and maps; `Invalid` if there is none, or one for two readings."""
        return self.way(path)[-1]

    def way(self, path: Path) -> Parts:
        """The field at a path, with those that it is inside of before it, the outermost first."""
        parts = (path,) if isinstance(path, str) else path
        found = self._by_path.get(_dotted(parts), []) if all(isinstance(one, str) for one in parts) else []
        if not isinstance(path, str):
            found = [way for way in found if _folded(way) == tuple(map(folded_column, path))]
        if len(found) > 1:
            raise Invalid("two fields have this path", subject=repr(path), advice="Give it as a tuple of names.")
        if not found:
            raise Invalid("there is no such column", subject=repr(path), expected=f"one of {', '.join(self.names)}")
        return found[0]

    def field_by_id(self, id: int) -> Field:
        """The field with this id, on any level; `Invalid` if there is none."""
        return self.way_by_id(id)[-1]

    def way_by_id(self, id: int) -> Parts:
        """The field with this id, with those that it is inside of before it, the outermost first."""
        if id not in self.ways:
            raise Invalid("there is no column with this id", subject=str(id))
        return self.ways[id]

    def path_of(self, id: int) -> str:
        """The path of the field with this id, for people to read."""
        return shown(self.way_by_id(id))

    @cached_property
    def ways(self) -> Mapping[int, Parts]:
        """Every field on every level by its id, with those that it is inside of before it."""
        return {way[-1].id: way for way in walk(self.fields)}

    def select(self, names: Iterable[str]) -> "Schema":
        """A schema with these columns, in the order asked for; `Invalid` for one that is not there or comes twice.

        It has no primary key: that is the whole table's.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):
            expected = f"[{names!r}]" if isinstance(names, str) else "a list"
            raise Invalid("columns are given as a list of names", subject=repr(names), expected=expected)
        return Schema([self.field(name) for name in names], self.id)

    @property
    def highest_id(self) -> int:
        """The highest id of a field, nested ones included; 0 without any."""
        return max((way[-1].id for way in walk(self.fields)), default=0)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.fields, self.id, self.identifier_ids))

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {folded_column(one.name): one for one in self.fields}

    @cached_property
    def _by_path(self) -> dict[str, list[Parts]]:
        found: dict[str, list[Parts]] = {}
        for way in walk(self.fields):
            found.setdefault(_dotted(_folded(way)), []).append(way)
        return found

    def __str__(self) -> str:
        lines = [f"  {one.name}: {one.type}{' not null' if one.required else ''}" for one in self.fields]
        return "\n".join(["schema", *lines])


def shown(way: Parts) -> str:
    """The path of a field, for people to read."""
    return ".".join(one.name for one in way)


def _folded(way: Parts) -> tuple[str, ...]:
    return tuple(folded_column(one.name) for one in way)


def _dotted(names: Iterable[str]) -> str:
    return ".".join(map(folded_column, names))


def _named(types: Mapping[str, str | Type]) -> tuple[Field, ...]:
    return tuple(Field(name, type) for name, type in types.items())  # type: ignore[arg-type]  # text is parsed there


def _check_defaults(columns: Parts) -> None:
    for one in columns:
        if one.initial_default is not None or one.write_default is not None:
            check_default(one, one.initial_default)
            check_default(one, one.write_default)
        if not isinstance(one.type, Simple):  # most are: reads make schemas by the row group
            _check_defaults(parts_of(one.type))


def _check_identifiers(schema: Schema) -> None:
    seen: set[int] = set()
    for id in schema.identifier_ids:
        if id not in schema.ways:
            raise Invalid("a primary key has a column that is not there", subject=f"field {id}")
        check_identifier(schema.ways[id])
        if id in seen:
            raise Invalid("a primary key has a column twice", subject=schema.path_of(id))
        seen.add(id)


def check_identifier(way: Parts) -> None:
    """Refuse a field that can't be in a primary key, by Iceberg's rules: its value must exist and be comparable."""
    *above, field = way
    if not isinstance(field.type, Simple) or field.type in (FLOAT, DOUBLE):
        raise _unfit_for_key(way, "a type without parts, no float or double", str(field.type))
    for one in above:
        if not isinstance(one.type, Struct):
            raise _unfit_for_key(way, "a column outside of lists and maps", f"one inside {one.name}")
    for one in way:
        if not one.required:
            raise _unfit_for_key(way, "a required column", f"{one.name}, which may be null")


def _unfit_for_key(way: Parts, expected: str, found: str) -> Invalid:
    return Invalid("a column can't be in a primary key", subject=shown(way), expected=expected, found=found)


def id_count(schema: Schema) -> int:
    """How many ids the fields of a schema need."""
    return sum(1 for _ in walk(schema.fields))


def with_ids(schema: Schema, schema_id: int, first: int) -> Schema:
    """The first schema of a table: its fields get ids from `first` on, and are called in the files as they are now.

    Ids go level by level, as Iceberg's do. A primary key comes after them: `with_key`.
    """
    return Schema(numbered(schema.fields, iter(range(first, first + id_count(schema)))), schema_id)


def with_key(schema: Schema, names: Iterable[Path]) -> Schema:
    """The first schema of a table, with a primary key: its columns become required, and what they are inside of."""
    if isinstance(names, str):
        raise Invalid("a primary key is given as a list of names", subject=repr(names), expected=f"[{names!r}]")
    ways = [schema.way(name) for name in names]
    if any(one.id == 0 for way in ways for one in way):
        raise Invalid("a primary key is of columns with ids", expected="with_ids before with_key")
    needed = {one.id for way in ways for one in way}
    return Schema(_required(schema.fields, needed), schema.id, [way[-1].id for way in ways])


def _required(fields: Parts, ids: set[int]) -> Parts:
    return tuple(
        replace(one, required=True, type=with_parts(one.type, _required(parts_of(one.type), ids)))
        if one.id in ids
        else one
        for one in fields
    )


def physical_names(schema: Schema) -> frozenset[str]:
    """The names that fields have in the files, on every level, in the form in which they are compared."""
    return frozenset(folded_column(way[-1].physical_name) for way in walk(schema.fields))
