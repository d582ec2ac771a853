"""The data index of source document 002: where a version's files are listed.

A delta is written before the checkpoint that stands for it, and no commit reads a checkpoint. So none of this is in the
delta's record: it follows from the delta and the checkpoints at or before it, and grows when one is written.

    segment_type     INIT: no file yet | DATA: deltas list the files | INDEX: a checkpoint does, and the deltas since
    set_ids          the checkpoint's parts
    cur_set_id       the delta's own manifest
    table_index_url  the checkpoint's top list if it is a file, else the snapshot's list of manifests
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.catalog.data.checkpoints import Checkpoint, open_checkpoint
from lakebed.catalog.data.deltas import record_of
from lakebed.catalog.data.frames import DocumentName
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.records import records_pb2 as pb


@dataclass(frozen=True, slots=True)
class DataIndex:
    """Where the files of a version are listed."""

    segment_type: pb.SegmentSetType
    cur_set_id: str
    set_ids: tuple[str, ...]
    table_index_url: str

    @property
    def type_name(self) -> str:
        return pb.SegmentSetType.Name(self.segment_type).lower()


def data_indexes(work: Work, wanted: Sequence[tuple[str, Sequence[State]]]) -> list[list[DataIndex]]:
    """The index after each of these deltas of each partition, in one round trip."""
    found = work.reader.every_checkpoint([partition for partition, _ in wanted])
    return [
        _indexes(work, deltas, [open_checkpoint(work.context, state) for state in own])
        for (_, deltas), own in zip(wanted, found, strict=True)
    ]


def _indexes(work: Work, deltas: Sequence[State], known: list[Checkpoint]) -> list[DataIndex]:
    versions = [checkpoint.version for checkpoint in known]
    nearest = [known[place - 1] if (place := bisect_right(versions, delta.version)) else None for delta in deltas]
    return [_index(work, delta, found) for delta, found in zip(deltas, nearest, strict=True)]


def _index(work: Work, delta: State, checkpoint: Checkpoint | None) -> DataIndex:
    record, files = record_of(delta), work.context.files
    own = str(DocumentName(record.table_id, record.snapshot_id, is_manifest=True))
    current = files.location(record.manifest_path) if record.HasField("manifest_path") else own
    whole = str(DocumentName(record.table_id, record.snapshot_id))
    if checkpoint is None:
        return DataIndex(pb.DATA if record.totals.get("files", 0) else pb.INIT, current, (), whole)
    parts = tuple(dict.fromkeys(files.location(part.entries.key) for part in checkpoint.parts))
    url = files.location(checkpoint.record.top.key) if checkpoint.record.HasField("top") else whole
    return DataIndex(pb.INDEX, current, parts, url)
