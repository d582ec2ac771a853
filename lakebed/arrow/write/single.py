"""Rows as one Parquet file under a name that others may know: readers see all of it, or nothing."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import pyarrow
from pyarrow.parquet import ParquetWriter

from lakebed.arrow.fit import fit
from lakebed.arrow.types import file_schema
from lakebed.errors import AlreadyExists, NotFound
from lakebed.files import Files
from lakebed.table.schema.schema import Schema

_IN_MEMORY: Final = 16 << 20
_CHUNK: Final = 4 << 20
_GROUP_ROWS: Final = 1 << 20
_FORM: Final[dict[str, Any]] = {
    "store_schema": False,
    "store_decimal_as_integer": True,
    "write_page_checksum": True,
    "compression": "zstd",
    "compression_level": 1,
}


def put_rows(files: Files, path: str, schema: Schema, batches: Iterable[pyarrow.RecordBatch]) -> int:
    """Write rows, in the columns of a table's schema, to a file; its size, 0 and no file if there are no rows.

    If there is a file of this name, it stays, and no row is read: whoever writes it writes the same rows.
    """
    with suppress(NotFound):
        return files.size(path)
    rows = (batch for batch in batches if batch.num_rows)
    first = next(rows, None)
    if first is None:
        return 0

    def all_rows() -> Iterator[pyarrow.RecordBatch]:
        yield first
        yield from rows

    given = pyarrow.RecordBatchReader.from_batches(first.schema, all_rows())
    with tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="lakebed-") as buffer:
        with ParquetWriter(buffer, file_schema(schema), **_FORM) as writer:
            for batch in fit(given, schema):
                writer.write_batch(batch, _GROUP_ROWS)
        size = buffer.tell()
        buffer.seek(0)
        with suppress(AlreadyExists):
            files.put_if_absent(path, iter(lambda: buffer.read(_CHUNK), b""))
    return size
