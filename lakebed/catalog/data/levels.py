"""Levels of a table's files in a work: kept apart at every commit, whoever adds them."""

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
    """What says which of the table's schemas have the primary key that it has now."""
    key = state.schema.identifier_ids

    def is_keyed(schema_id: int) -> bool:
        return schema_id == state.schema.id or schema_of(work, state.id, schema_id).identifier_ids == key

    return is_keyed


def places(work: Work, state: TableState, files: Iterable[DataFileRef]) -> list[Placed]:
    """Files with their partitions, keys and levels."""
    is_keyed = keyed_alike(work, state)
    return [placed(one, partition_of(work, state, one), is_keyed) for one in files]


def partition_of(work: Work, state: TableState, file: DataFileRef) -> Hashable:
    """The partition of a file by its values: those of a column that was widened since have other bytes."""
    if not file.partition:
        return file.spec_id
    spec = spec_of(work, state.id, file.spec_id)
    values = partition_values(file, spec, state.schema)
    # A field whose column was dropped has a value all the same, of a type that nobody knows.
    return file.spec_id, tuple(values.items()) if len(values) == len(file.partition) else partition_key(file)


def bound_keys(state: TableState, delta: Delta) -> None:
    """Give the files that were written for a delta the bounds of their keys."""
    for one in delta.written:
        set_key_bounds(one, state.schema)


def check_levels(work: Work, state: TableState, delta: Delta) -> None:
    """`Conflict` if two files above level 0 would have keys in common, now or by what others add before the commit."""
    added = [one for one in delta.added if one.level > 0]
    if not added or not state.schema.identifier_ids:
        return
    for one, other in clashes(places(work, state, added), _kept(work, state, delta)):
        raise Conflict(
            f"two files of level {one.level} would have keys in common",
            subject=f"{spelled(name_of(work, state.id))}: {one.file.path}",
            expected="keys that no other file of the partition and level spans",
            found=other.file.path,
            advice="Add it on level 0.",
        )
    work.read(DataRead(state.partition, _levels_read(work.context, added)))


def entering(work: Work, state: TableState, delta: Delta) -> Delta:
    """The delta with files that come from elsewhere: those that would overlap above level 0 come in on level 0."""
    added = [one for one in delta.added if one.level > 0]
    if not added or not state.schema.identifier_ids:
        return delta
    overlap = {one.file.path for one, _ in clashes(places(work, state, added), _kept(work, state, delta))}
    return replace(delta, added=tuple(lowered(one) if one.path in overlap else one for one in delta.added))


def _kept(work: Work, state: TableState, delta: Delta) -> list[Placed]:
    gone = {one.path for one in delta.removed}
    live = live_files(work, state).values()
    return places(work, state, (one for one in live if one.level > 0 and one.path not in gone))


def _levels_read(context: Context, added: Sequence[DataFileRef]) -> Objection:
    """What says whether later deltas have added files that overlap these above level 0.

    It is asked inside the commit, and reads no schema: a primary key that is changed meanwhile is a conflict anyway.
    """

    def judge(deltas: Sequence[State]) -> str | None:
        coming, later = _as_written(added), _as_written(_added(context, deltas))
        return next((f"{other.file.path} has keys in common" for _, other in clashes(coming, later)), None)

    return judge


def _as_written(files: Iterable[DataFileRef]) -> list[Placed]:
    return [placed(one, partition_key(one), lambda _: True) for one in files]


def _added(context: Context, deltas: Iterable[State]) -> Iterator[DataFileRef]:
    for delta in deltas:
        yield from (one for one in stored_manifest(context, delta).data_files if one.status == ADDED and one.level > 0)
