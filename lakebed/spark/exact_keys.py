"""The first and the last primary key of a file that Spark wrote in the order of its keys."""

from collections.abc import Sequence
from typing import Any

import pyarrow
from pyarrow.parquet import ParquetFile

from lakebed.files import Files
from lakebed.table.keys.encoding import encode_key, key_types, set_key_bounds
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import BINARY, STRING, Field, Fixed, Type


def set_exact_keys(files: Files, file: DataFileRef, schema: Schema) -> None:
    """Give the entry of a sorted file the keys of its first and last row.

    Statistics have them if the key is one column of a size that is fixed: they round only what is long.
    """
    types = key_types(schema)
    if len(types) == 1 and not _is_long(types[0]):
        set_key_bounds(file, schema)
    if not file.key_max:
        ways = [schema.way_by_id(one) for one in schema.identifier_ids]
        columns = [".".join(one.physical_name for one in way) for way in ways]
        with ParquetFile(files.location(file.path)) as parquet:
            first = next(parquet.iter_batches(1, [0], columns))
            last = parquet.read_row_group(parquet.num_row_groups - 1, columns)
        file.key_min = encode_key(types, [_value(first, way, 0) for way in ways])
        file.key_max = encode_key(types, [_value(last, way, last.num_rows - 1) for way in ways])
        file.key_schema_id = schema.id


def _is_long(type: Type) -> bool:
    return type in (STRING, BINARY) or isinstance(type, Fixed)


def _value(rows: pyarrow.RecordBatch | pyarrow.Table, way: Sequence[Field], place: int) -> Any:
    found = rows.column(way[0].physical_name)[place]
    for inner in way[1:]:
        found = found[inner.physical_name]
    if pyarrow.types.is_temporal(found.type):  # as a number, as bounds have it
        found = found.cast(pyarrow.int32() if found.type == pyarrow.date32() else pyarrow.int64())
    return found.as_py()
