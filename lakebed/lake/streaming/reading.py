"""`table.read_stream`: a streaming DataFrame over a list of files that this process keeps."""

from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid
from lakebed.lake.engines import check_session
from lakebed.lake.streaming.asked import asked_stream
from lakebed.lake.streaming.keeper import KEEPER
from lakebed.lake.streaming.source import Source
from lakebed.spark.read.scan import reads_file_lists
from lakebed.spark.session import check_running
from lakebed.spark.streaming.queries import Reader, queries_of


def read_stream(
    scope: Scope,
    table: str,
    spark: SparkSession,
    since: Moment | None,
    *,
    changes: bool,
    max_files: int | None,
    max_bytes: int | None,
    on_change: str,
) -> DataFrame:
    """The rows of a table as a stream."""
    check_session(spark)
    check_running(spark)
    asked = asked_stream(scope, table, since, changes, max_files, max_bytes, on_change)
    if not reads_file_lists(spark):
        raise Invalid(
            "this session does not read lists of files that this process writes",
            advice="Use a session in this process, with spark.sql.streaming.fileStreamSink.ignoreMetadata=false.",
        )
    source = Source(spark, scope, table, asked)
    frame = source.frame()
    KEEPER.keep(source, scope.context)
    queries_of(spark).add(source.folder, Reader(lambda query, run: KEEPER.begin(source, query, run), source.end))
    return frame
