"""Writes a DataFrame's rows for a change of a table, whose commit makes the files visible."""

from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import Target
from lakebed.catalog.objects.naming import about_table
from lakebed.spark.casting import with_whole_numbers
from lakebed.spark.fit import check_rows
from lakebed.spark.write.checks import broken_check, guarded_rows
from lakebed.spark.write.texts import with_checked_texts
from lakebed.spark.write.write import write
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def write_rows(target: Target, frame: DataFrame) -> Written:
    """Write rows to files in a folder of their own, matched to the table's columns.

    Errors name the table, and leave nothing behind. `Invalid` if a row breaks a check of the table.
    """
    with about_table(target.name):
        checks, schema = target.checks, target.schema
        frame = with_checked_texts(with_whole_numbers(check_rows(frame), schema))
        if not checks:
            return Written(_write(target, frame))
        try:
            return Written(_write(target, guarded_rows(checks, schema, frame)))
        except PySparkException as error:
            raise broken_check(error, checks, schema, frame) or error from error


def _write(target: Target, frame: DataFrame) -> list[DataFileRef]:
    state, options = target.state, target.write_options
    folder, row_bytes = f"{state.data_folder}/{uuid4()}", target.row_bytes()
    return write(target.files, folder, state.schema, frame, state.spec, state.sort_order, options, row_bytes=row_bytes)
