"""What imports ask the local engine for: files and their columns, as other writers left them, and their rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import google_crc32c
import pyarrow
from pyroaring import FrozenBitMap64

from lakebed.arrow.add_files import examined_files
from lakebed.arrow.foreign_rows import rows_of_files
from lakebed.arrow.foreign_schemas import ForeignSchema, foreign_schema
from lakebed.arrow.given_files import given_files
from lakebed.arrow.text.columns import in_columns
from lakebed.arrow.text.csv import csv_rows
from lakebed.arrow.text.form import ReadRows
from lakebed.arrow.text.json import json_rows
from lakebed.arrow.text.sample import sampled_fields
from lakebed.catalog.data.footers import read_footer
from lakebed.catalog.data.foreign import CSV, BadRow, ForeignFiles, Problem, TextForm
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field, Type

CHUNK_BYTES = 8 << 20


class ArrowImporter:
    """Reads what others wrote. It changes nothing."""

    def listed(self, files: Files, addresses: Sequence[str]) -> dict[str, str]:
        """(path) -> where the user found it, of the files that addresses name."""
        return given_files(files, addresses)

    def foreign_schema(self, files: Files, paths: Collection[str], without: Collection[str] = ()) -> ForeignSchema:
        """The columns of Parquet files, taken together; only footers are read."""
        return foreign_schema(files, paths, without)

    def examined(
        self, files: Files, schema: Schema, spec: PartitionSpec, foreign: ForeignFiles
    ) -> tuple[list[DataFileRef], list[Problem]]:
        """The entries of files that fit a table, and all reasons why others don't."""
        return examined_files(files, schema, spec, foreign)

    def footer_checksum(self, files: Files, path: str) -> int:
        """The checksum of a Parquet file's footer."""
        return read_footer(files, path, files.size(path)).checksum

    def rows_of_files(
        self,
        files: Files,
        paths: Sequence[str],
        schema: Schema,
        values: Mapping[str, Mapping[str, Value | None]],
        names: Mapping[str, str] | None = None,
        deleted: Mapping[str, FrozenBitMap64] | None = None,
    ) -> pyarrow.RecordBatchReader:
        """The rows of Parquet files in the columns of a table."""
        return rows_of_files(files, paths, schema, values, names or {}, deleted or {})

    def checksum(self, files: Files, path: str) -> int:
        """The CRC32C of all bytes of a file."""
        found, size = 0, files.size(path)
        for start in range(0, size, CHUNK_BYTES):
            found = google_crc32c.extend(found, files.read(path, start, min(CHUNK_BYTES, size - start)))
        return found

    def text_fields(self, files: Files, paths: Sequence[str], form: TextForm, known: Mapping[str, Type]) -> list[Field]:
        """The columns of files of text, with types that are known by folded name, or inferred from a sample."""
        return sampled_fields(files, paths, form, known)

    def text_rows(self, files: Files, paths: Sequence[str], form: TextForm, schema: Schema) -> Iterator[ReadRows]:
        """The rows of files of text in the columns of a table, and those that can't be read."""
        for path in paths:
            for good, bad in self.text_file(files, form, schema, path):
                yield ReadRows(good, tuple(bad))

    def text_file(
        self, files: Files, form: TextForm, schema: Schema, path: str
    ) -> Iterator[tuple[pyarrow.RecordBatch, Sequence[BadRow]]]:
        """The same of one file, for a task of Spark's. A file that ends before its end has a bad row 0."""
        read = csv_rows if form.format == CSV else json_rows
        try:
            for rows in read(files, path, form, schema):
                yield rows.good, rows.bad
        except Invalid as error:
            yield in_columns({}, schema, 0), [BadRow(path, 0, f"{error.problem} ({error.found})", "")]

    def reader(self, batches: Iterator[pyarrow.RecordBatch], schema: Schema) -> pyarrow.RecordBatchReader:
        """Batches in the columns of a table as one stream."""
        return pyarrow.RecordBatchReader.from_batches(in_columns({}, schema, 0).schema, batches)
