"""A PyIceberg table with our files: the same statistics, in one manifest."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from lakebed.table.manifest.manifest_pb2 import DataFileRef

NAME = "sales.orders"


def create(folder: Path, schema: pyarrow.Schema, files: Iterable[DataFileRef], root: Path) -> Table:
    """Create a table with one append of these entries, which is all that PyIceberg's `add_files` would do.

    Paths are relative to `root`. Both sides number a schema's columns from 1, so the ids are the same.
    """
    folder.mkdir()
    catalog = open_catalog(folder)
    catalog.create_namespace(NAME.partition(".")[0])
    table = catalog.create_table(NAME, schema)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(_entry(file, root))
    return catalog.load_table(NAME)


def open_catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())


def _entry(file: DataFileRef, root: Path) -> DataFile:
    columns = {column.field_id: column for column in file.statistics}
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{root.as_uri()}/{file.path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=file.num_rows,
        file_size_in_bytes=file.file_size,
        column_sizes={id: column.size for id, column in columns.items()},
        value_counts={id: column.value_count for id, column in columns.items()},
        null_value_counts={id: column.null_count for id, column in columns.items()},
        nan_value_counts={},
        lower_bounds={id: column.lower for id, column in columns.items()},
        upper_bounds={id: column.upper for id, column in columns.items()},
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=None,
        spec_id=0,
    )
