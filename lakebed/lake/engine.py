"""Engines, loaded when one is first used: a lake is opened and changed without pyspark and without Parquet."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

from lakebed.catalog.row_change import Written
from lakebed.catalog.sources import Sources
from lakebed.catalog.tables import TableState
from lakebed.catalog.work import Work
from lakebed.files import Files
from lakebed.table.filter import Filter
from lakebed.table.inline import is_inline
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.plan import PlannedFile
from lakebed.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def load_engine(name: Literal["arrow", "spark"]) -> Any:
    """The package of an engine. Both have `write`, and `schema_of` for the schemas of their own kind."""
    return import_module(f"lakebed.{name}")


def engine_of(data: object) -> Any:
    """The engine that a piece of data, or a schema, belongs to."""
    return load_engine("spark" if _is_of_spark(data) else "arrow")


def write_rows(work: Work, state: TableState, data: object) -> Written:
    """Write rows for a work: few of them inline, where its commit has room for them; the others to files."""
    if _is_of_spark(data):
        return Written(write_files(work.home.files, state, data))
    return cast(Written, load_engine("arrow").write_rows(work, state, data))


def write_files(files: Files, state: TableState, data: object) -> list[DataFileRef]:
    """Write rows by the engine that they belong to, under names that no other attempt has.

    A Spark job has a folder of its own; of a local write each file has a name of its own, which spares a sync.
    """
    folder = f"{state.data_folder}/{uuid4()}" if _is_of_spark(data) else state.data_folder
    return cast(
        "list[DataFileRef]", engine_of(data).write(files, folder, state.schema, data, state.spec, state.sort_order)
    )


def read_with_spark(
    spark: "SparkSession",
    sources: Sources,
    schema: Schema,
    files: Sequence[DataFileRef],
    filter: Filter | None,
    columns: Sequence[str] | None,
) -> "DataFrame":
    """The rows as a DataFrame: those of files by Spark, inline ones, which Spark can't reach, by Arrow at this call."""
    inline = [PlannedFile(one) for one in files if is_inline(one)]
    held = load_engine("arrow").Scan(sources, schema, inline, filter, columns).to_arrow() if inline else None
    others = [one for one in files if not is_inline(one)]
    frame = load_engine("spark").read(spark, sources.files, schema, others, filter=filter, columns=columns, held=held)
    return cast("DataFrame", frame)


def can_be_read_again(data: object) -> bool:
    """Whether rows are in memory still after they were written. A stream's are gone; a job's may take hours."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _IN_MEMORY for kind in type(data).__mro__)


_IN_MEMORY = {("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame")}


def _is_of_spark(data: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "pyspark" for kind in type(data).__mro__)
