"""Scans of files by Spark's Parquet reader: their rows, and the place of each row if it is asked for.

Lakebed hands Spark a list of the files in the form of a streaming sink's log, so that Spark lists no folder and looks
at no file. Spark shows a row's position in its file under `_metadata`. The file's ordinal travels as its modification
time in the list. A session that can't read a list gets paths, and finds the ordinal by the path in a join.
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

IGNORE_SINK_LOGS = "spark.sql.streaming.fileStreamSink.ignoreMetadata"

# Given with the read, they override the session's settings, which could lose or change rows.
OPTIONS = {
    "recursiveFileLookup": "true",  # folders named like `day=1` add no columns
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",  # for files that don't name their calendar
    "int96RebaseMode": "CORRECTED",
    # Finds a flipped bit instead of reading it. Spark and Lakebed write checksums; verifying them took no measurable
    # time (Spark 4.3, 2M rows, 5 columns and one).
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
    check_columns(schema)
    reader = spark.read.schema(scan_schema(schema)).options(**OPTIONS)
    locations = [spark_location(files, file.path) for file in data_files]
    if not reads_file_lists(spark):
        return _read_paths(reader, locations)
    sizes, numbers = [file.file_size for file in data_files], [ordinals[file.path] for file in data_files]
    with file_list(locations, sizes, numbers) as folder:
        return reader.parquet(folder)


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
    metadata = _metadata(rows)
    position = metadata["row_index"].alias(places.position)
    if reads_file_lists(spark):
        return rows.select("*", _ordinal(metadata).cast("int").alias(places.ordinal), position)
    locations = {file.path: spark_location(files, file.path) for file in data_files}
    known = [(shown, ordinals[path]) for path, location in locations.items() for shown in shown_locations(location)]
    with_paths = rows.select("*", metadata["file_path"].alias(places.ordinal), position)
    return _with_ordinals(spark, with_paths, known, places, [field.physical_name for field in schema.fields])


def metadata_place(rows: DataFrame) -> Place:
    """The place of each row of a scan, from Spark's metadata.

    It is cheaper in an expression than as columns that are dropped later: each column is one more frame to analyse.
    """
    metadata = _metadata(rows)
    return Place(_ordinal(metadata), metadata["row_index"])


def can_join_on_places(spark: SparkSession) -> bool:
    """Whether a join can use `metadata_place`. In Spark 4.0 a join on `_metadata` fails with a Java error."""
    return reads_file_lists(spark) and spark.version >= "4.1"


def check_names(data_files: Sequence[DataFileRef]) -> None:
    """`Invalid` for a file that Spark would silently skip, in a list or by its path."""
    for file in data_files:
        if is_skipped(file):
            raise Invalid(
                "Spark skips files of such names",
                subject=file.path,
                expected="a name that does not begin with _ or . and does not end with ._COPYING_",
                advice="Read the table without Spark, or rewrite this file.",
            )


def is_skipped(file: DataFileRef) -> bool:
    """Whether Spark leaves out files of such a name."""
    name = file.path.rpartition("/")[2]
    return name.startswith(("_", ".")) or name.endswith("._COPYING_")


def reads_file_lists(spark: SparkSession) -> bool:
    """Whether the session reads a list that this process writes.

    A session on another machine (Spark Connect) does not, nor one that is set to ignore the logs of sinks.
    """
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    return not is_remote and spark.conf.get(IGNORE_SINK_LOGS) == "false" and _knows_file_lists(spark)


@contextmanager
def file_list(locations: Sequence[str], sizes: Sequence[int], ordinals: Sequence[int]) -> Iterator[str]:
    """The address of a folder that lists these files, with their sizes, while a DataFrame is created from it.

    Spark reads the list at that moment, on the driver, and never again. So it lies in this machine's temporary folder,
    and a read-only lake can be read. The modification time of each file is its ordinal, in milliseconds.
    """
    folder = Path(tempfile.mkdtemp(prefix="lakebed-"))
    try:
        log = folder / "_spark_metadata"
        log.mkdir()
        (log / "0").write_text("\n".join(["v1", *map(_list_entry, locations, sizes, ordinals)]), encoding="utf-8")
        yield f"file://{folder}"
    finally:
        shutil.rmtree(folder)


@lru_cache(maxsize=1)
def _knows_file_lists(spark: SparkSession) -> bool:
    # A Spark without such logs would see an empty folder: no rows, and no error. Tried once for a session.
    with file_list(["file:///tried.parquet"], [1], [0]) as folder:
        frame = spark.read.schema("tried int").option("recursiveFileLookup", "true").parquet(folder)
        return len(frame.inputFiles()) == 1


def _list_entry(location: str, size: int, ordinal: int) -> str:
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


def _read_paths(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    for path in paths:
        if _GLOB.search(path):  # tried with Spark 4.3: each of n such files is read n times
            raise Invalid(
                "Spark takes a path with such characters for a pattern, and reads its rows more than once",
                subject=path,
                expected="a path without [ ] { } * ? \\",
                advice="Move the lake, or read it in a session that runs in this process.",
            )
    return reader.parquet(*paths)


def _metadata(rows: DataFrame) -> Column:
    """Spark's metadata of each row's file, also if the table has a column named `_metadata`."""
    return rows.metadataColumn("_metadata")


def _ordinal(metadata: Column) -> Column:
    return F.unix_millis(metadata["file_modification_time"])


def _with_ordinals(
    spark: SparkSession, rows: DataFrame, known: Sequence[tuple[str, int]], places: Places, names: Sequence[str]
) -> DataFrame:
    """The rows, whose ordinal column still has their file's path, with the ordinal itself."""
    paths, ordinals = map(list, zip(*known, strict=True))
    table = pyarrow.table({"path": paths, "ordinal": pyarrow.array(ordinals, pyarrow.int32())})
    by_path = F.broadcast(spark.createDataFrame(table)).alias("file")
    path = F.col(f"row.{places.ordinal}")
    joined = rows.alias("row").join(by_path, path == F.col("file.path"), "left")
    # An inner join would lose the rows of a file whose path Spark shows in another form.
    unknown = F.raise_error(F.concat(F.lit("Lakebed does not know the file "), path)).cast("int")
    own = [F.col(f"row.{quoted(name)}") for name in (*names, places.position)]
    ordinal = F.coalesce(F.col("file.ordinal"), unknown).alias(places.ordinal)
    return joined.select(*own[:-1], ordinal, own[-1])


def check_columns(schema: Schema) -> None:
    for field in schema.fields:
        if folded_column(field.physical_name) == SPARK_POSITION:
            raise Invalid(
                "Spark puts its own values in a column that has this name in the files",
                subject=field.name,
                found=SPARK_POSITION,
                advice="Read the table without Spark, or copy it to one whose column has another name.",
            )
