"""Writing a DataFrame as data files, with Spark's own Parquet writer."""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.errors import AlreadyExists, Invalid, LakebedError, Unavailable
from lakebed.files import FileInfo, Files
from lakebed.spark.fit import NULL_FOUND, fit, quoted
from lakebed.spark.footer import read_footer
from lakebed.spark.locations import spark_location
from lakebed.table.footers import data_file
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.partition_spec import UNPARTITIONED, PartitionSpec
from lakebed.table.partition_values import set_partition
from lakebed.table.schema import Schema
from lakebed.table.sort_order import UNSORTED, Direction, NullOrder, SortOrder, sorted_columns
from lakebed.table.transforms import IDENTITY

# Given with the write, where they win over whatever the session has, and leave it as it is (tried with Spark 4.3).
OPTIONS = {
    "compression": "zstd",  # 40 % fewer bytes than snappy for a fifth more time
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default, INT96, has no statistics
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "false",  # decimals and lists as everybody reads them
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # no _SUCCESS file: the commit says that
}
REBASE = "spark.sql.parquet.datetimeRebaseModeInWrite"
FOOTER_THREADS = 8


def write(
    files: Files,
    folder: str,
    schema: Schema,
    frame: DataFrame,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
) -> list[DataFileRef]:
    """Write the rows into a fresh folder, and answer its files, durable, in the order of the DataFrame's partitions.

    A spec with fields is refused; of the sort order, the fields before the first transform are obeyed.
    Nobody sees them before a commit names them. What `fit` refuses is refused before any job. If the job fails, what
    it wrote is removed and Spark's own error goes through; a null in a required column is `Invalid`.
    """
    if not isinstance(frame, DataFrame) or frame.isStreaming:
        raise Invalid(
            "these are no rows to write", expected="a DataFrame that is no stream", found=type(frame).__name__
        )
    _check_spec(spec)
    _check_session(frame.sparkSession)
    _check_fresh(files, folder)
    fitted = _sorted(fit(frame, schema), schema, order)
    try:
        fitted.write.mode("error").options(**OPTIONS).parquet(spark_location(files, folder))
        return _written(files, folder, schema, spec)
    except BaseException as error:
        _clear(files, folder, error)
        if (place := re.search(f"{re.escape(NULL_FOUND)}«(.*)»", str(error))) is not None:
            raise _null(place.group(1)) from error
        raise


def _check_spec(spec: PartitionSpec) -> None:
    if spec.fields:
        raise Invalid(
            "Spark can't write into hidden partitions yet",
            expected="a table without partition fields",
            found=", ".join(one.name for one in spec.fields),
            advice="Append the rows by Arrow: `table.append(frame.toArrow())`.",
        )


def _sorted(fitted: DataFrame, schema: Schema, order: SortOrder) -> DataFrame:
    """The rows of each task, sorted as far as Spark can: it has none of Iceberg's transforms."""
    columns = []
    for one, path in takewhile(lambda pair: pair[0].transform == IDENTITY, sorted_columns(order, schema)):
        column = F.col(".".join(quoted(part.physical_name) for part in path))
        columns.append(_SORTED[one.direction, one.null_order](column))
    return fitted.sortWithinPartitions(*columns) if columns else fitted


_SORTED = {
    (Direction.ASCENDING, NullOrder.FIRST): Column.asc_nulls_first,
    (Direction.ASCENDING, NullOrder.LAST): Column.asc_nulls_last,
    (Direction.DESCENDING, NullOrder.FIRST): Column.desc_nulls_first,
    (Direction.DESCENDING, NullOrder.LAST): Column.desc_nulls_last,
}


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


def _check_fresh(files: Files, folder: str) -> None:
    for info in files.list(f"{folder}/", limit=1):
        raise AlreadyExists("the folder is taken", subject=folder, expected="no file in it", found=info.path)


def _written(files: Files, folder: str, schema: Schema, spec: PartitionSpec) -> list[DataFileRef]:
    found = list(files.list(f"{folder}/"))
    data = [info for info in found if _is_data(folder, info.path)]
    if not data:  # Spark writes a file even for no rows
        raise Unavailable(
            "the job ended well, and none of its files is here",
            subject=folder,
            expected="at least one file",
            found="none",
            advice="The executors have to write to the disk that this process reads: use a shared one.",
        )
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        entries = list(pool.map(lambda info: _entry(files, info, schema), data))
    kept = [entry for entry in entries if entry.num_rows]
    names = {entry.path for entry in kept}
    # Empty files, and the checksums that Hadoop lays beside local files.
    for failure in files.delete_many(info.path for info in found if info.path not in names):
        raise failure.error
    files.sync(names)
    if spec != UNPARTITIONED:
        for entry in kept:
            set_partition(entry, spec, schema, ())
    return kept


def _is_data(folder: str, path: str) -> bool:
    name = path.removeprefix(f"{folder}/")
    return name.endswith(".parquet") and "/" not in name and not name.startswith((".", "_"))


def _entry(files: Files, info: FileInfo, schema: Schema) -> DataFileRef:
    return data_file(read_footer(files, info), schema, path=info.path, size=info.size)


def _clear(files: Files, folder: str, error: BaseException) -> None:
    """Remove what a failed job left, as far as that is possible; what stays is unreferenced, and the error says so."""
    try:
        failures = files.delete_many([info.path for info in files.list(f"{folder}/")])
    except LakebedError as trouble:
        error.add_note(f"What the job wrote to {folder} could not be removed: {trouble}")
        return
    for failure in failures:
        error.add_note(f"{failure.path} could not be removed: {failure.error}")


def _null(place: str) -> Invalid:
    return Invalid(
        "a required column has a null",
        subject=place,
        expected="a value in every row",
        found="at least one null",
        advice="Fill or drop these rows. Nothing was written.",
    )
