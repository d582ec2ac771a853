"""The rows that a table did not take: a table beside it, whose rows can be given to its step again."""

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.lake.catalog import Catalog
from lakebed.lake.sql.names import Objects
from lakebed.pipelines.expectations import QUARANTINE
from lakebed.pipelines.running.counted import AT, ERRORS, RUN, CountedRows, Counts
from lakebed.pipelines.running.frames import CHANGE_TYPE
from lakebed.pipelines.running.writing import Output, window_column
from lakebed.pipelines.windows import Window


class Unsteady(Exception):
    """A second pass over the same rows had other rows."""


def keep_failing(tx: Objects, output: Output, counted: CountedRows, counts: Counts, run: int) -> int:
    """Write the rows that failed; how many they are. `Unsteady` if they are not those that were counted."""
    kept = [one for one in output.expectations if one.severity == "quarantine"]
    if not any(counts.failed[one.name] for one in kept):
        return 0
    again = CountedRows(counted.bad(str(run)).drop(CHANGE_TYPE), ())
    write_quarantine(tx, output, again.good())
    bad = again.counts().rows
    most = sum(counts.failed[one.name] for one in kept)
    if not max(counts.failed[one.name] for one in kept) <= bad <= most:
        raise Unsteady
    return bad


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
    again = quarantined_rows(branch, output)
    if again is None:
        return output
    if CHANGE_TYPE in output.rows.columns:
        again = again.withColumn(CHANGE_TYPE, F.lit("insert"))
    return replace(output, rows=output.rows.unionByName(again, allowMissingColumns=True))


def quarantined_rows(branch: Catalog, output: Output) -> DataFrame | None:
    """The rows of a quarantine, without what was wrong with them; None if there is no such table."""
    name = output.name + QUARANTINE
    if not branch.table_exists(name):
        return None
    return branch.table(name).read(output.rows.sparkSession).drop(ERRORS, RUN, AT)
