"""Writing a DataFrame as data files, with Spark's own Parquet writer."""

import re
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
from lakebed.spark.fit import NULL_FOUND, check_rows, quoted
from lakebed.spark.jobs.jobs import jobs_of
from lakebed.spark.locations import spark_location
from lakebed.spark.read.footer import count_nan, read_footer
from lakebed.spark.write.layout import Complete, Layout, PartitionLayout
from lakebed.spark.write.partitions import partitions_of
from lakebed.spark.write.settings import ALWAYS, guessed_row_bytes, write_settings
from lakebed.spark.write.transforms import TOO_NEAR
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import UNSORTED, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.plan.blooms import seal_blooms
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.footers import data_file
from lakebed.table.types.names import folded_column

REBASE: Final = "spark.sql.parquet.datetimeRebaseModeInWrite"
FOOTER_THREADS: Final = 8
ROWS: Final = "rows"
SETTLING: Final = 10.0
"""Seconds that the tasks of a failed job have to stop before its folder is removed: they would make it again."""
OPTIONS_WIN: Final = "4.3"
"""The version from which a write's options go before the session's settings: 4.3.0 does so, 4.1.4 does not."""
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
    """Write the rows into a fresh folder, and answer its files, durable, in the order of the DataFrame's partitions.

    A file has rows of one partition, sorted by the order. `row_bytes` is what a row takes in a file, as far as it is
    known: files are cut by rows. Nobody sees them before a commit names them. What `fit` refuses is refused before any
    job. If the job fails, what it wrote is removed and Spark's own error goes through; a null in a required column is
    `Invalid`, a full disk `Unavailable`.
    """
    layout = PartitionLayout(partitions_of(spec, schema), order, options.distribution)
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
    """The same with rows that lie as a layout says, which completes the entries too."""
    check_rows(frame)
    _check_session(frame.sparkSession)
    _check_fresh(files, folder)
    counted = Observation()
    laid = layout.arranged_rows(frame, schema).observe(counted, F.count(F.lit(1)).alias(ROWS))
    settings = write_settings(options, schema, row_bytes or guessed_row_bytes(schema))
    jobs = jobs_of(frame.sparkSession, f"lakebed-write-{uuid4()}")
    try:
        with jobs.tagged():
            writer = laid.write.mode("error").options(**settings).partitionBy(*layout.names)
            writer.parquet(spark_location(files, folder))
        return _Job(files, folder, schema, layout).written(counted.get[ROWS])
    except BaseException as error:
        if not jobs.settle(SETTLING):
            error.add_note(f"Tasks of the job still run after {SETTLING} s; what they write to {folder} is garbage.")
        _clear(files, folder, error)
        # Of a full disk Spark Connect tells in an error of PySpark's, a session in this process in one of py4j's.
        ours = isinstance(error, LakebedError) or not isinstance(error, Exception)
        if not ours and (meant := _meant(str(error), folder, frame)) is not None:
            raise meant from error
        raise


def _meant(said: str, folder: str, frame: DataFrame) -> LakebedError | None:
    """What Spark's error says of the rows or of the disk; None if it is the caller's own."""
    if (place := re.search(f"{re.escape(NULL_FOUND)}«(.*)»", said)) is not None:
        return _null(place.group(1), frame)
    if TOO_NEAR in said:
        return Invalid(
            "a value is too near the end of its type to be truncated", advice="Leave its row out. Nothing was written."
        )
    if (found := _FULL.search(said)) is not None:
        return Unavailable(
            "the disk is full",
            subject=folder,
            expected="room for the files",
            found=found.group(),
            advice="Free space or raise the quota, also where Spark has its scratch files (spark.local.dir), and run "
            "again. Nothing was changed.",
        )
    return None


def _check_session(session: SparkSession) -> None:
    # The one setting that no option of a write goes before; Spark 4 has it right unless somebody changes it.
    if session.conf.get(REBASE) == "LEGACY":
        raise Invalid(
            "this session writes dates before 1582 in the Julian calendar, and every other reader takes them wrongly",
            subject=REBASE,
            expected="CORRECTED",
            found="LEGACY",
            advice=f'Run `spark.conf.set("{REBASE}", "CORRECTED")`.',
        )
    if session.version < OPTIONS_WIN:
        _check_settings(session)


