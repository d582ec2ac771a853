"""What a file of another writer calls a table's columns: their own names, which are not always their physical ones."""

from collections.abc import Iterable

import pyarrow

from lakebed.arrow.types import is_list
from lakebed.table.types.names import is_plain_name
from lakebed.table.types.types import Field, Fields, Struct, children_of


def foreign_names(columns: Iterable[pyarrow.Field], fields: Fields) -> dict[int, str]:
    """(field id) -> the file's name of a field that it has under its own name instead of the physical one.

    Only for names that are not plain, which no writer but Lakebed replaces in files. A column that has a plain name
    of its own was renamed, and files with its new name may mean another column.
    """
    found = {column.name: column for column in columns}
    names: dict[int, str] = {}
    for field in fields:
        name = field.physical_name
        if name not in found and field.name in found and not is_plain_name(field.name):
            name = names[field.id] = field.name
        if name in found:
            names |= _names_inside(found[name].type, field)
    return names


def _names_inside(type: pyarrow.DataType, field: Field) -> dict[int, str]:
    if isinstance(field.type, Struct):
        return foreign_names(type, field.type.fields) if pyarrow.types.is_struct(type) else {}
    names: dict[int, str] = {}
    for part, child in zip(_parts(type), children_of(field.type), strict=False):  # other types are refused later
        names |= _names_inside(part.type, child)
    return names


def _parts(type: pyarrow.DataType) -> list[pyarrow.Field]:
    if pyarrow.types.is_map(type):
        return [type.key_field, type.item_field]
    return [type.value_field] if is_list(type) else []
