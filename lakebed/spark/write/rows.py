"""Writing the rows of a DataFrame for a work, to files that its commit shows."""

from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import Target
from lakebed.catalog.objects.naming import about_table
from lakebed.spark.write.checks import broken, guarded
from lakebed.spark.write.write import write
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def write_rows(target: Target, frame: DataFrame) -> Written:
    """Write rows for a table, to files in a folder that no other attempt has.

    An error changes nothing, and names the table. `Invalid` if a row breaks a check of the table.
    """
    with about_table(target.name):
        checks, schema = target.checks, target.schema
        if not checks:
            return Written(_files(target, frame))
        try:
            return Written(_files(target, guarded(checks, schema, frame)))
        except PySparkException as error:
            raise broken(error, checks, schema, frame) or error from error


def _files(target: Target, frame: DataFrame) -> list[DataFileRef]:
    state, options = target.state, target.write_options
    folder, row_bytes = f"{state.data_folder}/{uuid4()}", target.row_bytes()
    return write(target.files, folder, state.schema, frame, state.spec, state.sort_order, options, row_bytes=row_bytes)
