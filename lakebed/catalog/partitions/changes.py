"""Changes of explicit partitions in a work: create, alter, rename, drop, undrop; their files change in one delta."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from uuid import UUID

from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.deltas import history, stored_manifest
from lakebed.catalog.data.levels import entering
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.data.streams import CheckKeys
from lakebed.catalog.objects.claims import claimed_id
from lakebed.catalog.objects.properties import check_properties
from lakebed.catalog.objects.undrop import check_id, dropped_rows, not_purged
from lakebed.catalog.partitions.members import members, with_values_of
from lakebed.catalog.partitions.partition import (
    PARQUET,
    STAGED,
    PartitionState,
    find_partition,
    put_partition,
    read_partition,
    staged_name,
)
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import Slot, bring_back, mark_dropped, move, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Ambiguous, Candidate, Expired, Invalid, NotFound
from lakebed.metastore import Dropped, Operation, life
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import DELETED
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues

_OURS = ("write.", "check.", "checkpoint.")


@dataclass(frozen=True, slots=True)
class NewPartition:
    """What a caller says of a partition to create."""

    location: str | None = None
    file_format: str = PARQUET
    properties: Mapping[str, str] | None = None
    id: str | UUID | None = None


def check_format(given: str | None) -> str:
    """The format of a partition's files; `Invalid` for all but Parquet."""
    if given is None or (isinstance(given, str) and given.casefold() == PARQUET):
        return PARQUET
    raise Invalid("the files of a partition have another format", expected=repr(PARQUET), found=repr(given))


def check_partition_properties(given: Mapping[str, str] | None) -> dict[str, str]:
    """A partition's properties; `Invalid` for names of the table's own, which would have no effect here."""
    found = check_properties(given or {})
    for key in found:
        if key.startswith(_OURS):
            raise Invalid(
                "this is a property of a table", subject=key, advice="Set it by the table's set_properties(…)."
            )
    return found


def put_new_partition(work: Work, state: TableState, partition: PartitionState, name: str) -> None:
    """Write the life and the records of a partition that this work creates."""
    work.put_new_life(partition.id, life(pb.PARTITION, str(state.id), name))
    put_partition(work, state.schema, partition)
    work.put_attribute(partition.id, Attribute.PROPERTIES, pb.TablePartition(properties=partition.properties))


def create(
    work: Work, state: TableState, values: ExplicitValues, new: NewPartition, files: Sequence[DataFileRef]
) -> str:
    """Create an explicit partition, with files that others wrote; rows that the table has with these values are in it.

    `AlreadyExists` if there is one with these values.
    """
    check_free(work, state, values)
    members(work, state, values)  # no older file may have rows of the partition and others
    text = _text(work, state, values)
    partition = PartitionState(
        claimed_id(work, new.id, text, state.own_ids),
        values,
        location=new.location,
        file_format=new.file_format,
        properties=check_partition_properties(new.properties),
    )
    put_new_partition(work, state, partition, values.name(state.schema))
    work.note(Operation("create", partition.id, text))
    if files:
        delta = replace(delta_of(state, "insert"), added=tuple(files))
        change_files(work, state, delta, f"partition {values.text(state.schema)}")
    return partition.id


def check_free(work: Work, state: TableState, values: ExplicitValues, but: str | None = None) -> None:
    """`AlreadyExists` if another explicit partition has these values."""
    taken = find_partition(work, state, values)
    if taken is not None and taken.id != but:
        raise AlreadyExists(
            "there is an explicit partition with these values",
            subject=_text(work, state, values),
            found=f"partition {taken.id}",
            advice="Open it by partition(…), or swap in another by stage_partition(…).",
        )


def alter(work: Work, state: TableState, partition: PartitionState, detail: str) -> None:
    """Write a changed partition, and log what was changed of it."""
    put_partition(work, state.schema, partition)
    work.note(Operation("alter_partition", partition.id, _name(work, partition.id), detail=detail))


def rename(work: Work, state: TableState, partition: PartitionState, values: ExplicitValues) -> None:
    """Give a partition other values; its rows are written again, to the table's folder, by whoever calls."""
    check_free(work, state, values, but=partition.id)
    old = _name(work, partition.id)
    put_partition(work, state.schema, replace(partition, values=values, location=None))
    move(work, partition.id, str(state.id), values.name(state.schema))
    work.note(Operation("alter_partition", partition.id, old, detail=f"to {values.text(state.schema)}"))


def drop(work: Work, state: TableState, partition: PartitionState) -> None:
    """Remove a partition and its rows. No file is deleted: `undrop` brings back both."""
    values = check_explicit(work, state, partition)
    name = _name(work, partition.id)
    swap_files(work, state, "drop_partition", values, ())
    mark_dropped(work, partition.id, pb.MARKED)
    work.note(Operation("drop", partition.id, name))


