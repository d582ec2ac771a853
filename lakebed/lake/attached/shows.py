"""SHOW in an attached session: what Spark has stands behind what the lake has, as in `spark.catalog`."""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.lake.sql.objects.frames import FLAG, TEXT, frame
from lakebed.lake.sql.objects.show import is_like
from lakebed.spark.sql.objects.show import Listed, ShowObjects, ShowRefs

_COLUMNS = {
    Listed.TABLES: {"namespace": TEXT, "tableName": TEXT, "isTemporary": FLAG},
    Listed.VIEWS: {"namespace": TEXT, "viewName": TEXT, "isTemporary": FLAG},
    Listed.NAMESPACES: {"namespace": TEXT},
    Listed.CATALOGS: {"catalog": TEXT},
}
"""What Spark lists too, and the columns of its answers."""

Row = tuple[Any, ...]


def with_sparks_own(
    spark: SparkSession,
    own: Callable[[str], DataFrame],
    statement: object,
    namespace: tuple[str, ...],
    lakes: DataFrame,
) -> DataFrame:
    """The lake's objects and Spark's. In a namespace of the lake, only temporary views are Spark's."""
    if not isinstance(statement, ShowObjects | ShowRefs) or statement.listed not in _COLUMNS:
        return lakes
    rows = [tuple(row) for row in lakes.collect()]
    found = [row for row in _sparks(own, statement, namespace) if row not in rows]
    return frame(spark, _COLUMNS[statement.listed], [*rows, *found]) if found else lakes


def _sparks(
    own: Callable[[str], DataFrame], statement: ShowObjects | ShowRefs, namespace: tuple[str, ...]
) -> Iterator[Row]:
    is_inside = isinstance(statement, ShowObjects) and statement.inside is not None
    if is_inside and statement.listed is Listed.NAMESPACES:
        return
    names = list(_COLUMNS[statement.listed])
    place = min(1, len(names) - 1)
    for row in own(f"SHOW {statement.listed.value.upper()}").collect():
        is_shown = bool(row[-1]) if len(names) > 1 and (is_inside or namespace) else True
        if is_shown and is_like(row[place], statement.pattern):
            yield tuple(row)
