"""Every version of a row, with the time from which and until which it was so: slowly changing dimensions of type 2."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.pipelines.running.frames import CHANGE_TYPE
from lakebed.spark.fit import quoted
from lakebed.table.types.types import BOOLEAN, TIMESTAMP, Field

FROM, TO, CURRENT = "valid_from", "valid_to", "is_current"
HISTORY_COLUMNS = (
    Field(FROM, TIMESTAMP, id=2147483001),
    Field(TO, TIMESTAMP, id=2147483002),
    Field(CURRENT, BOOLEAN, id=2147483003),
)


def history_rows(past: DataFrame, rows: DataFrame, keys: Sequence[str], sequence: str) -> DataFrame:
    """The versions of all rows that the new ones touch, old and new, in one chain for each key."""
    for name in (*keys, sequence):
        if name.casefold() not in (own.casefold() for own in rows.columns):
            raise Invalid(
                "scd2 needs a column that the step does not make", subject=name, found=", ".join(rows.columns)
            )
    own = [name for name in rows.columns if name != CHANGE_TYPE]
    kind = F.col(CHANGE_TYPE) if CHANGE_TYPE in rows.columns else F.lit("insert")
    come = rows.select(*map(quoted, own), (kind == "delete").alias("__ends"), F.lit(True).alias("__new"))
    come = come.withColumn(FROM, F.col(quoted(sequence)).cast("timestamp_ntz"))
    touched = rows.select(*map(quoted, keys)).distinct()
    kept = past.join(touched, list(keys), "left_semi")
    known = kept.select(*map(quoted, own), F.lit(False).alias("__ends"), F.lit(False).alias("__new"), FROM)
    # Where a version ended without another one behind it, the row was deleted.
    ended = kept.where(F.col(TO).isNotNull()).select(
        *(F.col(quoted(name)) for name in own),
        F.lit(True).alias("__ends"),
        F.lit(False).alias("__new"),
        F.col(TO).alias(FROM),
    )
    every = reduce(DataFrame.unionByName, (known, ended, come))
    same = Window.partitionBy(*map(quoted, keys), FROM).orderBy(F.col("__new").desc(), F.col("__ends"))
    every = every.withColumn("__rank", F.row_number().over(same)).where("__rank = 1")
    chain = Window.partitionBy(*map(quoted, keys)).orderBy(FROM)
    values = [name for name in own if name not in (*keys, sequence)]
    state = F.struct(F.col("__ends"), *map(F.col, map(quoted, values)))
    every = every.withColumn("__state", state).withColumn("__before", F.lag("__state").over(chain))
    every = every.where(F.col("__before").isNull() | ~F.col("__state").eqNullSafe(F.col("__before")) | ~F.col("__new"))
    every = every.withColumn(TO, F.lead(FROM).over(chain)).where(~F.col("__ends"))
    return every.withColumn(CURRENT, F.col(TO).isNull()).select(*map(quoted, own), FROM, TO, CURRENT)
