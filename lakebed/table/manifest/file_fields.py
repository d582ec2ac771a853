"""Which of a table's fields a file has.

A file that was added in place may have columns that only happen to have a field's name. Its entry then lists the ids of
the fields that it has.
"""

from collections.abc import Iterable
from dataclasses import replace

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.types.types import Fields, children_of, with_children

ABSENT = "lakebed absent "
"""The prefix of the physical names of fields that a file does not have; a file with such columns can't be added."""


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


def fields_for_file(file: DataFileRef, fields: Fields) -> Fields:
    """The fields as a reader looks them up in a file: fields that it does not have get names that no column has."""
    ids = field_ids_of(file)
    return fields if ids is None else _with_absent(ids, fields)


def _with_absent(ids: frozenset[int], fields: Fields) -> Fields:
    return tuple(
        replace(field, type=with_children(field.type, _with_absent(ids, children_of(field.type))))
        if field.id in ids
        else replace(field, physical_name=f"{ABSENT}{field.id}")
        for field in fields
    )
