"""Scans of files by Spark's Parquet reader: their rows, and the place of each if it is asked for.

Spark tells a row's position in its file under `_metadata`. The file's ordinal travels as its time of change in the list
of files that Lakebed writes; a session that takes no lists finds it by the file's path, in a join.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import pyarrow
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.spark.fit import quoted
from lakebed.spark.locations import shown_locations, spark_location
from lakebed.spark.read.metadata_columns import Places
from lakebed.spark.types import scan_schema
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import SPARK_POSITION
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

IGNORED = "spark.sql.streaming.fileStreamSink.ignoreMetadata"


def reads_file_lists(spark: SparkSession) -> bool:
    """Whether the session reads a list that this process writes.

    Not one on another machine (Spark Connect), and not one that is told to ignore the logs of sinks.
    """
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    return not is_remote and spark.conf.get(IGNORED) == "false" and _knows_file_lists(spark)


@lru_cache(maxsize=1)
def _knows_file_lists(spark: SparkSession) -> bool:
    # A Spark that knew no such logs would see an empty folder: no rows, and no error. Asked once for a session.
    with listed(["file:///tried.parquet"], [1], [0]) as folder:
        frame = spark.read.schema("tried int").option("recursiveFileLookup", "true").parquet(folder)
        return len(frame.inputFiles()) == 1


@contextmanager
def listed(locations: Sequence[str], sizes: Sequence[int], ordinals: Sequence[int]) -> Iterator[str]:
    """The address of a folder that lists these files, with their sizes, for as long as a DataFrame is made of it.

    Spark reads it then, on the driver, and never again. So it lies in this machine's temporary folder, and a lake that
    can only be read can be read. The time of change that it shows of each is its ordinal, in milliseconds.
    """
    folder = Path(tempfile.mkdtemp(prefix="lakebed-"))
    try:
        log = folder / "_spark_metadata"
        log.mkdir()
        (log / "0").write_text("\n".join(["v1", *map(_line, locations, sizes, ordinals)]), encoding="utf-8")
        yield f"file://{folder}"
    finally:
        shutil.rmtree(folder)


def check_names(data_files: Sequence[DataFileRef]) -> None:
    """`Invalid` for a file that Spark would skip without a word, by a list or by its path."""
    for one in data_files:
        name = one.path.rpartition("/")[2]
        if name.startswith(("_", ".")) or name.endswith("._COPYING_"):
            raise Invalid(
                "Spark skips files of such names",
                subject=one.path,
                expected="a name that does not begin with _ or . and does not end with ._COPYING_",
                advice="Read the table without Spark, or rewrite this file.",
            )


def _line(location: str, size: int, ordinal: int) -> str:
    scheme, _, rest = location.partition("://")
    entry = {
        "path": f"{scheme}://{quote(rest)}",
        "size": size,
        "isDir": False,
        "modificationTime": ordinal,
        "blockReplication": 1,
        "blockSize": size,
        "action": "add",
    }
    return json.dumps(entry)


# Given with the read, where they win over the session's settings: what they could be set to loses or changes rows.
OPTIONS = {
    "recursiveFileLookup": "true",  # folders named like `day=1` add no columns
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",  # for files that say nothing of their calendar
    "int96RebaseMode": "CORRECTED",
    # A flipped bit is found instead of read. Spark and Lakebed write checksums; looking at them took no time that could
    # be measured (Spark 4.3, 2M rows, 5 columns and one).
    "parquet.page.verify-checksum.enabled": "true",
}
_GLOB = re.compile(r"[\[\]{}*?\\]")

Ordinals = Mapping[str, int]
"""The ordinals of files by their paths."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is: the ordinal of its file, and its position there, both bigint."""

    ordinal: Column
    position: Column


