"""The format `lakebed` for Spark, which discovers packages whose name starts with `pyspark_`: docs/guide/spark.md."""

from typing import ClassVar

from lakebed.lake.data_source import TableSource
from lakebed.spark.format import NAME, LakebedSource, Tables, source_of

__all__ = ["DefaultSource", "source_for"]


class DefaultSource(LakebedSource):
    """The tables of the lake in `.option("lake", url)`."""

    tables: ClassVar[Tables] = TableSource()


def source_for(url: str, format: str = NAME) -> type[LakebedSource]:
    """The tables of a lake, without the option: `spark.dataSource.register(source_for(lake.url))`.

    Spark 4.0 needs a `format` other than `lakebed`, which it has already discovered.
    """
    return source_of(TableSource(url), format)
