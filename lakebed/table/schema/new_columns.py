"""Columns of rows that somebody gives, which a table does not have."""

from collections.abc import Iterator

from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.parts import Parts, parts_of
from lakebed.table.types.types import List, Map, Struct, Type


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