def undrop(work: Work, state: TableState, partition: str, check_keys: CheckKeys) -> None:
    """Bring back a dropped partition with the rows that it had then; rows with its values that came since stay."""
    work.rely_on_no_purge(partition)
    was = read_partition(work, state, partition)
    if was.state == STAGED:
        bring_back(work, partition, str(state.id), staged_name(partition))
        work.note(Operation("undrop", partition, _name(work, partition)))
        return
    values = check_explicit(work, state, was)
    check_free(work, state, values)
    gone = _files_dropped(work, state, partition, values)
    live = live_among(work, state, {file.path: file for file in gone})
    back = [file for file in gone if file.path not in live]
    bring_back(work, partition, str(state.id), values.name(state.schema))
    work.note(Operation("undrop", partition, _name(work, partition)))
    if back:
        check_keys(work, state, (), back)
        delta = replace(delta_of(state, "undrop"), added=tuple(back))
        change_files(work, state, entering(work, state, delta), f"partition {values.text(state.schema)}")


def swap_files(
    work: Work, state: TableState, operation: str, values: ExplicitValues, added: Sequence[DataFileRef]
) -> list[DataFileRef]:
    """Replace all files with these values by others, in one delta; the files that were replaced.

    Files that stay are neither removed nor added. A merge sees it as an overwrite of the rows with these values.
    """
    before = members(work, state, values)
    new = {file.path for file in added}
    old = {file.path for file in before}
    removed = [file for file in before if file.path not in new]
    delta = replace(
        delta_of(state, operation),
        added=tuple(file for file in added if file.path not in old),
        removed=tuple(removed),
        overwritten=str(values.condition(state.schema)),
    )
    change_files(work, state, entering(work, state, delta), f"partition {values.text(state.schema)}")
    return removed


def find_dropped_partition(
    work: Work, state: TableState, values: ExplicitValues | None, given: str | UUID | None
) -> str:
    """The id of a dropped partition, by its values or its id; `Ambiguous` if several had the values."""
    if given is not None:
        return _dead_by_id(work, state, check_id(given))
    assert values is not None, "one of the two is given"
    slot = Slot(str(state.id), values.name(state.schema), _text(work, state, values))
    rows = dropped_rows(work, slot, pb.PARTITION)
    kept = _last_of_each(work, state, not_purged(rows))
    if len(kept) == 1:
        return kept[0].id
    if kept:
        raise Ambiguous(
            "several dropped partitions had these values",
            subject=slot.text,
            candidates=_candidates(work, kept),
            advice="Name one by its id: undrop_partition(id=…).",
        )
    alive = find_partition(work, state, values)
    found = None if alive is None else "one that is alive"
    raise NotFound("no explicit partition with these values was dropped", subject=slot.text, found=found)


def check_explicit(work: Work, state: TableState, partition: PartitionState) -> ExplicitValues:
    """The values of an explicit partition; `Invalid` for the root."""
    if partition.values is None:
        raise Invalid(
            "the root partition can't be changed: it has all rows that no explicit partition has",
            subject=spelled(name_of(work, state.id)),
            advice="Delete rows by delete(…), or drop the table.",
        )
    return partition.values


def _files_dropped(work: Work, state: TableState, partition: str, values: ExplicitValues) -> list[DataFileRef]:
    """The files that the commit which dropped the partition removed from it."""
    record = work.life(partition)
    assert record is not None
    if not record.drop_version:
        raise Invalid(
            "one transaction drops a partition and undrops it",
            subject=partition,
            advice="Undrop it in another transaction.",
        )
    version = Version(record.drop_version)
    since = history(work, state.partition, version.previous())
    removed = [
        file
        for delta in since
        if delta.version == version
        for file in stored_manifest(work.context, delta).data_files
        if file.status == DELETED
    ]
    return with_values_of(work, state, removed, values)


def _last_of_each(work: Work, state: TableState, rows: Sequence[Dropped]) -> list[Dropped]:
    """Without those that another one was swapped in for, unless they came back and were dropped again since."""
    swapped = {read_partition(work, state, row.id).previous: row.dropped for row in rows}
    return [row for row in rows if row.id not in swapped or row.dropped > swapped[row.id]]


def _dead_by_id(work: Work, state: TableState, partition: str) -> str:
    record = cast("pb.TablePartition | None", work.life(partition))
    if record is None or record.type != pb.PARTITION or record.container_id != str(state.id):
        raise NotFound("the table has no partition of this id", subject=partition)
    if record.drop_type == pb.PURGED:
        raise Expired("the partition was purged", subject=partition)
    if not record.dropped:
        raise AlreadyExists("the partition was not dropped", subject=partition, advice="Open it by partition(id=…).")
    return partition


def _candidates(work: Work, rows: Sequence[Dropped]) -> list[Candidate]:
    times = work.context.metastore.times([version for row in rows for version in (row.created, row.dropped)])
    moments = [datetime_of(time) for time in times]
    pairs = zip(rows, moments[::2], moments[1::2], strict=True)
    return [Candidate(row.id, row.name, created, dropped) for row, created, dropped in pairs]


def _name(work: Work, partition: str) -> str:
    return spelled(name_of(work, partition))


def _text(work: Work, state: TableState, values: ExplicitValues) -> str:
    return spelled((*name_of(work, state.id), values.name(state.schema)))
