"""Kinds of objects: their life records, the containers that they may be in, and their names."""

import os
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.metastore.change import LifeRecord
from lakebed.records import records_pb2 as pb
from lakebed.records.names import normal_name, normal_ref_name

BRANCH, TAG, SHARE = pb.BRANCH, pb.TAG, pb.SHARE
NAMESPACE, TABLE, VIEW = pb.NAMESPACE, pb.TABLE, pb.VIEW
"""The kinds that handles know, under names of their own."""

_CATALOGS = (pb.PROJECT, pb.CATALOG, pb.BRANCH, pb.TAG, pb.SHARE)
_REFS = (pb.BRANCH, pb.TAG, pb.SHARE)
_TABLES = (pb.TABLE, pb.VIEW)

LIFE_RECORDS: dict[int, type[LifeRecord]] = {
    **dict.fromkeys(_CATALOGS, pb.CatalogRecord),
    pb.NAMESPACE: pb.DatabaseRecord,
    **dict.fromkeys(_TABLES, pb.TableReference),
    **dict.fromkeys((pb.EDITION, pb.STREAM, pb.PARTITION), pb.TablePartition),
}

# The containers that an object may be in. None is the top of its line: the lake for projects, otherwise the catalog.
CONTAINERS: dict[int, tuple[int | None, ...]] = {
    pb.PROJECT: (None,),
    pb.CATALOG: (None, pb.PROJECT),
    **dict.fromkeys(_REFS, (None,)),
    pb.NAMESPACE: (None, pb.NAMESPACE),
    pb.TABLE: (None, pb.NAMESPACE),
    pb.VIEW: (None, pb.NAMESPACE),
    pb.EDITION: (pb.TABLE,),
    pb.STREAM: (pb.EDITION, pb.TABLE),
    pb.PARTITION: (pb.TABLE, pb.EDITION, pb.STREAM, pb.PARTITION),
}


_OPERATIONS = {number: name.lower() for name, number in pb.OperationType.items()}


def new_id() -> str:
    """A new random id (a version 4 UUID)."""
    return str(UUID(bytes=os.urandom(16), version=4))


def type_name(kind: int) -> str:
    return pb.ObjectType.Name(kind).lower() if kind in pb.ObjectType.values() else f"type {kind}"


def one_of_type(kind: int) -> str:
    """A type with its article: `a table`, `an edition`."""
    return f"{'an' if kind == pb.EDITION else 'a'} {type_name(kind)}"


_PARTS: dict[int, str] = {pb.EDITION: "edition", pb.STREAM: "stream"}


def part_name(kind: int, name: str) -> str:
    """The last part of an object's full name: that of an edition or a stream says what it is, after its table's."""
    return f"{_PARTS[kind]}_{name}" if kind in _PARTS else name


def operation_name(number: int) -> str:
    """What the log calls a type of operation; one of a later version of Lakebed has only its number."""
    return _OPERATIONS.get(number) or f"operation_{number}"


def life(kind: int, container: str, name: str) -> LifeRecord:
    """The life of a new object."""
    record = LIFE_RECORDS[kind](container_id=container, name=name)
    record.type = kind  # type: ignore[assignment]
    return record


def check_life(object_id: str, record: LifeRecord) -> None:
    """Refuse a record that can't be an object's life, whatever the state of the lake."""
    if record.type not in LIFE_RECORDS:
        raise Invalid("an object has no valid type", subject=object_id, found=record.type)
    if type(record) is not LIFE_RECORDS[record.type]:
        raise Invalid(
            f"{one_of_type(record.type)} has the wrong record",
            subject=object_id,
            expected=LIFE_RECORDS[record.type].DESCRIPTOR.name,
            found=type(record).__name__,
        )
    normal = normal_ref_name(record.name) if record.type in _REFS else normal_name(record.name)
    if normal != record.name:
        raise Invalid("a name is not in normal form", subject=object_id, expected=repr(normal), found=repr(record.name))


def is_table(kind: int) -> bool:
    return kind in _TABLES
