"""The rows that a table did not take: a table beside it, whose rows can be given to its step again."""

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.lake.catalog import Catalog
from lakebed.lake.sql.names import Objects
from lakebed.pipelines.expectations import QUARANTINE
from lakebed.pipelines.running.counted import AT, ERRORS, RUN
from lakebed.pipelines.running.frames import CHANGE_TYPE
from lakebed.pipelines.running.writing import Output, window_column
from lakebed.pipelines.windows import Window


def write_quarantine(tx: Objects, output: Output, rows: DataFrame) -> None:
    """Keep the rows that failed."""
    name = output.name + QUARANTINE
    kept = rows.drop(CHANGE_TYPE)
    if tx.table_exists(name):
        tx.table(name).append(kept, evolve="add")
    else:
        tx.create_table(name, kept.schema, comment=f"rows that {output.name} did not take")
        tx.table(name).append(kept)


def empty_quarantine(tx: Objects, output: Output, window: Window | None) -> None:
    """Remove the rows that the step makes again, or gets again: all, or those of a window."""
    name = output.name + QUARANTINE
    if not tx.table_exists(name):
        return
    kept = tx.table(name)
    if window is None or output.step.window is None:
        kept.truncate()
        return
    column = window_column(output.step, output.step.window, kept.schema.select(output.rows.drop(CHANGE_TYPE).columns))
    kind = str(kept.schema.find((column,)).type)
    kept.delete(window.condition(column, kind).replace("TIMESTAMP_NTZ", "TIMESTAMP"))


def with_quarantine(branch: Catalog, output: Output) -> Output:
    """What a step made, and the rows of its quarantine, as they are now."""
    name = output.name + QUARANTINE
    if not branch.table_exists(name):
        return output
    again = branch.table(name).read(output.rows.sparkSession).drop(ERRORS, RUN, AT)
    if CHANGE_TYPE in output.rows.columns:
        again = again.withColumn(CHANGE_TYPE, F.lit("insert"))
    return replace(output, rows=output.rows.unionByName(again, allowMissingColumns=True))
