"""A list of files that Spark takes as it is: the log that its own streaming sink writes, and that its reader trusts.

Given paths, Spark asks the file system for each: 1,000 paths take 0.3 s on a local disk, or 3.9 s with its default
settings. Given a folder with such a log it asks nothing: 0.1 s. The log is no public format, and three things about it
lose rows without a word: a size that is too small, a file's name that Spark skips, a session that does not read logs.
Whoever reads has checked the sizes against the files; the other two are looked at here.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from pyspark.sql import SparkSession

from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import DataFileRef

IGNORED = "spark.sql.streaming.fileStreamSink.ignoreMetadata"


def takes_lists(spark: SparkSession) -> bool:
    """Whether the session reads a list that this process writes.

    Not one on another machine (Spark Connect), and not one that is told to ignore the logs of sinks.
    """
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    return not is_remote and spark.conf.get(IGNORED) == "false" and _understands_lists(spark)


@lru_cache(maxsize=1)
def _understands_lists(spark: SparkSession) -> bool:
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
