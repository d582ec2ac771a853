"""Sinks: streams from published tables to the outside world, each with a position of its own across runs.

    <lake>/sinks/<pipeline>/<line>/<sink>/<flow>/   Spark's checkpoint

A run's hook for a sink reads what is there and ends. Spark notes what a batch reads before it writes it, and repeats it
until it was written: so rows arrive at least once, and once in sinks that know a batch again, as files do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from lakebed.errors import StepFailed
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.pipelines.flows import Flow
from lakebed.pipelines.running.flows import AVAILABLE_NOW, wait
from lakebed.pipelines.running.run import Run
from lakebed.spark.session import configured

FOLDER = "sinks"
OF_FILES = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
"""Formats whose folder notes the numbers of batches that it has: those of a second query would be left out."""

_ADVICE = "Fix the sink, or what it reads: the next run goes on with it."
_PLAIN = re.compile(r"[^\w-]")


@dataclass(frozen=True, slots=True)
class Sink:
    """Where the rows of some flows go, in a format of Spark's."""

    catalog: str
    name: str
    format: str
    options: dict[str, str]
    flows: Sequence[Flow]

    def deliver(self, run: Run, lake: Lake, spark: SparkSession, **values: Any) -> None:
        """Write what has come since; `values` are the rows that its flows ask for, by their parameters."""
        line = lake.catalog(f"{self.catalog}@{run.into}")
        for flow in self.flows:
            place = place_of(lake, line, run.pipeline, self.name, flow.name)
            with configured(spark, flow.conf):
                writer = flow.rows(values.__getitem__).writeStream.format(self.format).options(**self.options)
                writer = writer.option("checkpointLocation", f"file://{place}").trigger(**AVAILABLE_NOW)
                query = self._begun(writer.queryName(f"{run.pipeline} run {run.id}: {self.name}, {flow.name}"), flow)
            wait(spark, query, self._subject(flow), _ADVICE)

    def _begun(self, writer: DataStreamWriter, flow: Flow) -> StreamingQuery:
        try:
            return writer.start()
        except Py4JJavaError as error:
            raise StepFailed(str(error.java_exception), subject=self._subject(flow), advice=_ADVICE) from error
        except AnalysisException as error:
            raise StepFailed(str(error).splitlines()[0], subject=self._subject(flow), advice=_ADVICE) from error

    def _subject(self, flow: Flow) -> str:
        return f"sink {self.name}, flow {flow.name}"


def place_of(lake: Lake, line: Catalog, pipeline: str, sink: str, flow: str) -> Path:
    """The folder of a sink's checkpoint."""
    parts = (_PLAIN.sub("_", one) for one in (pipeline, line._scope.ref.line.id, sink, flow))
    return Path(url2pathname(urlsplit(lake.url).path), FOLDER, *parts)
