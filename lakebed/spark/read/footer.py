"""Reads the footer of a Parquet file through `Files`, usually in one read."""

from itertools import chain

import pyarrow
from pyarrow.parquet import FileMetaData, read_metadata

from lakebed.errors import Corrupt
from lakebed.files import FileInfo, Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import DOUBLE, FLOAT, leaves

TAIL = 1 << 16  # 20 columns and 8 row groups take 15 kB
_END = 8  # the footer's length, then the magic number


def read_footer(files: Files, info: FileInfo) -> FileMetaData:
    """The metadata of a Parquet file; `Corrupt` if there is none."""
    tail = files.read(info.path, max(info.size - TAIL, 0))
    needed = int.from_bytes(tail[-_END:-4], "little") + _END
    if len(tail) < needed <= info.size:
        tail = files.read(info.path, info.size - needed)
    try:
        return read_metadata(pyarrow.BufferReader(tail))  # which looks only at the end
    except (pyarrow.ArrowException, OSError) as error:
        raise Corrupt("this is not a complete Parquet file", subject=info.path, found=str(error)) from error


def count_nan(file: DataFileRef, schema: Schema) -> None:
    """Record that there is no NaN where a file written by Spark has bounds.

    To Parquet's Java writer NaN is the greatest number: a column with NaN would have it as the upper bound, and then
    gets no bounds.
    """
    floating = {way[-1].id for way in leaves(schema.fields) if way[-1].type in (FLOAT, DOUBLE)}
    for known in chain(file.statistics, *(row_group.columns for row_group in file.blocks)):
        if known.field_id in floating and known.HasField("lower"):
            known.nan_count = 0
