"""Writes a DataFrame as data files, with Spark's own Parquet writer."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from lakebed.catalog.tables.properties import DEFAULTS, WriteOptions
from lakebed.errors import AlreadyExists, Invalid, LakebedError, Unavailable
from lakebed.files import FileInfo, Files
from lakebed.spark.expressions import unfit_value
from lakebed.spark.fit import NULL_FOUND, check_rows, quoted
from lakebed.spark.jobs.jobs import jobs_of
from lakebed.spark.locations import spark_location
from lakebed.spark.variables import writable_names
from lakebed.spark.write.footer import count_nan, written_file
from lakebed.spark.write.layout import Complete, Layout, PartitionLayout
from lakebed.spark.write.partitions import partitions_of
from lakebed.spark.write.settings import ALWAYS, guessed_row_bytes, write_settings
from lakebed.spark.write.transforms import TOO_NEAR
from lakebed.table.manifest.file_fields import set_column_names, set_field_ids, with_column_names
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import UNSORTED, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.plan.blooms import seal_blooms
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

REBASE: Final = "spark.sql.parquet.datetimeRebaseModeInWrite"
FOOTER_THREADS: Final = 8
ROWS: Final = "rows"
SETTLING: Final = 10.0
"""Seconds to wait for the tasks of a failed job before its folder is removed: they would create it again."""
OPTIONS_WIN: Final = "4.3"
"""The version from which a write's options override the session's settings: in 4.3.0 they do, in 4.1.4 they don't."""
_FULL: Final = re.compile("No space left on device|Disk quota exceeded|File too large")


def write(
    files: Files,
    folder: str,
    schema: Schema,
    frame: DataFrame,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    options: WriteOptions = DEFAULTS,
    *,
    row_bytes: float | None = None,
) -> list[DataFileRef]:
    """Write the rows into a new folder; returns its files, durable, in the order of the DataFrame's partitions.

    A file has rows of one partition, sorted by the order. `row_bytes` is what a row takes in a file, if that is known:
    files are cut by their number of rows. Nobody sees the files before a commit refers to them. Rows that `fit` refuses
    fail before any job. If the job fails, its files are removed and Spark's own error goes through, except that a null
    in a required column is `Invalid` and a full disk `Unavailable`.
    """
    layout = PartitionLayout(partitions_of(spec, written_schema(schema)), order, options.distribution)
    return write_with_layout(files, folder, schema, frame, layout, options, row_bytes=row_bytes)


def write_with_layout(
    files: Files,
    folder: str,
    schema: Schema,
    frame: DataFrame,
    layout: Layout,
    options: WriteOptions,
    *,
    row_bytes: float | None = None,
) -> list[DataFileRef]:
    """The same with a layout, which arranges the rows and completes the entries."""
    check_rows(frame)
    _check_session(frame.sparkSession)
    _check_fresh(files, folder)
    counted, own, schema = Observation(), schema, written_schema(schema)
    laid = layout.arranged_rows(frame, schema).observe(counted, F.count(F.lit(1)).alias(ROWS))
    settings = write_settings(options, schema, row_bytes or guessed_row_bytes(schema))
    jobs = jobs_of(frame.sparkSession, f"lakebed-write-{uuid4()}")
    try:
        with jobs.tagged():
            writer = laid.write.mode("error").options(**settings).partitionBy(*layout.names)
            writer.parquet(spark_location(files, folder))
        return _FinishedJob(files, folder, schema, writable_names(own), layout).collect(counted.get[ROWS])
    except BaseException as error:
        if not jobs.settle(SETTLING):
            error.add_note(f"Tasks of the job still run after {SETTLING} s; what they write to {folder} is garbage.")
        _clear(files, folder, error)
        # Spark Connect reports a full disk by an error of PySpark's, a session in this process by one of py4j's.
        ours = isinstance(error, LakebedError) or not isinstance(error, Exception)
        if not ours and (write_error := _write_error(str(error), folder, frame)) is not None:
            raise write_error from error
        raise


def written_schema(schema: Schema) -> Schema:
    """The schema with the names that columns get in files: their physical names, unless Hadoop would change those."""
    names = writable_names(schema)
    return Schema(with_column_names(schema.fields, names), schema.id, schema.identifier_ids) if names else schema


def _write_error(message: str, folder: str, frame: DataFrame) -> LakebedError | None:
    """Spark's error about a value or about the disk as Lakebed's; None for any other."""
    if (unfit := unfit_value(message)) is not None:
        return unfit
    if (path := re.search(f"{re.escape(NULL_FOUND)}«(.*)»", message)) is not None:
        return _null_error(path.group(1), frame)
    if TOO_NEAR in message:
        return Invalid(
            "a value is too near the end of its type to be truncated", advice="Nothing was written. Leave its row out."
        )
    if (found := _FULL.search(message)) is not None:
        return Unavailable(
            "the disk is full",
            subject=folder,
            expected="room for the files",
            found=found.group(),
            advice="Nothing was changed. Free space or raise the quota, also where Spark has its scratch files "
            "(spark.local.dir), and run again.",
        )
    return None


