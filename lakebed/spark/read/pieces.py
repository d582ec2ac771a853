"""Reading rows of files by their positions: executors read the files, the other engine reads inline rows."""

from collections.abc import Sequence

import pyarrow
from pyspark.sql import DataFrame

from lakebed.catalog.feed.steps import Piece
from lakebed.spark.read.read import read
from lakebed.spark.read.source import Source
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.delta import replaced
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import FILE, POSITION
from lakebed.table.schema.schema import Schema


def read_pieces(source: Source, schema: Schema, pieces: Sequence[Piece], columns: Sequence[str]) -> DataFrame:
    """The rows of pieces of different files; `ORDINAL` is the piece's index. Lazy, except for inline rows."""
    left_out = {piece.file.path: piece.left_out for piece in pieces}

    def inline_rows(
        schema: Schema, files: Sequence[DataFileRef], filter: Filter | None, names: Sequence[str]
    ) -> pyarrow.Table:
        whole = [replaced(file, dv_path=None, dv_offset=None, dv_length=None, deleted_rows=None) for file in files]
        places = [name for name in (FILE.name, POSITION.name) if name not in names]
        table = source.inline_rows(schema, whole, filter, [*names, *places])
        addresses = zip(table[FILE.name].to_pylist(), table[POSITION.name].to_pylist(), strict=True)
        kept = pyarrow.array([place not in left_out[path] for path, place in addresses], pyarrow.bool_())
        return table.filter(kept).select(names)

    files = [piece.file for piece in pieces]
    return read(source.spark, source.files, schema, files, columns=columns, inline_rows=inline_rows, vectors=left_out)
