"""Writing a step's rows to its table, in the transaction of the step."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.catalog.tables.tables import Layout, definition_of
from lakebed.catalog.transaction.names import parse_name
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.clauses import when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.lake.engines import spark_schema
from lakebed.lake.sql.names import Objects
from lakebed.lake.table import Table
from lakebed.pipelines.contracts import (
    check_contract,
    check_kept_values,
    column_changes,
    contract,
    evolve_table,
    never_null,
)
from lakebed.pipelines.expectations import Expectation
from lakebed.pipelines.facts import fact_of
from lakebed.pipelines.running.frames import CHANGE_TYPE
from lakebed.pipelines.running.history import HISTORY_COLUMNS, history_rows
from lakebed.pipelines.steps import Step
from lakebed.pipelines.windows import Schedule, Window
from lakebed.spark.fit import quoted
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.partition.spec import PartitionField, make_spec
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column


@dataclass(frozen=True, slots=True)
class Output:
    """A table that a step writes, and the columns that the step makes for it."""

    step: Step
    name: str
    rows: DataFrame

    @property
    def made(self) -> Schema:
        """The columns that the step makes; what says how a row changed is not one."""
        return _nullable(spark_schema(self.rows.drop(CHANGE_TYPE).schema))

    @property
    def columns(self) -> Schema:
        """The columns of the table."""
        is_history = self.step.write.mode == "scd2"
        return Schema([*self.made.fields, *HISTORY_COLUMNS]) if is_history else self.made

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """What the step expects of the rows, and what its contract does."""
        return (*self.step.expectations.get(self.name, ()), *never_null(self.step, self.name))


def _nullable(schema: Schema) -> Schema:
    """Columns that may be null: Spark may see today that one never is, and the next rows may differ."""
    return Schema([replace(field, required=False) for field in schema.fields])


def check_output(line: Objects, output: Output) -> None:
    """`Invalid`, before any job, if the rows can't be written to the table as it is."""
    step = output.step
    _check_changes_are_followed(output)
    check_contract(step, output.name, output.made)
    _check_definition(output)
    if line.table_exists(output.name):
        table = line.table(output.name)
        column_changes(step, table, output.columns)
        _check_key(table, output)
    elif line.view_exists(output.name):
        raise AlreadyExists("a step's table has the name of a view", subject=f"step {step.name}, {output.name}")
    elif step.write.mode == "upsert" and not step.key(output.name):
        raise Invalid("an upsert needs a primary key", subject=f"step {step.name}", advice="Pass primary_key=[…].")


def opened_output(tx: Objects, output: Output, *, keeps_rows: bool) -> Table[Any]:
    """The table of an output, made if it is not there, changed if it has to be. `keeps_rows` of a step that adds."""
    step, made = output.step, output.columns
    if not tx.table_exists(output.name):
        _make_namespaces(tx, output.name)
        return tx.create_table(
            output.name,
            _new_columns(output),
            partition_by=step.partition_by,
            sort_by=step.sort_by,
            primary_key=step.key(output.name),
            properties=step.properties,
            comment=step.comment,
        )
    table = tx.table(output.name)
    changes = column_changes(step, table, made)
    if keeps_rows:
        check_kept_values(step, table, changes)
    if changes:
        evolve_table(table, changes, made)
    _follow_declaration(table, output)
    return table


def keep_view(line: Catalog, view: Step, message: str) -> None:
    """Give the lake a view that is kept, or its new query; nothing if it has it as it is."""
    assert view.kept is not None
    if line.table_exists(view.name):
        raise AlreadyExists("a view has the name of a table", subject=f"view {view.name}")
    if line.view_exists(view.name):
        known = line.view(view.name)
        own = {name: known.properties.get(name) for name in view.properties}
        if (known.sql.get("spark"), known.comment, own) == (view.kept, view.comment, dict(view.properties)):
            return
    with line.transaction(message) as tx:
        _make_namespaces(tx, view.name)
        tx.create_or_replace_view(view.name, view.kept, properties=view.properties, comment=view.comment)


