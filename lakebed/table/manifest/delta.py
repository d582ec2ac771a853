"""A delta: one commit's change to the files of a table, as it is stored and as a whole manifest.

Values that are known only at commit time, or change when a commit is retried, are not in the stored manifest. The
record that points to it keeps them, as the delta's head; `whole` puts the two together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
    """What a commit adds to a delta. `totals` count the snapshot after it: files, rows, bytes."""

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
    """A copy as it is stored, without the values of its delta's head."""
    stored = pb.Manifest()
    stored.CopyFrom(manifest)
    for file in stored.data_files:
        if _has_rows_of(file, manifest):
            file.ClearField("first_row_id")
        if file.status == ADDED:
            _clear_sequences(file, manifest.sequence_number)
    for field in _COMMIT_FIELDS:
        stored.ClearField(field)
    for key in _TOTALS.values():
        stored.properties.pop(key, None)
    return stored


def whole(manifest: pb.Manifest, head: DeltaHead) -> pb.Manifest:
    """A copy of a stored manifest with the values of its head; new files get their sequence and their rows' ids.

    What is staged gets no sequence: files without one get that of the commit which shows them.
    `Corrupt` if manifest and head don't belong together: another table, or more rows than the head has ids for.
    """
    if manifest.table_uuid not in ("", head.table_id):
        raise _mismatch("the manifest belongs to another table", head, head.table_id, manifest.table_uuid)
    complete = pb.Manifest()
    complete.CopyFrom(manifest)
    _fill(complete, head)
    next_row_id = _number(complete, head)
    if next_row_id > head.next_row_id:
        raise _mismatch("the manifest has more new rows than ids", head, head.next_row_id, next_row_id)
    return complete


def file_format(file: pb.DataFileRef) -> int:
    """The format in a file's entry. Entries older than that field say it by their level: dual on level 0."""
    if file.HasField("format"):
        return file.format
    return DUAL if file.level == 0 else COLUMNAR


def replaced(file: pb.DataFileRef, **fields: Any) -> pb.DataFileRef:
    """A copy of an entry with these fields set, or cleared if None."""
    copy = pb.DataFileRef()
    copy.CopyFrom(file)
    for name, value in fields.items():
        if value is None:
            copy.ClearField(name)
        else:
            setattr(copy, name, value)
    return copy


def with_status(file: pb.DataFileRef, status: int) -> pb.DataFileRef:
    """The entry with a status: a copy, unless it has that status already."""
    return file if file.status == status else replaced(file, status=status)


def _is_new(file: pb.DataFileRef) -> bool:
    # Files that a merge, cherry-pick, revert or restore adds have their rows' ids and sequences already.
    return file.status == ADDED and not file.HasField("first_row_id")


def _clear_sequences(file: pb.DataFileRef, of_commit: int) -> None:
    """Clear the sequences that are the commit's own: those of rows that it only moved are stored."""
    for field in ("seq_min", "seq_max"):
        if getattr(file, field) == of_commit:
            file.ClearField(field)


def _has_rows_of(file: pb.DataFileRef, manifest: pb.Manifest) -> bool:
    """Whether this manifest's commit assigned the ids of a file's rows: ids of a table only grow."""
    assigned = file.status == ADDED and file.HasField("first_row_id") and manifest.HasField("first_row_id")
    return assigned and file.first_row_id >= manifest.first_row_id


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
    """Assign the new files their sequence and their rows their ids; return the next free id.

    Files whose rows the commit only moved have a sequence already, at both ends or at the lower one.
    """
    row_id = head.first_row_id
    for file in manifest.data_files:
        if file.status == ADDED and not manifest.staged:
            file.seq_min = file.seq_min or head.sequence_number
            file.seq_max = file.seq_max or head.sequence_number
        if _is_new(file):
            file.first_row_id = row_id
            row_id += file.num_rows
    return row_id


def _mismatch(problem: str, head: DeltaHead, expected: object, found: object) -> Corrupt:
    return Corrupt(problem, subject=f"snapshot {head.snapshot_id}", expected=expected, found=found)
