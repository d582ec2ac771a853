"""What a file of another writer calls a table's columns: their own names, which are not always their physical ones."""

from collections.abc import Callable, Iterable

import pyarrow

from lakebed.arrow.types import FIELD_ID, is_list
from lakebed.catalog.data.foreign import ForeignFiles
from lakebed.table.manifest.file_fields import ABSENT
from lakebed.table.types.names import is_plain_name
from lakebed.table.types.types import Field, Fields, Struct, children_of

Pick = Callable[[Field, dict[str, pyarrow.Field]], str | None]
"""The column of a file, of those beside each other by name, that a field is in; None if the file does not have it."""


def file_names(form: pyarrow.Schema, fields: Fields, foreign: ForeignFiles) -> dict[int, str]:
    """(field id) -> the file's name of a field that has another physical name.

    A field that the file does not have gets the name of no column, if ids or given names decide: a column that only
    happens to have its name is not taken for it.
    """
    if foreign.by_ids and any(_id(column) is not None for column in form):
        return _picked(form, fields, _by_id)
    if foreign.is_exact:
        return _picked(form, fields, lambda field, columns: _by_name(field, columns, foreign))
    return foreign_names(form, fields)


def _picked(columns: Iterable[pyarrow.Field], fields: Fields, pick: Pick) -> dict[int, str]:
    found = {column.name: column for column in columns}
    names: dict[int, str] = {}
    for field in fields:
        name = pick(field, found)
        if name is None:
            names[field.id] = f"{ABSENT}{field.id}"
            continue
        if name != field.physical_name:
            names[field.id] = name
        names |= _picked_inside(found[name].type, field, pick)
    return names


def _picked_inside(type: pyarrow.DataType, field: Field, pick: Pick) -> dict[int, str]:
    if isinstance(field.type, Struct):
        return _picked(type, field.type.fields, pick) if pyarrow.types.is_struct(type) else {}
    names: dict[int, str] = {}
    for part, child in zip(_parts(type), children_of(field.type), strict=False):
        names |= _picked_inside(part.type, child, pick)
    return names


def _by_id(field: Field, columns: dict[str, pyarrow.Field]) -> str | None:
    return next((name for name, column in columns.items() if _id(column) == field.id), None)


def _by_name(field: Field, columns: dict[str, pyarrow.Field], foreign: ForeignFiles) -> str | None:
    return next((name for name in foreign.names.get(field.id, (field.physical_name,)) if name in columns), None)


def _id(column: pyarrow.Field) -> int | None:
    text = (column.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)


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
