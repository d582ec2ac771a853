"""Which of a table's fields a file has, what it calls them, and the values of those that its folders' names say.

A file that was added in place may have columns that only happen to have a field's name. Its entry then lists the ids of
the fields that it has. A file may also have fields under other names than their physical ones; its entry lists them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import ColumnName, DataFileRef, PartitionValue
from lakebed.table.types.types import Field, Fields, children_of, with_children
from lakebed.table.types.values import decode_bound, encode_bound

ABSENT = "lakebed absent "
"""The prefix of the physical names of fields that a file does not have; a file with such columns can't be added."""

_NONE: frozenset[int] = frozenset()


def set_field_ids(file: DataFileRef, ids: Iterable[int]) -> None:
    """Write into a file's entry which fields, on every level, it has; its other columns don't belong to the table."""
    file.field_ids = " ".join(map(str, sorted(ids)))


def field_ids_of(file: DataFileRef) -> frozenset[int] | None:
    """The ids of the fields that a file has, None if its columns' names alone decide."""
    if not file.HasField("field_ids"):
        return None
    try:
        return frozenset(map(int, file.field_ids.split()))
    except ValueError as error:
        raise Corrupt(
            "an entry's field ids can't be read", subject=file.path, expected="1 2 5", found=file.field_ids
        ) from error


def set_constants(file: DataFileRef, values: Mapping[Field, Any]) -> None:
    """Write into a file's entry the value, None for null, that all its rows have in columns that the file lacks."""
    file.ClearField("constants")
    for field, value in values.items():
        stored = None if value is None else encode_bound(field.type, value)
        file.constants.append(PartitionValue(field_id=field.id, value=stored))


def constant_of(file: DataFileRef, field: Field) -> Any:
    """The value of a column that is constant in a file, None for null; `Corrupt` if it is not one of them."""
    for known in file.constants:
        if known.field_id == field.id:
            return decode_bound(field.type, known.value) if known.HasField("value") else None
    raise Corrupt("an entry has no constant for a column", subject=file.path, expected=field.name)


def constant_ids(file: DataFileRef) -> frozenset[int]:
    """The ids of the columns that the file lacks and that have one value in all its rows; most files have none."""
    return frozenset(known.field_id for known in file.constants) if file.constants else _NONE


def with_constants(file: DataFileRef, fields: Fields) -> Fields:
    """The fields with the file's constants as what a reader shows for columns that the file does not have."""
    ids = constant_ids(file)
    if not ids:
        return fields
    return tuple(
        replace(field, initial_default=constant_of(file, field)) if field.id in ids else field for field in fields
    )


def set_column_names(file: DataFileRef, names: Mapping[int, str]) -> None:
    """Write into a file's entry what it calls fields, by id, that have other physical names."""
    file.ClearField("column_names")
    for id, name in sorted(names.items()):
        file.column_names.append(ColumnName(field_id=id, name=name))


def column_names_of(file: DataFileRef) -> dict[int, str]:
    """(field id) -> the file's name of a field that has another physical name; most files have none."""
    return {column.field_id: column.name for column in file.column_names} if file.column_names else {}


def with_column_names(fields: Fields, names: Mapping[int, str]) -> Fields:
    """The fields with other physical names, by id, on every level."""
    return tuple(
        replace(
            field,
            physical_name=names.get(field.id, field.physical_name),
            type=with_children(field.type, with_column_names(children_of(field.type), names)),
        )
        for field in fields
    )


def fields_for_file(file: DataFileRef, fields: Fields) -> Fields:
    """The fields as a reader looks them up in a file: by its own names; those that it lacks get names of no column."""
    ids, names = field_ids_of(file), column_names_of(file)
    named = with_column_names(fields, names) if names else fields
    return named if ids is None else _with_absent(ids, named)


def _with_absent(ids: frozenset[int], fields: Fields) -> Fields:
    return tuple(
        replace(field, type=with_children(field.type, _with_absent(ids, children_of(field.type))))
        if field.id in ids
        else replace(field, physical_name=f"{ABSENT}{field.id}")
        for field in fields
    )
