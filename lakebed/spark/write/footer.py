"""A file that Spark wrote: its entry, from its footer, and its rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import pyarrow
from pyarrow.parquet import ParquetFile

from lakebed.catalog.data.footers import entry_footer, read_footer
from lakebed.errors import Corrupt, Invalid
from lakebed.files import FileInfo, Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.types import DOUBLE, FLOAT, leaves


def written_file(files: Files, info: FileInfo, schema: Schema) -> DataFileRef:
    """The entry with the statistics and the checksum of the footer; `Corrupt` if the file is not a whole one."""
    try:
        footer = read_footer(files, info.path, info.size)
        skipped = footer.check()
        entry = data_file(footer.metadata(), schema, path=info.path, size=info.size, skipped=skipped)
    except (Invalid, pyarrow.ArrowException, OSError) as error:
        raise Corrupt("this is not a complete Parquet file", subject=info.path, found=str(error)) from error
    entry.footer_checksum = footer.checksum
    return entry


@contextmanager
def opened_file(files: Files, file: DataFileRef) -> Iterator[ParquetFile]:
    """Open a file that Spark has just written; inside the `with`, what Arrow can't read is `Corrupt`."""
    entry_footer(files, file)
    try:
        with ParquetFile(files.location(file.path), page_checksum_verification=True) as parquet:
            yield parquet
    except (pyarrow.ArrowException, OSError) as error:
        raise Corrupt("the data file is damaged", subject=file.path, found=str(error)) from error


def count_nan(file: DataFileRef, schema: Schema) -> None:
    """Record that there is no NaN where a file written by Spark has bounds.

    To Parquet's Java writer NaN is the greatest number: a column with NaN would have it as the upper bound, and then
    gets no bounds.
    """
    floating = {way[-1].id for way in leaves(schema.fields) if way[-1].type in (FLOAT, DOUBLE)}
    for known in chain(file.statistics, *(row_group.columns for row_group in file.blocks)):
        if known.field_id in floating and known.HasField("lower"):
            known.nan_count = 0
