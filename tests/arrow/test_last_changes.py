"""What the entry of a file says of its rows' last changes."""

import pyarrow as pa
import pytest

from lakebed.arrow.compaction import LastChanges
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import LAST_UPDATED


def told(changes: LastChanges) -> list[int]:
    entry = DataFileRef(path="a.parquet", num_rows=4)
    changes.write_to(entry)
    return [int.from_bytes(one, "little") for known in entry.statistics for one in (known.lower, known.upper)]


def test_the_least_and_the_greatest_of_all_batches_are_told() -> None:
    changes, other = LastChanges(), LastChanges()
    batches = [pa.record_batch({LAST_UPDATED.name: pa.array(one, pa.int64())}) for one in ([5, 7], [], [6])]
    assert list(changes.observed(batches)) == batches
    other.add_values(pa.chunked_array([[3], [4]]))
    changes.add(other)
    assert told(changes) == [3, 7]
    assert told(LastChanges()) == []


@pytest.mark.parametrize("is_added", [False, True])
def test_rows_that_were_new_were_told_to_be_as_old_as_the_others_of_their_file(is_added: bool) -> None:
    changes, other = LastChanges(), LastChanges()
    changes.add_values(pa.array([5, 7]))
    (other if is_added else changes).add_values(pa.array([6, None]))
    changes.add(other)
    assert told(changes) == []
