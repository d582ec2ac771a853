"""Staged partitions: filled beside the table, in a cell of data of their own, and swapped in by one commit.

a staged partition's cell = its own id, under the table's holder: row ids, inline rows and files stay when it is shown
"""

from dataclasses import replace
from uuid import UUID

from lakebed.catalog.data.add_files import check_new
from lakebed.catalog.data.deltas import history, record_of, stored_manifest
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.data.streams import CheckKeys
from lakebed.catalog.objects.claims import claimed_id
from lakebed.catalog.partitions.changes import (
    check_explicit,
    check_partition_properties,
    put_new_partition,
    swap_files,
)
from lakebed.catalog.partitions.members import has_values, members, with_values_of
from lakebed.catalog.partitions.partition import (
    COMMITTED,
    STAGED,
    PartitionState,
    find_partition,
    partition_by_id,
    put_partition,
    staged_name,
)
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import mark_dropped, move, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid
from lakebed.metastore import DataRead, Operation
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import COMPACT
from lakebed.table.partition.explicit import ExplicitValues


def stage(
    work: Work, state: TableState, values: ExplicitValues, id: str | UUID | None, properties: dict[str, str] | None
) -> str:
    """Create a partition that nobody sees by its values yet, and answer its id."""
    members(work, state, values)  # no older file may have rows of the partition and others
    text = spelled((*name_of(work, state.id), f"{values.name(state.schema)}, staged"))
    partition = claimed_id(work, id, text, state.own_ids)
    new = PartitionState(partition, values, STAGED, properties=check_partition_properties(properties))
    put_new_partition(work, state, new, staged_name(partition))
    work.note(Operation("stage", partition, text))
    return partition


def cell_of(state: TableState, partition: str) -> Bound:
    """What stands for a table's id where a staged partition is read or filled."""
    return Bound(str(state.id), object_id=partition, cell=partition)


def commit(work: Work, table: str, partition: str, check_keys: CheckKeys, *, over_newer: bool) -> None:
    """Swap a staged partition in: its files replace all files with its values, and it all partitions with them.

    `Conflict` if others changed rows with these values since it was staged, unless they are to be replaced too.
    """
    state = table_state(work, table)
    staged = check_staged(partition_by_id(work, state, partition))
    values = check_explicit(work, state, staged)
    if not over_newer:
        _check_unchanged(work, state, partition, values)
    files = _files(work, state, staged, values)
    before = members(work, state, values)
    kept = {file.path for file in before}
    check_new(work, state, {file.path: file for file in files if file.path not in kept})
    check_keys(work, state, before, files)
    swap_files(work, state, "overwrite", values, files)
    replaced = find_partition(work, state, values)
    if replaced is not None:
        mark_dropped(work, replaced.id, pb.MARKED)
        work.note(Operation("drop", replaced.id, _name(work, state, values), detail=f"replaced by {partition}"))
    previous = None if replaced is None else replaced.id
    put_partition(work, state.schema, replace(staged, state=COMMITTED, previous=previous))
    move(work, partition, str(state.id), values.name(state.schema))
    work.note(Operation("create", partition, _name(work, state, values), detail="swapped in"))


def discard(work: Work, table: str, partition: str) -> None:
    """Give a staged partition up. Its files stay until they are collected: its past can still be read."""
    state = table_state(work, table)
    check_staged(partition_by_id(work, state, partition))
    name = spelled(name_of(work, partition))
    mark_dropped(work, partition, pb.MARKED)
    work.note(Operation("drop", partition, name))


def check_staged(partition: PartitionState) -> PartitionState:
    """The partition; `Invalid` unless it is staged."""
    if partition.state != STAGED:
        raise Invalid(
            "the partition is not staged",
            subject=partition.id,
            found=partition.state,
            advice="Write to the table, or stage another one by stage_partition(…).",
        )
    return partition


def _files(work: Work, state: TableState, staged: PartitionState, values: ExplicitValues) -> list[DataFileRef]:
    """The files of a staged partition. Rows that this very work has staged are written once, where they are shown."""
    own = table_state(work, cell_of(state, staged.id))
    work.read(DataRead(own.partition))
    files = list(live_files(work, own).values())
    for file in files:
        if not has_values(work, state, file, values):
            raise Invalid(
                "a staged file has rows with other values", subject=file.path, expected=values.text(state.schema)
            )
    work.deltas.pop(own.partition, None)
    return files


def _check_unchanged(work: Work, state: TableState, partition: str, values: ExplicitValues) -> None:
    life = work.life(partition)
    if life is None or not life.create_version:
        return
    for delta in history(work, state.partition, Version(life.create_version)):
        changed = stored_manifest(work.context, delta).data_files
        is_compaction = operation_name(record_of(delta).operation) == COMPACT
        if not is_compaction and with_values_of(work, state, changed, values):
            raise Conflict(
                "rows with the values of a staged partition were changed after it was staged",
                subject=_name(work, state, values),
                expected="no change since it was staged",
                found=f"version {delta.version}",
                advice="Look at what came, and stage again; or replace it too: commit(over_newer=True).",
            )


def _name(work: Work, state: TableState, values: ExplicitValues) -> str:
    return spelled((*name_of(work, state.id), values.name(state.schema)))
