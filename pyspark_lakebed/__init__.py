"""Makes the format `lakebed` known to Spark, which looks for packages of such a name: docs/guide/spark.md."""

from typing import ClassVar

from lakebed.lake.data_source import TableSource
from lakebed.spark.format import NAME, LakebedSource, Tables, source_of

__all__ = ["DefaultSource", "source_for"]


class DefaultSource(LakebedSource):
    """The tables of the lake that `.option("lake", url)` names."""

    tables: ClassVar[Tables] = TableSource()


def source_for(url: str, format: str = NAME) -> type[LakebedSource]:
    """The tables of a lake, without the option: `spark.dataSource.register(source_for(lake.url))`.

    Spark 4.0 wants another name than `lakebed` for it, which it has found already.
    """
    return source_of(TableSource(url), format)
