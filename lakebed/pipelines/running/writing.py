"""Writing a step's rows to its table, in the transaction of the step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.lake.clauses import when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.lake.engines import spark_schema
from lakebed.lake.sql.names import Objects
from lakebed.lake.table import Table
from lakebed.pipelines.contracts import check_contract, column_changes, evolve_table
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.running.frames import CHANGE_TYPE
from lakebed.pipelines.running.history import HISTORY_COLUMNS, history_rows
from lakebed.pipelines.steps import Step
from lakebed.pipelines.windows import Schedule, Window
from lakebed.spark.fit import quoted
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Output:
    """A table that a step writes, and the columns that the step makes for it."""

    step: Step
    name: str
    rows: DataFrame

    @property
    def columns(self) -> Schema:
        """The columns of the table; what says how a row changed is not one."""
        kept = self.rows.drop(CHANGE_TYPE)
        made = _nullable(spark_schema(kept.schema))
        return Schema([*made.fields, *HISTORY_COLUMNS]) if self.step.write.mode == "scd2" else made


def _nullable(schema: Schema) -> Schema:
    """Columns that may be null: that Spark sees today that one never is, is no promise about the next rows."""
    return Schema([replace(field, required=False) for field in schema.fields])


def check_output(line: Objects, output: Output) -> None:
    """`Invalid`, before any job, if the rows can't be written to the table as it is."""
    made = output.columns
    check_contract(output.step, made)
    if line.table_exists(output.name):
        column_changes(output.step, line.table(output.name), made)
    elif output.step.write.mode == "upsert" and not output.step.primary_key:
        raise Invalid(
            "an upsert needs a primary key", subject=f"step {output.step.name}", advice="Pass primary_key=[…]."
        )


def opened_output(tx: Objects, output: Output) -> Table[Any]:
    """The table of an output, made if it is not there, changed if it has to be."""
    step, made = output.step, output.columns
    if not tx.table_exists(output.name):
        _make_namespaces(tx, output.name)
        return tx.create_table(
            output.name,
            made if step.schema is None else step.schema,
            partition_by=step.partition_by,
            sort_by=step.sort_by,
            primary_key=_key(step),
            properties=step.properties,
            comment=step.comment,
        )
    table = tx.table(output.name)
    changes = column_changes(step, table, made)
    if changes:
        evolve_table(table, changes, made)
    return table


def write_rows(table: Table[Any], step: Step, rows: DataFrame, *, starts_over: bool, window: Window | None) -> None:
    """Write rows to the table of a step as its `write` says."""
    mode = step.write.mode
    if window is not None and step.window is not None:
        column = window_column(step, step.window, table.schema)
        kind = str(table.schema.find((column,)).type)
        table.overwrite(rows, where=window.condition(column, kind).replace("TIMESTAMP_NTZ", "TIMESTAMP"))
        return
    if starts_over and step.write.is_incremental and fact_of(table) is not None:
        table.truncate()  # rows that no pipeline made stay
    if mode == "replace":
        table.overwrite(rows)
    elif mode == "append":
        table.append(rows)
    elif mode == "partitions":
        table.overwrite_partitions(rows)
    elif mode == "merge":
        table.merge(rows, list(step.write.on), *step.write.clauses)
    elif mode == "scd2":
        _write_history(table, step, rows)
    else:
        _upsert(table, rows)


def window_column(step: Step, schedule: Schedule, made: Schema) -> str:
    """The column of a step's own rows that says which window they are in."""
    times = [field.name for field in made.fields if str(field.type) in ("date", "timestamp", "timestamptz")]
    wanted = schedule.into or schedule.column
    found = [name for name in times if name.casefold() == wanted.casefold()]
    if not found and schedule.into is None and len(times) == 1:
        found = times
    if not found:
        raise Invalid(
            "no column says which window a row is in",
            subject=f"step {step.name}",
            expected=f"a date or time called {wanted}",
            found=", ".join(times) or "no date or time",
            advice=f'Name the column: lp.{step.window and "daily"}(…, into="day").',
        )
    return found[0]


def set_properties(table: Table[Any], properties: Mapping[str, str]) -> None:
    """Note facts of a table, in the transaction of its rows."""
    table.set_properties(properties)


def _upsert(table: Table[Any], rows: DataFrame) -> None:
    if CHANGE_TYPE not in rows.columns:
        table.upsert(rows)
        return
    # An old key that an insert brings back in the same feed is not deleted.
    key = list(table.primary_key)
    kept = rows.where(F.col(CHANGE_TYPE) != "delete")
    gone = rows.where(F.col(CHANGE_TYPE) == "delete").join(kept.select(*map(quoted, key)).distinct(), key, "left_anti")
    source = kept.unionByName(gone.dropDuplicates(key))
    names = [name for name in rows.columns if name != CHANGE_TYPE]
    values = {name: f"source.{quoted(name)}" for name in names}
    table.merge(
        source,
        key,
        when_matched_delete(f"source.{CHANGE_TYPE} = 'delete'"),
        when_matched_update({name: value for name, value in values.items() if name not in key}),
        when_not_matched_insert(values, f"source.{CHANGE_TYPE} <> 'delete'"),
    )


def _write_history(table: Table[Any], step: Step, rows: DataFrame) -> None:
    source = history_rows(table.read(rows.sparkSession), rows, step.write.on, str(step.write.sequence))
    values = {name: f"source.{quoted(name)}" for name in source.columns}
    table.merge(
        source,
        [*step.write.on, "valid_from"],
        when_matched_update(values),
        when_not_matched_insert(values),
    )


def _key(step: Step) -> tuple[str, ...]:
    return step.primary_key


def _make_namespaces(tx: Objects, name: str) -> None:
    parts = name.split(".")[:-1]
    for depth in range(1, len(parts) + 1):
        tx.create_namespace(".".join(parts[:depth]), if_not_exists=True)
