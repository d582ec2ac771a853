"""A schema: the columns of a table, each with an id that it keeps and the name that it has in the files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from lakebed.errors import Invalid
from lakebed.table.column_names import check_column_names, folded_column
from lakebed.table.types import Field, List, Map, Struct, Type


@dataclass(frozen=True)
class Schema:
    """Columns in their order. `id` is the schema's own number in its table, 0 for one that no table has."""

    fields: tuple[Field, ...]
    id: int = 0

    def __init__(self, fields: Iterable[Field] | Mapping[str, str | Type], id: int = 0) -> None:
        columns = _named(fields) if isinstance(fields, Mapping) else tuple(fields)
        for one in columns:
            if not isinstance(one, Field):
                raise Invalid("a schema is made of fields", expected="lakebed.Field", found=type(one).__name__)
        check_column_names([one.name for one in columns])
        object.__setattr__(self, "fields", columns)
        object.__setattr__(self, "id", id)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(one.name for one in self.fields)

    def field(self, name: str) -> Field:
        """The column of this name, compared without case; `Invalid` if there is none."""
        found = self._by_name.get(folded_column(name)) if isinstance(name, str) else None
        if found is None:
            raise Invalid("there is no such column", subject=repr(name), expected=f"one of {', '.join(self.names)}")
        return found

    def select(self, names: Iterable[str]) -> "Schema":
        """A schema with these columns, in the order asked for; `Invalid` for one that is not there or comes twice."""
        if isinstance(names, str):
            raise Invalid("columns are given as a list of names", subject=repr(names), expected=f"[{names!r}]")
        return Schema([self.field(name) for name in names], self.id)

    @property
    def highest_id(self) -> int:
        """The highest id of a field, nested ones included; 0 without any."""
        return max(_ids(self.fields), default=0)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.fields, self.id))

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {folded_column(one.name): one for one in self.fields}

    def __str__(self) -> str:
        lines = [f"  {one.name}: {one.type}{' not null' if one.required else ''}" for one in self.fields]
        return "\n".join(["schema", *lines])


def _named(types: Mapping[str, str | Type]) -> tuple[Field, ...]:
    return tuple(Field(name, type) for name, type in types.items())  # type: ignore[arg-type]  # text is parsed there


def id_count(schema: Schema) -> int:
    """How many ids the fields of a schema need."""
    return sum(1 for _ in _ids(schema.fields))


def with_ids(schema: Schema, schema_id: int, first: int) -> Schema:
    """The first schema of a table: its fields get ids from `first` on, and are called in the files as they are now.

    Ids go level by level, as Iceberg's do: all columns first, then what is inside them.
    """
    numbers = iter(range(first, first + id_count(schema)))
    return Schema(_numbered(schema.fields, numbers), schema_id)


def _numbered(fields: tuple[Field, ...], numbers: Iterator[int]) -> tuple[Field, ...]:
    ids = [next(numbers) for _ in fields]
    return tuple(
        replace(one, id=id, physical_name=one.name, type=_numbered_type(one.type, numbers))
        for one, id in zip(fields, ids, strict=True)
    )


def _numbered_type(type: Type, numbers: Iterator[int]) -> Type:
    match type:
        case Struct(fields):
            return Struct(_numbered(fields, numbers))
        case List():
            element_id = next(numbers)
            return replace(type, element_id=element_id, element=_numbered_type(type.element, numbers))
        case Map():
            key_id, value_id = next(numbers), next(numbers)
            key, value = _numbered_type(type.key, numbers), _numbered_type(type.value, numbers)
            return replace(type, key_id=key_id, value_id=value_id, key=key, value=value)
        case _:
            return type


def _ids(fields: tuple[Field, ...]) -> Iterator[int]:
    for one in fields:
        yield one.id
        yield from _type_ids(one.type)


def _type_ids(type: Type) -> Iterator[int]:
    match type:
        case Struct(fields):
            yield from _ids(fields)
        case List():
            yield type.element_id
            yield from _type_ids(type.element)
        case Map():
            yield type.key_id
            yield type.value_id
            yield from _type_ids(type.key)
            yield from _type_ids(type.value)
