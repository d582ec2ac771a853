"""A live file of a snapshot."""

from dataclasses import dataclass

from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file of a snapshot, and the snapshot and schema of the commit that added it to the line."""

    file: DataFileRef
    snapshot_id: int
    schema_id: int
