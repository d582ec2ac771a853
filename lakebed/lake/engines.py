"""Engines, loaded when they are first used: a lake is opened and changed without PySpark and without Parquet."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from lakebed.catalog.data.engine import Engine
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, Unavailable
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from lakebed.arrow.engine import ArrowEngine
    from lakebed.spark.engine import SparkEngine


def arrow_engine() -> "ArrowEngine":
    """The local engine."""
    from lakebed.arrow.engine import ArrowEngine

    return ArrowEngine()


def spark_engine(spark: "SparkSession") -> "SparkEngine":
    """The engine of a Spark session. Inline rows, which Spark can't reach, are read by the local engine."""
    from lakebed.spark.engine import SparkEngine

    return SparkEngine(spark, arrow_engine().read_inline)


def spark_schema(given: "StructType") -> Schema:
    """Spark's schema as a table's."""
    from lakebed.spark.types import schema_of

    return schema_of(given)


def export_iceberg(work: Work, state: TableState, folder: str | None) -> str:
    """Write a table's metadata as Iceberg's, and answer where the metadata document is."""
    check_installed("fastavro", "iceberg")
    from lakebed.iceberg.export import export_table

    return export_table(work, state, folder)


def check_installed(package: str, extra: str) -> None:
    """`Unavailable` with what to run if a package that is optional is missing."""
    if find_spec(package) is None:
        raise Unavailable(f"{package} is not installed", advice=f"Run `pip install 'lakebed[{extra}]'`.")


def engine_for(data: object = None, spark: "SparkSession | None" = None) -> Engine:
    """Spark if there is a session, or if the data is a DataFrame of one; else the local engine."""
    session = spark
    if session is None and is_of_spark(data) and hasattr(data, "sparkSession"):
        session = cast("SparkSession", cast(Any, data).sparkSession)
    if session is None:
        return arrow_engine()
    check_session(session, advice="Without one, the local engine changes the rows.")
    return spark_engine(session)


def check_session(given: object, *, advice: str = "") -> None:
    """Refuse anything but a Spark session."""
    if not is_of_spark(given):
        raise Invalid(
            "this is not a Spark session",
            expected="what lakebed.spark.session(lake) answers",
            found=f"{given!r:.80}",
            advice=advice,
        )


def is_of_spark(data: object) -> bool:
    """Whether a piece of data, a schema or a session is one of PySpark's."""
    return any(kind.__module__.partition(".")[0] == "pyspark" for kind in type(data).__mro__)
