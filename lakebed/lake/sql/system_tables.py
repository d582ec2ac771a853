"""System tables in queries: `__files` of a catalog, and `sales.orders.files` of one table."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.inspect.registry import OF_ONE_TABLE, find_system_table, is_system_table
from lakebed.catalog.inspect.system_table import SystemTable
from lakebed.catalog.transaction.names import parse_name, spelled
from lakebed.lake.inspect import inspect
from lakebed.lake.sql.names import Objects
from lakebed.lake.sql.objects.frames import TEXT, TIME, frame
from lakebed.lake.table import Table
from lakebed.spark.expressions import is_ansi, is_utc
from lakebed.spark.sql.conjuncts import prunable
from lakebed.table.filter.column import col
from lakebed.table.filter.condition import Condition

HISTORY = "history"
_LEVELS = ("editions", "streams")
"""The system tables of all editions of a table."""

_HISTORY = {"version": pa.decimal128(29, 0), "committed_at": TIME, "operation": TEXT, "author": TEXT, "message": TEXT}


def system_rows(
    spark: SparkSession, objects: Objects, parts: Sequence[str], conditions: Sequence[Condition]
) -> DataFrame | None:
    """The rows of a system table that may pass the conditions; None if the name is not that of one."""
    if not is_system_name(objects, parts):
        return None
    if len(parts) == 1:
        return _rows(spark, objects, find_system_table(parts[0]), conditions)
    *name, last = parts
    table = objects.table(tuple(name))
    if last.casefold() == HISTORY:
        return _history(spark, table)
    return _rows(spark, objects, OF_ONE_TABLE[last.casefold()], [*conditions, *_own_rows(last.casefold(), table)])


def _own_rows(system: str, table: Table) -> list[Condition]:
    """What the rows of one table pass, or those of the edition that it is bound to."""
    edition = table.locator.edition
    if edition is None:
        return [col("table_uuid") == table.id]
    name = parse_name(table.name)
    if system in _LEVELS:
        return [col("table_name") == spelled(name[:-1]), col("edition") == edition]
    return [col("table_name") == spelled(name)]


def is_system_name(objects: Objects, parts: Sequence[str]) -> bool:
    """Whether a name is that of a system table, of the catalog or of one of its tables."""
    *name, last = parts
    if not name:
        return is_system_table(last)
    return (last.casefold() in OF_ONE_TABLE or last.casefold() == HISTORY) and objects.table_exists(tuple(name))


def _rows(spark: SparkSession, objects: Objects, system: SystemTable, conditions: Sequence[Condition]) -> DataFrame:
    where = prunable(conditions, system.schema, is_utc(spark), is_ansi(spark))
    return spark.createDataFrame(inspect(objects._scope, system.name, where, None))


def _history(spark: SparkSession, table: Table) -> DataFrame:
    """The commits that changed a table, newest first."""
    rows = []
    for commit in table.history():
        types = (each.type.replace("_", " ") for each in commit.operations if each.object_id == table.id)
        operation = ", ".join(dict.fromkeys(types))
        rows.append((int(commit.version), commit.time, operation, commit.author, commit.message or None))
    return frame(spark, _HISTORY, rows)
