"""Rows that somebody gives, looked at by a table's checks in the very job that writes them."""

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from lakebed.catalog.tables.properties import Check
from lakebed.errors import Invalid
from lakebed.spark.expressions import first_line, means_otherwise, quietly
from lakebed.spark.fit import check_rows, fit, quoted
from lakebed.spark.types import result_schema
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema

BROKEN = "Lakebed found a row that breaks a check: "
"""What Spark's error says, with the check's name and the row behind it, when a job meets such a row."""

SHOWN_CHARACTERS = 200


def guarded(checks: Sequence[Check], schema: Schema, frame: DataFrame) -> DataFrame:
    """The rows with the table's columns, names and types: whoever writes them fails at one that breaks a check.

    `Invalid` names a check that can't be evaluated. No job runs.
    """
    rows = _named(check_rows(frame), schema)
    for check in checks:
        rows = _guarded(rows, check, _is_broken(check, rows))
    return rows


def broken(error: PySparkException, checks: Sequence[Check], schema: Schema, frame: DataFrame) -> Invalid | None:
    """What a job that failed at a guard has met, None if it was something else.

    The rows that break the check are counted, which reads all once more.
    """
    found = re.search(f"{re.escape(BROKEN)}«(.*?)»«(.*)»", str(error))
    if found is None:
        return None
    check = next(one for one in checks if one.name == found.group(1))
    rows = _named(frame, schema)
    try:
        count = f"{rows.where(_is_broken(check, rows)).count()} rows"
    except PySparkException:  # what makes them can't be run again
        count = "at least 1 row"
    return check.broken(count, found.group(2))


def _named(frame: DataFrame, schema: Schema) -> DataFrame:
    """The rows as a read of the table would show them: with defaults, and under the names that its checks use."""
    fitted, targets = fit(frame, schema), result_schema(schema).fields
    names = [one.physical_name for one in schema.fields]
    columns = [F.col(quoted(name)).cast(one.dataType) for name, one in zip(names, targets, strict=True)]
    return fitted.select(*(column.alias(one.name) for column, one in zip(columns, targets, strict=True)))


def _is_broken(check: Check, rows: DataFrame) -> Column:
    """Whether a row breaks it: its condition is false, and not null."""
    if means_otherwise(rows.sparkSession, check.condition):
        raise check.unreadable(rf"Spark {rows.sparkSession.version} leaves a doubled quote out; write 'it\'s'")
    condition = F.expr(check.condition)
    try:
        with quietly():
            [found] = rows.select(condition.alias("holds")).schema.fields
    except AnalysisException as error:
        raise check.unreadable(first_line(error)) from error
    if not isinstance(found.dataType, BooleanType):
        raise check.unreadable(f"it is of type {found.dataType.simpleString()}, and no condition")
    return condition.eqNullSafe(F.lit(False))


def _guarded(rows: DataFrame, check: Check, broken: Column) -> DataFrame:
    first, *others = rows.schema.fields
    shown = [F.col(quoted(one.name)) for one in rows.schema.fields if one.name != ROW_ID.name]
    row = F.substring(F.to_json(F.struct(*shown)), 1, SHOWN_CHARACTERS)
    stop = F.raise_error(F.concat(F.lit(f"{BROKEN}«{check.name}»«"), row, F.lit("»"))).cast(first.dataType)
    # As part of a column that is written: a condition that nothing depends on would be optimised away.
    looked_at = F.when(broken, stop).otherwise(F.col(quoted(first.name))).alias(first.name)
    return rows.select(looked_at, *(F.col(quoted(one.name)) for one in others))
