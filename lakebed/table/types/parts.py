"""What is inside a type, as fields: those of a struct, the element of a list, the key and value of a map.

So what looks at schemas or changes them, on any level, need not know the three apart.
"""

from collections.abc import Iterator
from dataclasses import replace

from lakebed.table.types.types import Field, List, Map, Struct, Type

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
