import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import Corrupt
from lakebed.files import LocalFiles
from lakebed.spark.read.footer import arrow_form
from lakebed.spark.write.footer import written_file
from lakebed.table.schema.schema import Schema, with_ids

SCHEMA = with_ids(Schema({"id": "long"}), 0, 1)


def test_the_form_of_a_file_is_what_pyarrow_reads_from_it(files: LocalFiles) -> None:
    with files.create("a.parquet") as file:
        pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    entry = written_file(files, files.head("a.parquet"), SCHEMA)
    assert (entry.num_rows, entry.statistics[0].null_count) == (3, 0)
    assert arrow_form(files, entry).equals(pq.read_schema(files.location("a.parquet")))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet at all", b"\xff\xff\xff\x00PAR1", bytes(1 << 17)])
def test_what_is_no_parquet_file_is_corrupt(files: LocalFiles, data: bytes) -> None:
    files.put("a.parquet", data)
    with pytest.raises(Corrupt, match=r"^a\.parquet: "):
        written_file(files, files.head("a.parquet"), SCHEMA)


def test_a_footer_that_rots_before_spark_reads_the_file_is_corrupt(files: LocalFiles) -> None:
    with files.create("a.parquet") as file:
        pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    entry = written_file(files, files.head("a.parquet"), SCHEMA)
    files.put("a.parquet", files.read("a.parquet").replace(b"schema", b"schemb"))
    with pytest.raises(Corrupt, match=r"^a\.parquet: the data file is damaged: its footer"):
        arrow_form(files, entry)
