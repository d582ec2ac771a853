"""The rows of a change feed as one row for each key: what the last of its changes left, or that it is deleted."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakebed.catalog.feed.columns import CHANGE_TYPE, COMMIT_VERSION, DELETE, FEED_NAMES, INSERT, PREIMAGE
from lakebed.spark.fit import quoted
from lakebed.table.schema.metadata_columns import OWN_PREFIX

_ORDER = f"{OWN_PREFIX}order"


def is_feed(rows: DataFrame) -> bool:
    """Whether the rows say how they changed."""
    return CHANGE_TYPE.name in rows.columns


def last_changes(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """The last change of each key by its commit, an insert or a delete. In one commit what came counts, not what went.

    Rows without a version are of one commit. If the last commit has several rows of a key, all of them are left.
    """
    gone = F.col(CHANGE_TYPE.name).isin(DELETE, PREIMAGE)
    newest_first = [F.col(COMMIT_VERSION.name).desc()] if COMMIT_VERSION.name in rows.columns else []
    order = F.rank().over(Window.partitionBy(*map(quoted, key)).orderBy(*newest_first, gone.asc()))
    own = [quoted(name) for name in rows.columns if name not in FEED_NAMES]
    last = rows.withColumn(_ORDER, order).where(F.col(quoted(_ORDER)) == 1)
    return last.select(*own, F.when(gone, DELETE).otherwise(INSERT).alias(CHANGE_TYPE.name))
