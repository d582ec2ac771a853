import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import Corrupt
from lakebed.files import LocalFiles
from lakebed.spark.read.footer import TAIL, read_footer


@pytest.mark.parametrize("columns", [1, 2000], ids=["small", "longer than the first read"])
def test_a_footer_is_what_pyarrow_reads_from_the_file(files: LocalFiles, columns: int) -> None:
    with files.create("a.parquet") as file:
        pq.write_table(pa.table({f"column {number}": [1, 2, 3] for number in range(columns)}), file)
    found = read_footer(files, files.head("a.parquet"))
    assert found.equals(pq.read_metadata(files.location("a.parquet")))
    assert (found.serialized_size > TAIL) == (columns > 1)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet at all", b"\xff\xff\xff\x00PAR1", bytes(TAIL * 2)])
def test_what_is_no_parquet_file_is_corrupt(files: LocalFiles, data: bytes) -> None:
    files.put("a.parquet", data)
    with pytest.raises(Corrupt, match=r"^a\.parquet: "):
        read_footer(files, files.head("a.parquet"))