def scan(
    spark: SparkSession, files: Files, schema: Schema, data_files: Sequence[DataFileRef], ordinals: Ordinals
) -> DataFrame:
    """All rows, under the physical names."""
    _check_columns(schema)
    reader = spark.read.schema(scan_schema(schema)).options(**OPTIONS)
    locations = [spark_location(files, one.path) for one in data_files]
    if not reads_file_lists(spark):
        return _by_paths(reader, locations)
    with listed(locations, [one.file_size for one in data_files], [ordinals[one.path] for one in data_files]) as folder:
        return reader.parquet(folder)


def can_join_on_places(spark: SparkSession) -> bool:
    """Whether a join can go by `metadata_place`. Spark 4.0 ends with an error of Java's where it looks at `_metadata`."""
    return reads_file_lists(spark) and spark.version >= "4.1"


def metadata_place(rows: DataFrame) -> Place:
    """What Spark tells of the place of each row of a scan.

    To look at it there takes less than to have it as columns that are dropped later: each is one more frame to analyse.
    """
    file = _file(rows)
    return Place(_ordinal(file), file["row_index"])


def placed_scan(
    spark: SparkSession,
    files: Files,
    schema: Schema,
    data_files: Sequence[DataFileRef],
    ordinals: Ordinals,
    places: Places,
) -> DataFrame:
    """A scan with the place of each row behind its columns, the ordinal first."""
    rows = scan(spark, files, schema, data_files, ordinals)
    file = _file(rows)
    position = file["row_index"].alias(places.position)
    if reads_file_lists(spark):
        return rows.select("*", _ordinal(file).cast("int").alias(places.ordinal), position)
    locations = {one.path: spark_location(files, one.path) for one in data_files}
    known = [(shown, ordinals[path]) for path, location in locations.items() for shown in shown_locations(location)]
    told = rows.select("*", file["file_path"].alias(places.ordinal), position)
    return _by_path(spark, told, known, places, [one.physical_name for one in schema.fields])


def _file(rows: DataFrame) -> Column:
    """What Spark tells of each row's file. A table may have a column of this name too."""
    return rows.metadataColumn("_metadata")


def _ordinal(file: Column) -> Column:
    return F.unix_millis(file["file_modification_time"])


def _check_columns(schema: Schema) -> None:
    for one in schema.fields:
        if folded_column(one.physical_name) == SPARK_POSITION:
            raise Invalid(
                "Spark puts its own values in a column that has this name in the files",
                subject=one.name,
                found=SPARK_POSITION,
                advice="Read the table without Spark, or copy it to one whose column has another name.",
            )


def _by_path(
    spark: SparkSession, rows: DataFrame, known: Sequence[tuple[str, int]], places: Places, names: Sequence[str]
) -> DataFrame:
    """The rows, whose ordinal is a path still, with that of the file."""
    paths, ordinals = map(list, zip(*known, strict=True))
    table = pyarrow.table({"path": paths, "ordinal": pyarrow.array(ordinals, pyarrow.int32())})
    by_path = F.broadcast(spark.createDataFrame(table)).alias("file")
    path = F.col(f"row.{places.ordinal}")
    joined = rows.alias("row").join(by_path, path == F.col("file.path"), "left")
    # An inner join would lose the rows of a file whose path Spark writes otherwise.
    unknown = F.raise_error(F.concat(F.lit("Lakebed does not know the file "), path)).cast("int")
    own = [F.col(f"row.{quoted(one)}") for one in (*names, places.position)]
    ordinal = F.coalesce(F.col("file.ordinal"), unknown).alias(places.ordinal)
    return joined.select(*own[:-1], ordinal, own[-1])


def _by_paths(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    for path in paths:
        if _GLOB.search(path):  # tried with Spark 4.3: each of n such files is read n times
            raise Invalid(
                "Spark takes a path with such characters for a pattern, and reads its rows more than once",
                subject=path,
                expected="a path without [ ] { } * ? \\",
                advice="Move the lake, or read it in a session that runs in this process.",
            )
    return reader.parquet(*paths)
