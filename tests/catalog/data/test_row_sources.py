"""Data files as a commit relies on them."""

from pathlib import Path

import pytest

from lakebed.catalog.data.row_sources import check_whole
from lakebed.errors import Corrupt
from lakebed.files import LocalFiles
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def test_files_of_the_recorded_sizes_are_whole(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.put("a", b"123")
    files.put("d/b", b"")
    check_whole(files, [DataFileRef(path="a", file_size=3), DataFileRef(path="d/b", file_size=0)])
    check_whole(files, [])


@pytest.mark.parametrize(
    ("path", "size", "found"),
    [("b", 4, "3 bytes"), ("b", 2, "3 bytes"), ("c", 3, "no file"), ("d", 0, "no file")],
    ids=["cut", "grown", "missing", "a folder"],
)
def test_the_one_that_is_not_is_named(tmp_path: Path, path: str, size: int, found: str) -> None:
    files = LocalFiles(tmp_path)
    for each in ("a", "b", "d/inside"):
        files.put(each, b"123")
    with pytest.raises(Corrupt) as caught:
        check_whole(files, [DataFileRef(path="a", file_size=3), DataFileRef(path=path, file_size=size)])
    assert (caught.value.subject, caught.value.expected, caught.value.found) == (path, f"{size} bytes", found)
