"""The sequence numbers of the rows in a file that a compaction or a copy of rows wrote."""

from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import LAST_UPDATED
from lakebed.table.types.values import encode_bound


def set_sequences(file: DataFileRef, least: int, greatest: int | None) -> None:
    """Set the bounds of the rows' last changes in a new file's entry.

    Without the greatest, some rows have no number yet: they get that of the commit, which completes the entry.
    """
    file.seq_min = least
    if greatest is not None:
        file.seq_max = greatest
        lower, upper = (encode_bound(LAST_UPDATED.type, number) for number in (least, greatest))
        file.statistics.add(field_id=LAST_UPDATED.id, value_count=file.num_rows, null_count=0, lower=lower, upper=upper)
