"""Levels of a table's files in a work: every commit keeps files above level 0 from overlapping."""

import struct
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from lakebed.catalog.data.deltas import stored_manifest
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.data.reads import Objection
from lakebed.catalog.tables.tables import TableState, schema_of, spec_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict
from lakebed.metastore import DataRead, State
from lakebed.table.keys.encoding import set_key_bounds
from lakebed.table.keys.levels import IsKeyed, Placed, clashes, lowered, placed
from lakebed.table.manifest.delta import ADDED
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.values import partition_key, partition_values


def keyed_alike(work: Work, state: TableState) -> IsKeyed:
    """A function that answers whether a schema of the table has the table's current primary key."""
    key = state.schema.identifier_ids

    def is_keyed(schema_id: int) -> bool:
        return schema_id == state.schema.id or schema_of(work, state.id, schema_id).identifier_ids == key

    return is_keyed


def places(work: Work, state: TableState, files: Iterable[DataFileRef]) -> list[Placed]:
    """Files with their partitions, keys and levels."""
    is_keyed = keyed_alike(work, state)
    return [placed(file, partition_of(work, state, file), is_keyed) for file in files]


def partition_of(work: Work, state: TableState, file: DataFileRef) -> Hashable:
    """The partition of a file by its values: if the column was widened since, their bytes differ."""
    if not file.partition:
        return file.spec_id
    spec = spec_of(work, state.id, file.spec_id)
    values = partition_values(file, spec, state.schema)
    # The field of a dropped column still has a value, but its type is unknown.
    known = tuple((field, _exact(value)) for field, value in values.items())
    return file.spec_id, known if len(values) == len(file.partition) else partition_key(file)


def _exact(value: Hashable) -> Hashable:
    """A value that equals itself and nothing else: as floats, NaN equals nothing, and -0.0 equals 0.0."""
    return struct.pack(">d", value) if isinstance(value, float) else value


def bound_keys(state: TableState, delta: Delta) -> None:
    """Set the key bounds of the files that were written for a delta."""
    for file in delta.written:
        set_key_bounds(file, state.schema)


def check_levels(work: Work, state: TableState, delta: Delta) -> None:
    """`Conflict` if two files above level 0 would share keys, now or with files that others add before the commit."""
    added = [file for file in delta.added if file.level > 0]
    if not added or not state.schema.identifier_ids:
        return
    for new, other in clashes(places(work, state, added), _remaining(work, state, delta)):
        raise Conflict(
            f"two files of level {new.level} would have keys in common",
            subject=f"{spelled(name_of(work, state.id))}: {new.file.path}",
            expected="keys outside the ranges of all other files of the partition and level",
            found=other.file.path,
            advice="Add it on level 0.",
        )
    work.read(DataRead(state.partition, _levels_read(work.context, added)))


def entering(work: Work, state: TableState, delta: Delta) -> Delta:
    """The delta of another branch: files that would overlap others above level 0 are added on level 0."""
    added = [file for file in delta.added if file.level > 0]
    if not added or not state.schema.identifier_ids:
        return delta
    overlap = {new.file.path for new, _ in clashes(places(work, state, added), _remaining(work, state, delta))}
    return replace(delta, added=tuple(lowered(file) if file.path in overlap else file for file in delta.added))


def _remaining(work: Work, state: TableState, delta: Delta) -> list[Placed]:
    """The files above level 0 that the delta leaves."""
    removed = {file.path for file in delta.removed}
    live = live_files(work, state).values()
    return places(work, state, (file for file in live if file.level > 0 and file.path not in removed))


def _levels_read(context: Context, added: Sequence[DataFileRef]) -> Objection:
    """Objects if a later delta added files that overlap these above level 0.

    It runs inside the commit and reads no schema: a concurrent change of the primary key is a conflict anyway.
    """

    def judge(deltas: Sequence[State]) -> str | None:
        new, later = _as_written(added), _as_written(_added(context, deltas))
        return next((f"{other.file.path} has keys in common" for _, other in clashes(new, later)), None)

    return judge


def _as_written(files: Iterable[DataFileRef]) -> list[Placed]:
    return [placed(file, partition_key(file), lambda _: True) for file in files]


def _added(context: Context, deltas: Iterable[State]) -> Iterator[DataFileRef]:
    for delta in deltas:
        files = stored_manifest(context, delta).data_files
        yield from (file for file in files if file.status == ADDED and file.level > 0)
