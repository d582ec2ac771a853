"""The fields that a file has: those that it has columns for, less those whose names its columns only happen to have."""

from collections.abc import Iterable
from dataclasses import replace

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.types.types import Fields, children_of, with_children

ABSENT = "lakebed absent "
"""What the physical names begin with that fields get which a file lacks; no file with such columns is added."""


def set_field_ids(file: DataFileRef, ids: Iterable[int]) -> None:
    """Write into a file's entry which fields, on every level, it has: whatever else it has is none of the table's."""
    file.field_ids = " ".join(map(str, sorted(ids)))


def field_ids_of(file: DataFileRef) -> frozenset[int] | None:
    """The fields that a file has, None if they are told by their names alone."""
    if not file.HasField("field_ids"):
        return None
    try:
        return frozenset(map(int, file.field_ids.split()))
    except ValueError as error:
        raise Corrupt("an entry has no field ids", subject=file.path, expected="1 2 5", found=file.field_ids) from error


def fields_for_file(file: DataFileRef, fields: Fields) -> Fields:
    """The fields as they are to be looked for in a file: those that it surely lacks by names that no column has."""
    held = field_ids_of(file)
    return fields if held is None else _as_held(held, fields)


def _as_held(held: frozenset[int], fields: Fields) -> Fields:
    return tuple(
        replace(one, type=with_children(one.type, _as_held(held, children_of(one.type))))
        if one.id in held
        else replace(one, physical_name=f"{ABSENT}{one.id}")
        for one in fields
    )