def _check_session(session: SparkSession) -> None:
    # The only setting that no option of a write overrides. Spark 4's default is right.
    if session.conf.get(REBASE) == "LEGACY":
        raise Invalid(
            "this session writes dates before 1582 in the Julian calendar, which every other reader gets wrong",
            subject=REBASE,
            expected="CORRECTED",
            found="LEGACY",
            advice=f'Run `spark.conf.set("{REBASE}", "CORRECTED")`.',
        )
    if session.version < OPTIONS_WIN:
        _check_settings(session)


def _check_settings(session: SparkSession) -> None:
    """Refuse a session of an older Spark whose settings override the write's options, and differ."""
    for name, value in ALWAYS.items():
        if name.startswith("spark.") and (found := session.conf.get(name)) != value:
            raise Invalid(
                f"this session of Spark {session.version} would write files in another format than the table's",
                subject=name,
                expected=value,
                found=found,
                advice=f'Run `spark.conf.set("{name}", "{value}")`, or start it with lakebed.spark.session(lake).',
            )


def _check_fresh(files: Files, folder: str) -> None:
    for info in files.list(f"{folder}/", limit=1):
        raise AlreadyExists("the folder is taken", subject=folder, expected="no file in it", found=info.path)


class _FinishedJob:
    """A job that succeeded, and what it left in its folder."""

    def __init__(self, files: Files, folder: str, schema: Schema, names: Mapping[int, str], layout: Layout) -> None:
        self._files, self._folder, self._schema, self._names, self._layout = files, folder, schema, names, layout
        self._known: dict[tuple[str, ...], Complete] = {}

    def collect(self, rows: int) -> list[DataFileRef]:
        """The entries of the files, which are durable now; empty files, and checksums beside files, are removed.

        `rows` is how many the executors wrote. Some are missing here if they wrote to disks unseen by this process.
        """
        found = list(self._files.list(f"{self._folder}/"))
        data = [info for info in found if self._is_data(info)]
        with ThreadPoolExecutor(FOOTER_THREADS) as pool:
            entries = list(pool.map(self._entry, data))
        full = [entry for entry in entries if entry.num_rows]
        if (here := sum(entry.num_rows for entry in full)) != rows:
            raise self._missing_rows(rows, here)
        names = {entry.path for entry in full}
        # Empty files, and the checksums that Hadoop writes beside local files.
        for failure in self._files.delete_many(info.path for info in found if info.path not in names):
            raise failure.error
        self._files.sync(names)
        return full

    def _folders(self, info: FileInfo) -> tuple[str, ...]:
        """The folders between the job's own and the file."""
        return tuple(info.path.removeprefix(f"{self._folder}/").split("/")[:-1])

    def _is_data(self, info: FileInfo) -> bool:
        name = info.path.rpartition("/")[2]
        is_ours = len(self._folders(info)) == len(self._layout.names)
        return name.endswith(".parquet") and is_ours and not name.startswith((".", "_"))

    def _entry(self, info: FileInfo) -> DataFileRef:
        entry = written_file(self._files, info, self._schema)
        count_nan(entry, self._schema)
        seal_blooms(entry, self._files.read)
        if self._names:
            set_column_names(entry, self._names)
            set_field_ids(entry, self._schema.ways)
        if entry.num_rows:
            self._completion(info)(entry)
        return entry

    def _completion(self, info: FileInfo) -> Complete:
        folders = self._folders(info)
        if folders not in self._known:
            self._known[folders] = self._layout.completion(self._files, info, folders)
        return self._known[folders]

    def _missing_rows(self, rows: int, here: int) -> Unavailable:
        return Unavailable(
            "the job succeeded, but not all of its rows are here",
            subject=self._folder,
            expected=f"{rows} rows",
            found=f"{here} rows",
            advice="Use a shared disk: the executors have to write where this process reads.",
        )


def _clear(files: Files, folder: str, error: BaseException) -> None:
    """Remove what a failed job left, as far as possible; the error gets a note about files that stay, unreferenced."""
    try:
        failures = files.delete_folder(folder)
    except LakebedError as trouble:
        error.add_note(f"What the job wrote to {folder} could not be removed: {trouble}")
        return
    for failure in failures:
        error.add_note(f"{failure.path} could not be removed: {failure.error}")


def _null_error(path: str, frame: DataFrame) -> Invalid:
    return Invalid(
        "a required column has a null",
        subject=path,
        expected="a value in every row",
        found=_null_count(path, frame),
        advice="Nothing was written. Fill or drop these rows.",
    )


def _null_count(path: str, frame: DataFrame) -> str:
    """How many rows have the null, which reads them once more; nulls inside of a column are not counted."""
    for name in frame.columns:
        if folded_column(name) == folded_column(path):
            with suppress(PySparkException):  # the rows can't be computed again
                return f"nulls in {frame.where(F.col(quoted(name)).isNull()).count()} of the rows"
    return "at least one null"
