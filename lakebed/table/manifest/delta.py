"""A delta: one commit's change to the files of a table, as it is stored and as a whole manifest.

What is known only at the commit, or changes when a loser of a race commits again, is not in the stored manifest. The
record that refers to it has that, as the delta's head, and `whole` puts the two together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lakebed.errors import Corrupt
from lakebed.table.manifest import manifest_pb2 as pb

EXISTING: Final = 0  # the file was live before, and its entry has changed
ADDED: Final = 1
DELETED: Final = 2

COLUMNAR: Final = 0
DUAL: Final = 1

TOTALS: Final = ("files", "rows", "bytes")
_TOTALS = {name: f"total-{name}" for name in TOTALS}
_COMMIT_FIELDS = (
    "snapshot_id",
    "sequence_number",
    "previous_snapshot_id",
    "last_updated_ms",
    "last_column_id",
    "next_row_id",
    "first_row_id",
)


@dataclass(frozen=True, slots=True)
class DeltaHead:
    """What a commit knows of a delta. `totals` are those of the snapshot after it: files, rows, bytes."""

    snapshot_id: int
    previous_snapshot_id: int | None
    sequence_number: int
    schema_id: int
    spec_id: int
    table_id: str
    time_ms: int
    last_column_id: int
    first_row_id: int
    next_row_id: int
    totals: Mapping[str, int]


def bare(manifest: pb.Manifest) -> pb.Manifest:
    """A copy as it is stored, without what the head of its delta has."""
    stored = pb.Manifest()
    stored.CopyFrom(manifest)
    for file in stored.data_files:
        if _has_rows_of(file, manifest):
            file.ClearField("first_row_id")
        if _is_new(file):
            file.ClearField("seq_min")
            file.ClearField("seq_max")
    for field in _COMMIT_FIELDS:
        stored.ClearField(field)
    for key in _TOTALS.values():
        stored.properties.pop(key, None)
    return stored


def whole(manifest: pb.Manifest, head: DeltaHead) -> pb.Manifest:
    """A copy of a stored manifest with what its head says; new files get their sequence and their rows' ids.

    `Corrupt` if the two are not of one delta: another table, or more rows than the head has ids for.
    """
    if manifest.table_uuid not in ("", head.table_id):
        raise _unfit("the manifest is of another table", head, head.table_id, manifest.table_uuid)
    complete = pb.Manifest()
    complete.CopyFrom(manifest)
    _fill(complete, head)
    next_row_id = _number(complete, head)
    if next_row_id > head.next_row_id:
        raise _unfit("the manifest has more new rows than ids", head, head.next_row_id, next_row_id)
    return complete


def file_format(file: pb.DataFileRef) -> int:
    """The stamp of a file, or what its level says: files without one are older than the stamp, dual on level 0."""
    if file.HasField("format"):
        return file.format
    return DUAL if file.level == 0 else COLUMNAR


def with_status(file: pb.DataFileRef, status: int) -> pb.DataFileRef:
    """The entry with another status: a copy, unless it is the same."""
    if file.status == status:
        return file
    copy = pb.DataFileRef()
    copy.CopyFrom(file)
    copy.status = status
    return copy


def _is_new(file: pb.DataFileRef) -> bool:
    # Files that come by merge, cherry-pick, revert or restore have their rows' ids and sequences already.
    return file.status == ADDED and not file.HasField("first_row_id")


def _has_rows_of(file: pb.DataFileRef, manifest: pb.Manifest) -> bool:
    """Whether the ids of a file's rows were given out by this manifest's commit: ids of a table only grow."""
    given = file.status == ADDED and file.HasField("first_row_id") and manifest.HasField("first_row_id")
    return given and file.first_row_id >= manifest.first_row_id


def _fill(manifest: pb.Manifest, head: DeltaHead) -> None:
    manifest.snapshot_id = head.snapshot_id
    manifest.sequence_number = head.sequence_number
    manifest.schema_id = head.schema_id
    manifest.partition_spec_id = head.spec_id
    if head.previous_snapshot_id is not None:
        manifest.previous_snapshot_id = head.previous_snapshot_id
    manifest.table_uuid = head.table_id
    manifest.last_updated_ms = head.time_ms
    manifest.last_column_id = head.last_column_id
    manifest.first_row_id = head.first_row_id
    manifest.next_row_id = head.next_row_id
    for name, key in _TOTALS.items():
        if name in head.totals:
            manifest.properties[key] = str(head.totals[name])


def _number(manifest: pb.Manifest, head: DeltaHead) -> int:
    """Give the new files their sequence and their rows their ids; the answer is the first id that is free."""
    row_id = head.first_row_id
    for file in manifest.data_files:
        if _is_new(file):
            file.seq_min = file.seq_max = head.sequence_number
            file.first_row_id = row_id
            row_id += file.num_rows
    return row_id


def _unfit(problem: str, head: DeltaHead, expected: object, found: object) -> Corrupt:
    return Corrupt(problem, subject=f"snapshot {head.snapshot_id}", expected=expected, found=found)
