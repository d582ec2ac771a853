"""A table's checks, evaluated on the caller's rows in the job that writes them."""

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from lakebed.catalog.tables.properties import Check
from lakebed.errors import Invalid
from lakebed.spark.expressions import drops_quotes, first_line, quietly
from lakebed.spark.fit import check_rows, fit, quoted
from lakebed.spark.types import result_schema
from lakebed.spark.variables import written_expression
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema

BROKEN = "Lakebed found a row that breaks a check: "
"""How Spark's error begins when a job meets such a row; the check's name and the row follow."""

SHOWN_CHARACTERS = 200


def guarded_rows(checks: Sequence[Check], schema: Schema, frame: DataFrame) -> DataFrame:
    """The rows with the table's columns, names and types: a job that writes them fails at a row that breaks a check.

    `Invalid` names a check that can't be evaluated. No job runs.
    """
    rows = _table_rows(check_rows(frame), schema)
    for check in checks:
        rows = _with_guard(rows, check, is_broken(check, rows))
    return rows


def broken_check(error: PySparkException, checks: Sequence[Check], schema: Schema, frame: DataFrame) -> Invalid | None:
    """The error of a job that failed at a broken check, None if it failed at something else.

    Counting the rows that break the check reads all rows once more.
    """
    found = re.search(f"{re.escape(BROKEN)}«(.*?)»«(.*)»", str(error))
    if found is None:
        return None
    check = next(check for check in checks if check.name == found.group(1))
    rows = _table_rows(frame, schema)
    try:
        count = f"{rows.where(is_broken(check, rows)).count()} rows"
    except PySparkException:  # the rows can't be computed again
        count = "at least 1 row"
    return check.broken(count, found.group(2))


def _table_rows(frame: DataFrame, schema: Schema) -> DataFrame:
    """The rows as a read of the table would show them: with defaults, and under the names that its checks use."""
    fitted, targets = fit(frame, schema), result_schema(schema).fields
    names = [field.physical_name for field in schema.fields]
    return fitted.select(
        *(
            F.col(quoted(name)).cast(target.dataType).alias(target.name)
            for name, target in zip(names, targets, strict=True)
        )
    )


def is_broken(check: Check, rows: DataFrame) -> Column:
    """Whether a row breaks the check: its condition is false, not null."""
    check.require_harmless()  # a stranger's lake may have any
    if drops_quotes(rows.sparkSession, check.condition):
        raise check.unreadable(rf"Spark {rows.sparkSession.version} leaves a doubled quote out; write 'it\'s'")
    condition = written_expression(rows.sparkSession, check.condition)
    try:
        with quietly():
            [found] = rows.select(condition.alias("holds")).schema.fields
    except AnalysisException as error:
        raise check.unreadable(first_line(error)) from error
    if not isinstance(found.dataType, BooleanType):
        raise check.unreadable(f"it is of type {found.dataType.simpleString()}, not a condition")
    return condition.eqNullSafe(F.lit(False))


def _with_guard(rows: DataFrame, check: Check, broken: Column) -> DataFrame:
    first, *others = rows.schema.fields
    columns = [F.col(quoted(field.name)) for field in rows.schema.fields if field.name != ROW_ID.name]
    row = F.substring(F.to_json(F.struct(*columns)), 1, SHOWN_CHARACTERS)
    stop = F.raise_error(F.concat(F.lit(f"{BROKEN}«{check.name}»«"), row, F.lit("»"))).cast(first.dataType)
    # In a column that is written: Spark would optimise away a condition that nothing depends on.
    guarded = F.when(broken, stop).otherwise(F.col(quoted(first.name))).alias(first.name)
    return rows.select(guarded, *(F.col(quoted(field.name)) for field in others))
