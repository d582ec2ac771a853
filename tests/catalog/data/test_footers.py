"""Footers of files: read in one piece, and compared with the checksum in the entry."""

import pyarrow
import pyarrow.parquet
import pytest

from lakebed.catalog.data.footers import TAIL, entry_footer, footer_of, read_footer
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from tests.support.damage.parquet_files import written


@pytest.fixture
def files(tmp_path):
    return LocalFiles(tmp_path)


@pytest.mark.parametrize("columns", [1, 2000], ids=["small", "longer than the first read"])
def test_a_footer_is_what_pyarrow_reads_from_the_file(files, columns):
    data = written(pyarrow.table({f"column {number}": [1, 2, 3] for number in range(columns)}))
    files.put("a.parquet", data)
    footer = read_footer(files, "a.parquet", len(data))
    assert footer.check() == frozenset()
    assert footer.metadata().equals(pyarrow.parquet.read_metadata(files.location("a.parquet")))
    assert (len(footer.data) > TAIL) == (columns > 1)
    assert footer.whole == (data if columns == 1 else None)
    assert footer.checksum == footer_of(data).checksum


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet at all", b"\xff\xff\xff\x00PAR1", bytes(TAIL * 2)])
def test_what_is_no_parquet_file_has_no_footer(files, data):
    files.put("a.parquet", data)
    with pytest.raises(Invalid, match=r"Parquet|footer"):
        read_footer(files, "a.parquet", len(data))


def test_a_footer_with_another_checksum_is_corrupt_although_it_is_readable(files):
    data = written(pyarrow.table({"id": [1, 2, 3]}))
    entry = DataFileRef(path="a.parquet", file_size=len(data), footer_checksum=footer_of(data).checksum)
    files.put("a.parquet", data)
    assert entry_footer(files, entry).data == footer_of(data).data
    start = len(data) - len(footer_of(data).data)
    files.put("a.parquet", data[:start] + data[start:].replace(b"schema", b"schemb"))
    assert read_footer(files, "a.parquet", len(data)).check() == frozenset()
    with pytest.raises(Corrupt, match=r"^a\.parquet: the data file is damaged: its footer \(expected the checksum"):
        entry_footer(files, entry)
    entry.ClearField("footer_checksum")  # of an older Lakebed: what contradicts nothing is not found
    assert entry_footer(files, entry)
    files.put("a.parquet", data[:start] + data[start:].replace(b"schema", b"sch\x00ma"))
    assert entry_footer(files, entry)
    files.put("a.parquet", data[:-9] + b"\x07" + data[-8:])
    with pytest.raises(Corrupt, match="its footer"):
        entry_footer(files, entry)