def _check_settings(session: SparkSession) -> None:
    """Refuse a session of an older Spark that would write otherwise: there its settings go before a write's options."""
    for name, value in ALWAYS.items():
        if name.startswith("spark.") and (found := session.conf.get(name)) != value:
            raise Invalid(
                f"a session of Spark {session.version} would write other files than the table has",
                subject=name,
                expected=value,
                found=found,
                advice=f'Run `spark.conf.set("{name}", "{value}")`, or start it with lakebed.spark.session(lake).',
            )


def _check_fresh(files: Files, folder: str) -> None:
    for info in files.list(f"{folder}/", limit=1):
        raise AlreadyExists("the folder is taken", subject=folder, expected="no file in it", found=info.path)


class _Job:
    """A job that ended well, and what it left in its folder."""

    def __init__(self, files: Files, folder: str, schema: Schema, layout: Layout) -> None:
        self._files, self._folder, self._schema, self._layout = files, folder, schema, layout
        self._known: dict[tuple[str, ...], Complete] = {}

    def written(self, rows: int) -> list[DataFileRef]:
        """The entries of the files, which are durable now; empty ones and checksums beside them are gone.

        `rows` are those that the executors wrote: on disks that this process does not see, some may be missing here.
        """
        found = list(self._files.list(f"{self._folder}/"))
        data = [info for info in found if self._is_data(info)]
        with ThreadPoolExecutor(FOOTER_THREADS) as pool:
            entries = list(pool.map(self._entry, data))
        kept = [entry for entry in entries if entry.num_rows]
        if (here := sum(entry.num_rows for entry in kept)) != rows:
            raise self._elsewhere(rows, here)
        names = {entry.path for entry in kept}
        # Empty files, and the checksums that Hadoop lays beside local files.
        for failure in self._files.delete_many(info.path for info in found if info.path not in names):
            raise failure.error
        self._files.sync(names)
        return kept

    def _folders(self, info: FileInfo) -> tuple[str, ...]:
        """The folders between the job's own and the file."""
        return tuple(info.path.removeprefix(f"{self._folder}/").split("/")[:-1])

    def _is_data(self, info: FileInfo) -> bool:
        name = info.path.rpartition("/")[2]
        is_ours = len(self._folders(info)) == len(self._layout.names)
        return name.endswith(".parquet") and is_ours and not name.startswith((".", "_"))

    def _entry(self, info: FileInfo) -> DataFileRef:
        entry = data_file(read_footer(self._files, info), self._schema, path=info.path, size=info.size)
        count_nan(entry, self._schema)
        seal_blooms(entry, self._files.read)
        if entry.num_rows:
            self._completion(info)(entry)
        return entry

    def _completion(self, info: FileInfo) -> Complete:
        folders = self._folders(info)
        if folders not in self._known:
            self._known[folders] = self._layout.completion(self._files, info, folders)
        return self._known[folders]

    def _elsewhere(self, rows: int, here: int) -> Unavailable:
        return Unavailable(
            "the job ended well, and not all of its rows are here",
            subject=self._folder,
            expected=f"{rows} rows",
            found=f"{here} rows",
            advice="The executors have to write to the disk that this process reads: use a shared one.",
        )


def _clear(files: Files, folder: str, error: BaseException) -> None:
    """Remove what a failed job left, as far as that is possible; what stays is unreferenced, and the error says so."""
    try:
        failures = files.delete_folder(folder)
    except LakebedError as trouble:
        error.add_note(f"What the job wrote to {folder} could not be removed: {trouble}")
        return
    for failure in failures:
        error.add_note(f"{failure.path} could not be removed: {failure.error}")


def _null(place: str, frame: DataFrame) -> Invalid:
    return Invalid(
        "a required column has a null",
        subject=place,
        expected="a value in every row",
        found=_null_count(place, frame),
        advice="Fill or drop these rows. Nothing was written.",
    )


def _null_count(place: str, frame: DataFrame) -> str:
    """How many rows have the null, which takes one more look at them; what is inside of a column is not counted."""
    for name in frame.columns:
        if folded_column(name) == folded_column(place):
            with suppress(PySparkException):  # what makes the rows can't be run again
                return f"nulls in {frame.where(F.col(quoted(name)).isNull()).count()} of the rows"
    return "at least one null"
