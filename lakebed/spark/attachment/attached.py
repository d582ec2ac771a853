"""What an attached session needs of a lake: an answer for each of PySpark's calls that takes a name."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql.catalog import Catalog
from pyspark.sql.column import Column

Sql = Callable[..., DataFrame]
"""Spark's own `sql`, bound to its session."""

Args = Mapping[str, Any] | list[Any] | None
"""The parameters of a statement."""


class Attached(Protocol):
    """A lake's answers, for one session. `own` is what Spark itself does, for names that the lake does not have."""

    @property
    def url(self) -> str:
        """The lake's address."""

    def sql(self, own: Sql, text: str, args: Args, given: Mapping[str, Any]) -> DataFrame: ...

    def table(self, own: Callable[[str], DataFrame], name: str) -> DataFrame: ...

    def reader(self, own: DataFrameReader) -> DataFrameReader: ...

    def writer(self, own: DataFrameWriter, frame: DataFrame) -> DataFrameWriter: ...

    def writer_to(self, own: Callable[[str], DataFrameWriterV2], frame: DataFrame, name: str) -> DataFrameWriterV2: ...

    def merger(self, own: Callable[[str, Column], Any], frame: DataFrame, name: str, on: Column) -> Any: ...

    def stream_reader(self, own: Any) -> Any: ...

    def stream_writer(self, own: Any, frame: DataFrame) -> Any: ...

    def catalog(self, own: Catalog) -> Catalog: ...

    def leave(self) -> None:
        """The session was detached."""


class Attachable(Protocol):
    """A lake, as `attach` takes it."""

    @property
    def url(self) -> str: ...

    def _attached_to(self, spark: SparkSession, ref: str | None) -> Attached:
        """Its answers for a session, from a ref if one is named."""
