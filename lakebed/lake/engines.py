"""Engines, loaded when they are first used: a lake is opened and changed without PySpark and without Parquet."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Invalid, Unavailable
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from lakebed.arrow.engine import ArrowEngine
    from lakebed.arrow.importer import ArrowImporter
    from lakebed.catalog.data import row_changes, target
    from lakebed.catalog.data.engine import Engine
    from lakebed.catalog.data.foreign import ForeignTable, TextForm
    from lakebed.catalog.merge.rows import RowEngine
    from lakebed.databases.address import Address
    from lakebed.databases.relation import Behind, Relation, Rows
    from lakebed.files import Files
    from lakebed.spark.engine import SparkEngine
    from lakebed.spark.text import SparkText
else:
    row_changes = deferred("lakebed.catalog.data.row_changes")
    target = deferred("lakebed.catalog.data.target")


def arrow_engine() -> "ArrowEngine":
    """The local engine."""
    from lakebed.arrow.engine import ArrowEngine

    return ArrowEngine()


def arrow_importer() -> "ArrowImporter":
    """What reads files that others wrote."""
    from lakebed.arrow.importer import ArrowImporter

    return ArrowImporter()


def spark_engine(spark: "SparkSession") -> "SparkEngine":
    """The engine of a Spark session. Inline rows, which Spark can't reach, are read by the local engine."""
    from lakebed.spark.engine import SparkEngine

    local = arrow_engine()
    return SparkEngine(spark, local.read_inline, local)


def spark_text(
    spark: "SparkSession", files: "Files", paths: Sequence[str], form: "TextForm", schema: Schema
) -> AbstractContextManager["SparkText"]:
    """Rows of files of text, read by Spark's executors as the local engine reads them."""
    from lakebed.spark.text import spark_text

    check_session(spark, advice="Without one, the files are read here.")
    return spark_text(spark, paths, schema, partial(arrow_importer().text_file, files, form, schema))


def row_engine(spark: "SparkSession | None" = None) -> "RowEngine":
    """The engine that reads the rows of a merge."""
    if spark is None:
        return arrow_engine()
    check_session(spark, advice="Without one, the rows are read here.")
    return spark_engine(spark)


def spark_schema(given: "StructType") -> Schema:
    """Spark's schema as a table's."""
    from lakebed.spark.types import schema_of

    return schema_of(given)


def export_iceberg(work: Work, state: TableState, folder: str | None) -> str:
    """Write a table's metadata as Iceberg's, and answer where the metadata document is."""
    check_installed("fastavro", "iceberg")
    from lakebed.iceberg.export import export_table

    return export_table(work, state, folder)


def adbc_rows(address: "Address", relation: "Relation", behind: "Behind | None") -> "Rows":
    """Rows of a database, by the driver that reads them without Java."""
    if address.kind == "jdbc":
        raise Invalid(
            "a JDBC URL is read by Spark",
            subject=address.shown,
            advice="Pass spark=…, with the driver's jar in the session.",
        )
    check_installed(f"adbc_driver_{address.kind}", "databases")
    from lakebed.databases.adbc import AdbcRows

    return AdbcRows(address, relation, behind)


def jdbc_rows(
    spark: "SparkSession", address: "Address", relation: "Relation", behind: "Behind | None", options: Mapping[str, str]
) -> "Rows":
    """Rows of a database, by Spark."""
    check_session(spark)
    if address.kind != "jdbc":
        advice = "Leave spark= out, or pass a URL such as jdbc:postgresql://host/name."
        raise Invalid("Spark reads databases over JDBC", subject=address.shown, advice=advice)
    from lakebed.databases.jdbc import JdbcRows

    return JdbcRows(spark, address, relation, behind, options)


def iceberg_table(place: str) -> "ForeignTable":
    """An Iceberg table to import."""
    check_installed("fastavro", "iceberg")
    from lakebed.iceberg.source import IcebergSource

    return IcebergSource(place)


def delta_table(place: str) -> "ForeignTable":
    """A Delta table to import."""
    check_installed("deltalake", "delta")
    from lakebed.delta.table import DeltaSource

    return DeltaSource(place)


def check_installed(package: str, extra: str) -> None:
    """`Unavailable` with what to run if a package that is optional is missing."""
    if find_spec(package) is None:
        raise Unavailable(f"{package} is not installed", advice=f"Run `pip install 'lakebed[{extra}]'`.")


def engine_for(data: object = None, spark: "SparkSession | None" = None) -> "Engine":
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


def check_keys(work: Work, state: TableState, removed: Sequence[DataFileRef], added: Sequence[DataFileRef]) -> None:
    """`Invalid` if two rows of the table would have one primary key."""
    if state.schema.identifier_ids and added:
        arrow_engine().check_keys(
            target.target_of(work, state), row_changes.RowChange(removed, written=row_changes.Written(added))
        )