def _new_columns(output: Output) -> Schema:
    """The columns of a new table: as the contract has them, with what it says is required."""
    wanted = contract(output.step, output.name)
    if wanted is None:
        return output.columns
    return Schema([*wanted.fields, *HISTORY_COLUMNS]) if output.step.write.mode == "scd2" else wanted


def _follow_declaration(table: Table[Any], output: Output) -> None:
    """Partition and sort new files, and describe the table, as the step says now."""
    step, key = output.step, output.step.key(output.name)
    spec, order = list(step.partition_by), list(step.sort_by)
    schema, now = table.schema, table.sort_order.fields
    with table.evolve() as change:
        if spec and _partitions(make_spec(schema, spec, spec_id=1).fields) != _partitions(table.spec.fields):
            change.partition_by(spec)
        if order and make_sort_order(schema, order, order_id=1).fields != now:
            change.sort_by(order)
        if key and key != table.primary_key:
            change.primary_key([(name,) for name in key])
    if step.comment is not None and step.comment != table.comment:
        table.set_comment(step.comment)


def _partitions(fields: Iterable[PartitionField]) -> list[tuple[int, str, str]]:
    """Partition fields without the numbers that a table gave them."""
    return [(one.source_id, str(one.transform), one.name) for one in fields]


def _check_changes_are_followed(output: Output) -> None:
    """`Invalid` for rows that say how they changed, written by a mode that would take a deleted row for a row."""
    mode = output.step.write.mode
    if CHANGE_TYPE in output.rows.columns and mode in ("replace", "append", "partitions"):
        raise Invalid(
            f"rows with {CHANGE_TYPE} say which rows were deleted, and write={mode!r} would keep those",
            subject=f"step {output.step.name}",
            advice="Upsert them, or leave out those that are deleted, and the column itself.",
        )


def _check_key(table: Table[Any], output: Output) -> None:
    """`Invalid` if a table can't get the key that its step says: its columns may be null."""
    known = {folded_column(field.name): field for field in table.schema.fields}
    for name in output.step.key(output.name):
        column = known.get(folded_column(name))
        if column is not None and not column.required:
            raise Invalid(
                "the table is there, and its rows may have null in what the step says is its key",
                subject=f"step {output.step.name}, table {output.name}",
                found=f"{column.name} {column.type}, which is optional",
                advice="Drop the table: the step makes it again with its key.",
            )


def _check_definition(output: Output) -> None:
    """`Invalid` if no table can be made of it: by its name, or a key, a partition or an order of other columns."""
    step = output.step
    parse_name(output.name)
    known = {folded_column(field.name) for field in output.made.fields}
    by = [] if step.write.mode != "scd2" else [*step.write.on, str(step.write.sequence)]
    missing = [name for name in by if folded_column(name) not in known]
    if missing:
        raise Invalid(
            "scd2 is by columns that the step does not make",
            subject=f"step {step.name}",
            expected=", ".join(field.name for field in output.made.fields),
            found=", ".join(missing),
        )
    layout = Layout(step.partition_by, step.sort_by, step.key(output.name))
    try:
        definition_of(output.name, output.columns, {}, layout)
    except (Invalid, NotFound) as error:
        raise Invalid(
            f"no table can be made as the step says: {error.problem}",
            subject=f"step {step.name}, table {output.name}",
            expected=error.expected or f"one of {', '.join(field.name for field in output.columns.fields)}",
            found=error.found or error.subject or None,
            advice=error.advice,
        ) from error


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


def _make_namespaces(tx: Objects, name: str) -> None:
    parts = name.split(".")[:-1]
    for depth in range(1, len(parts) + 1):
        tx.create_namespace(".".join(parts[:depth]), if_not_exists=True)
