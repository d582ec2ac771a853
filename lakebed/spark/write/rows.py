"""Writing the rows of a DataFrame for a work, to files that its commit shows."""

from typing import Final, cast
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.properties import checks_of, write_options
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.spark.write.checks import broken, guarded
from lakebed.spark.write.write import write
from lakebed.table.manifest.manifest_pb2 import DataFileRef

ENOUGH_BYTES: Final = 1 << 20
"""Of files from which it can be told how many bytes a row takes; in smaller ones footers are much of it."""


def write_rows(work: Work, state: TableState, frame: DataFrame) -> Written:
    """Write rows for a table as it is in `state`, to files in a folder that no other attempt has.

    An error changes nothing, and names the table. `Invalid` if a row breaks a check of the table.
    """
    with about(work, state.id):
        checks = checks_of(work, state.id)
        if not checks:
            return Written(_files(work, state, frame))
        try:
            return Written(_files(work, state, guarded(checks, state.schema, frame)))
        except PySparkException as error:
            raise broken(error, checks, state.schema, frame) or error from error


def _files(work: Work, state: TableState, frame: DataFrame) -> list[DataFileRef]:
    folder, options = f"{state.data_folder}/{uuid4()}", write_options(work, state)
    files, row_bytes = work.context.files, _row_bytes(work, state)
    return write(files, folder, state.schema, frame, state.spec, state.sort_order, options, row_bytes=row_bytes)


def _row_bytes(work: Work, state: TableState) -> float | None:
    """How many bytes a row of the table takes in its files, None if these are too few to tell."""
    newest = work.reader.history(state.partition, Attribute.DATA, limit=1).items
    totals = cast(pb.TableHistory, newest[0].record).totals if newest else {}
    rows, size = totals.get("rows", 0), totals.get("bytes", 0)
    return size / rows if rows and size >= ENOUGH_BYTES else None
