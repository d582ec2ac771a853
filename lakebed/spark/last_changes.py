"""The sequence numbers of rows' last changes, as statistics of files that Spark has written: its footers have them."""

from pyarrow.parquet import read_metadata

from lakebed.files import Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import LAST_UPDATED
from lakebed.table.types.values import encode_bound


def tell_last_changes(files: Files, file: DataFileRef) -> None:
    """Write the least and the greatest into the entry of a file whose last column has them."""
    footer = read_metadata(files.location(file.path))
    last = footer.num_columns - 1
    found = [footer.row_group(group).column(last).statistics for group in range(footer.num_row_groups)]
    # A row without a number gets that of the commit, which is above all others.
    if found and all(one is not None and one.has_min_max and one.null_count == 0 for one in found):
        numbers = min(one.min for one in found), max(one.max for one in found)
        lower, upper = (encode_bound(LAST_UPDATED.type, one) for one in numbers)
        known = {"value_count": file.num_rows, "null_count": 0, "lower": lower, "upper": upper}
        file.statistics.add(field_id=LAST_UPDATED.id, **known)
