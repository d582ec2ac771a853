"""A schema: the columns of a table, each with a permanent id and its name in the files."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lakebed.caches import remembered
from lakebed.errors import Invalid
from lakebed.table.schema.defaults import check_default, check_length
from lakebed.table.types.names import check_column_names, folded_column
from lakebed.table.types.types import (
    DOUBLE,
    FLOAT,
    Field,
    Fields,
    Simple,
    Struct,
    Type,
    Way,
    children_of,
    named_fields,
    numbered_fields,
    quoted_name,
    walk,
    with_children,
)

Path = str | tuple[str, ...]
"""The names that lead to a field: joined by dots, or a tuple of names if a name has a dot itself.

A list's element, a map's keys and its values are called `element`, `key` and `value`.
"""


@dataclass(frozen=True, repr=False)
class Schema:
    """Columns in order. `id` is the schema's own number in its table, 0 if it belongs to none.

    `identifier_ids` are Iceberg's identifier fields: the table's primary key, in its order. `unknown` are keys that a
    newer Lakebed or another writer stored with it, as JSON.
    """

    fields: tuple[Field, ...]
    id: int = 0
    identifier_ids: tuple[int, ...] = ()
    unknown: str = field(default="", compare=False, repr=False)

    def __init__(
        self,
        fields: Iterable[Field] | Mapping[str, str | Type],
        id: int = 0,
        identifier_ids: Iterable[int] = (),
        unknown: str = "",
    ) -> None:
        columns = _fields(fields) if isinstance(fields, Mapping) else tuple(fields)
        for column in columns:
            if not isinstance(column, Field):
                raise Invalid("a schema is made of fields", expected="lakebed.Field", found=type(column).__name__)
        check_column_names([column.name for column in columns])
        _check_defaults(columns)
        object.__setattr__(self, "fields", columns)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "identifier_ids", tuple(identifier_ids))
        object.__setattr__(self, "unknown", unknown)
        _check_identifiers(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.fields)

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key: the paths of its columns, empty if the table has no key."""
        return tuple(self.path_of(id) for id in self.identifier_ids)

    def field(self, name: str) -> Field:
        """The column with this name, compared without case; `Invalid` if there is none."""
        found = self._by_name.get(folded_column(name)) if isinstance(name, str) else None
        if found is None:
            raise Invalid("there is no such column", subject=repr(name), expected=f"one of {', '.join(self.names)}")
        return found

    def find(self, path: Path) -> Field:
        """The field at a path through structs, lists and maps; `Invalid` if there is none, or more than one."""
        return self.way(path)[-1]

    def way(self, path: Path) -> Way:
        """The field at a path, preceded by the fields that it is inside of, the outermost first."""
        names = (path,) if isinstance(path, str) else path
        found = self._by_path.get(_dotted(names), []) if all(isinstance(name, str) for name in names) else []
        if not isinstance(path, str):
            found = [way for way in found if _folded(way) == tuple(map(folded_column, path))]
        if len(found) > 1:
            raise Invalid("two fields have this path", subject=repr(path), advice="Pass it as a tuple of names.")
        if not found:
            shown = path if isinstance(path, str) else ".".join(map(str, path))
            expected = f"one of {', '.join(self.names)}"
            raise Invalid(
                "there is no such column", subject=repr(shown), expected=expected, advice=self.advice_for(shown)
            )
        return found[0]

    def advice_for(self, shown: str) -> str:
        """What to write instead of a path that is not there, if it is the name of a column that has a dot."""
        whole = self._by_name.get(folded_column(shown))
        return "" if whole is None else f"The name of the column has a dot: write {quoted_name(whole.name)}."

    def field_by_id(self, id: int) -> Field:
        """The field with this id, on any level; `Invalid` if there is none."""
        return self.way_by_id(id)[-1]

    def way_by_id(self, id: int) -> Way:
        """The field with this id, preceded by the fields that it is inside of, the outermost first."""
        if id not in self.ways:
            raise Invalid("there is no column with this id", subject=str(id))
        return self.ways[id]

    def path_of(self, id: int) -> str:
        """The path of the field with this id, for display."""
        return dotted_path(self.way_by_id(id))

    @remembered
    def ways(self) -> Mapping[int, Way]:
        """The way to every field on every level, by the field's id."""
        return {way[-1].id: way for way in walk(self.fields)}

    def select(self, names: Iterable[str]) -> "Schema":
        """A schema with these columns, in this order; `Invalid` if a column is missing or named twice.

        It has no primary key, since that belongs to the whole table.
        """
        if isinstance(names, str) or not isinstance(names, Iterable):
            expected = f"[{names!r}]" if isinstance(names, str) else "a list"
            raise Invalid("columns must be a list of names", subject=repr(names), expected=expected)
        return Schema([self.field(name) for name in names], self.id)

    @property
    def highest_id(self) -> int:
        """The highest id of a field on any level; 0 if there are no fields."""
        return max((way[-1].id for way in walk(self.fields)), default=0)

    def __hash__(self) -> int:
        return self._hash

    @remembered
    def _hash(self) -> int:
        return hash((self.fields, self.id, self.identifier_ids))

    @remembered
    def _by_name(self) -> dict[str, Field]:
        return {folded_column(column.name): column for column in self.fields}

    @remembered
    def _by_path(self) -> dict[str, list[Way]]:
        ways: dict[str, list[Way]] = {}
        for way in walk(self.fields):
            ways.setdefault(_dotted(_folded(way)), []).append(way)
        return ways

    def __str__(self) -> str:
        lines = [f"  {column.name}: {column.type}{' not null' if column.required else ''}" for column in self.fields]
        return "\n".join(["schema", *lines])

    def __repr__(self) -> str:
        columns = (f"{column.name}: {column.type}{' not null' if column.required else ''}" for column in self.fields)
        return f"Schema({', '.join(columns)})"


