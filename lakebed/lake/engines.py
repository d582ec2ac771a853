"""Engines, loaded when one is first used: a lake is opened and changed without pyspark and without Parquet."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.row_sources import Sources, sources
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.lake.prepared import Prepared
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark import Source

T = TypeVar("T")


def load_engine(name: Literal["arrow", "spark"]) -> Any:
    """The package of an engine. Both have `write`, and `schema_of` for the schemas of their own kind."""
    return import_module(f"lakebed.{name}")


def engine_of(data: object) -> Any:
    """The engine that a piece of data, or a schema, belongs to."""
    return load_engine("spark" if is_of_spark(data) else "arrow")


def write_rows(work: Work, state: TableState, data: object) -> Written:
    """Write rows for a work: few of them inline, where its commit has room for them; the others to files."""
    if isinstance(data, Prepared):
        return data.written(work)
    engine = engine_of(data)
    if not hasattr(data, "sparkSession"):
        return cast(Written, engine.write_rows(work, state, data))
    with about(work, state.id):
        return run_on(
            cast(Any, data).sparkSession,
            f"write {table_name(work, state)}",
            lambda: cast(Written, engine.write_rows(work, state, data)),
            lambda written: RowChange(written=written).discard(work.context.files),
        )


def run_on(spark: "SparkSession", what: str, do: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Work of a session: a bar shows it, Ctrl-C cancels it, and `undo` takes back what it had done by then."""
    return cast(T, load_engine("spark").run(spark, what, do, undo=undo))


def run_on_table(
    spark: "SparkSession",
    what: str,
    work: Work,
    state: TableState,
    do: Callable[[], T],
    undo: Callable[[T], None] | None = None,
) -> T:
    """The same on the files of a table: errors name it, and which of these can't be read."""
    with about(work, state.id), load_engine("spark").damage_told(work.context.files):
        return run_on(spark, f"{what} {table_name(work, state)}", do, undo)


def table_name(work: Work, state: TableState) -> str:
    """The name of a table, for people."""
    return spelled(name_of(work, state.id))


def read_with_spark(
    spark: "SparkSession",
    sources: Sources,
    schema: Schema,
    files: Sequence[DataFileRef],
    filter: Filter | None,
    columns: Sequence[str] | None,
) -> "DataFrame":
    """The rows as a DataFrame: those of files by Spark, inline ones, which Spark can't reach, by Arrow at this call."""
    held = spark_source(spark, sources).held
    frame = load_engine("spark").read(spark, sources.files, schema, files, filter=filter, columns=columns, held=held)
    return cast("DataFrame", frame)


def spark_source(spark: "SparkSession", sources: Sources) -> "Source":
    """What a session reads a table's rows from."""

    def held(
        schema: Schema, files: Sequence[DataFileRef], filter: Filter | None, columns: Sequence[str]
    ) -> "pyarrow.Table":
        planned = [PlannedFile(one) for one in files]
        return load_engine("arrow").Scan(sources, schema, planned, filter, columns).to_arrow()

    return cast("Source", load_engine("spark").Source(spark, sources.files, held))


def columns_of(data: object) -> tuple[Schema, object]:
    """The columns of rows that somebody gives, and the rows as they can be written still: a stream is taken once."""
    if is_of_spark(data):
        return cast(Schema, load_engine("spark").schema_of(cast(Any, data).schema)), data
    arrow = load_engine("arrow")
    rows = data if can_be_read_again(data) else arrow.reader_of(data)
    return cast(Schema, arrow.schema_of(arrow.reader_of(rows).schema)), rows


def check_new_keys(work: Work, state: TableState, data: object, written: Written) -> None:
    """Refuse rows that were written if a primary key of theirs is not new to the table."""
    if is_of_spark(data):
        spark = cast(Any, data).sparkSession
        source = spark_source(spark, sources(work, state.id))
        what = "look for the keys in"
        check = load_engine("spark").check_new_keys
        run_on_table(spark, what, work, state, lambda: check(source, work, state, written))
    else:
        load_engine("arrow").check_new_keys(work, state, written)


def can_be_read_again(data: object) -> bool:
    """Whether rows are in memory still after they were written. A stream's are gone; a job's may take hours."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _IN_MEMORY for kind in type(data).__mro__)


_IN_MEMORY = {("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame")}


def is_of_spark(data: object) -> bool:
    """Whether a piece of data, or a schema, is one of PySpark's."""
    return any(kind.__module__.partition(".")[0] == "pyspark" for kind in type(data).__mro__)
