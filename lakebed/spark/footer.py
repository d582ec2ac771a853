"""Reading the footer of a Parquet file through `Files`, in one read as a rule."""

import pyarrow
from pyarrow.parquet import FileMetaData, read_metadata

from lakebed.errors import Corrupt
from lakebed.files import FileInfo, Files

TAIL = 1 << 16  # 20 columns and 8 row groups take 15 kB
_END = 8  # the footer's length, then the magic number


def read_footer(files: Files, info: FileInfo) -> FileMetaData:
    """The metadata of a Parquet file; `Corrupt` if it has none."""
    tail = files.read(info.path, max(info.size - TAIL, 0))
    needed = int.from_bytes(tail[-_END:-4], "little") + _END
    if len(tail) < needed <= info.size:
        tail = files.read(info.path, info.size - needed)
    try:
        return read_metadata(pyarrow.BufferReader(tail))  # it looks at the end only
    except (pyarrow.ArrowException, OSError) as error:
        raise Corrupt("this is no whole Parquet file", subject=info.path, found=str(error)) from error