def missing_columns(schema: Schema, names: Iterable[str], needed: Iterable[Field]) -> tuple[str, ...]:
    """The columns that rows with these names don't have, except for those that they need."""
    given = {folded_column(name) for name in names} | {folded_column(field.name) for field in needed}
    return tuple(name for name in schema.names if folded_column(name) not in given)


def with_optional(schema: Schema, names: Collection[str]) -> Schema:
    """The columns, some of which may be null; without a primary key, which may never be."""
    fields = [replace(field, required=False) if field.name in names else field for field in schema.fields]
    return Schema(fields, schema.id)


def dotted_path(way: Way) -> str:
    """The path of a field, for display."""
    return ".".join(field.name for field in way)


def physical_names(schema: Schema) -> frozenset[str]:
    """The names of all fields, on every level, in the files, in the form that is compared."""
    return frozenset(folded_column(way[-1].physical_name) for way in walk(schema.fields))


def id_count(schema: Schema) -> int:
    """How many ids the fields of a schema need."""
    return sum(1 for _ in walk(schema.fields))


def with_ids(schema: Schema, schema_id: int, first: int) -> Schema:
    """The first schema of a table: its fields get ids from `first` on, and physical names.

    Ids go level by level, as Iceberg's do. A primary key is added afterwards: `with_key`.
    """
    return Schema(numbered_fields(schema.fields, iter(range(first, first + id_count(schema)))), schema_id)


def with_names(schema: Schema, schema_id: int) -> Schema:
    """The first schema of a table whose fields keep ids that another table gave them; they get physical names."""
    return Schema(named_fields(schema.fields), schema_id)


def with_key(schema: Schema, names: Iterable[Path]) -> Schema:
    """The first schema of a table, with a primary key: its columns become required, and the structs around them."""
    check_key_names(names)
    ways = [schema.way(name) for name in names]
    ids = {field.id for way in ways for field in way}
    if 0 in ids:
        raise Invalid("the columns of a primary key must have ids", expected="with_ids before with_key")
    return Schema(_with_required(schema.fields, ids), schema.id, [way[-1].id for way in ways])


def check_key_names(names: Iterable[Path]) -> None:
    """Refuse a single text in place of a list of names."""
    if isinstance(names, str):
        raise Invalid("a primary key must be a list of names", subject=repr(names), expected=f"[{names!r}]")


def check_identifier(way: Way) -> None:
    """Refuse a field that can't be in a primary key, by Iceberg's rules: its value must exist and be comparable."""
    *above, field = way
    if not isinstance(field.type, Simple) or field.type in (FLOAT, DOUBLE):
        raise _unfit_for_key(way, "a simple type other than float and double", str(field.type))
    for outer in above:
        if not isinstance(outer.type, Struct):
            raise _unfit_for_key(way, "a column outside of lists and maps", f"a column inside {outer.name}")
    for each in way:
        if not each.required:
            raise _unfit_for_key(way, "a required column", f"{each.name}, which may be null")


def _folded(way: Way) -> tuple[str, ...]:
    return tuple(folded_column(field.name) for field in way)


def _dotted(names: Iterable[str]) -> str:
    return ".".join(map(folded_column, names))


def _fields(types: Mapping[str, str | Type]) -> Fields:
    return tuple(Field(name, type) for name, type in types.items())  # type: ignore[arg-type]  # text is parsed there


def check_new_defaults(fields: Fields) -> None:
    """Refuse defaults of a new table that are too long; those of tables that exist are read, however long they are."""
    pending = [*fields]
    while pending:
        field = pending.pop()
        check_length(field, field.initial_default)
        check_length(field, field.write_default)
        pending += children_of(field.type)


def _check_defaults(fields: Fields) -> None:
    pending = [*fields]  # without recursion: a caller's types may be of any depth, until they are checked
    while pending:
        field = pending.pop()
        if field.initial_default is not None or field.write_default is not None:
            check_default(field, field.initial_default)
            check_default(field, field.write_default)
        if not isinstance(field.type, Simple):  # most are simple, and reads make a schema for every row group
            pending += children_of(field.type)


def _check_identifiers(schema: Schema) -> None:
    seen: set[int] = set()
    for id in schema.identifier_ids:
        if id not in schema.ways:
            raise Invalid("a column of the primary key does not exist", subject=f"field {id}")
        check_identifier(schema.ways[id])
        if id in seen:
            raise Invalid("a primary key has a column twice", subject=schema.path_of(id))
        seen.add(id)


def _with_required(fields: Fields, ids: set[int]) -> Fields:
    return tuple(
        replace(field, required=True, type=with_children(field.type, _with_required(children_of(field.type), ids)))
        if field.id in ids
        else field
        for field in fields
    )


def _unfit_for_key(way: Way, expected: str, found: str) -> Invalid:
    return Invalid("a column can't be in a primary key", subject=dotted_path(way), expected=expected, found=found)
