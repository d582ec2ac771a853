"""Applying changes that come in any order, and perhaps twice: of each key, what has the last sequence counts.

    <table>__cdc   type 1: (keys, sequence, deleted), the last change of each key that there ever was
                   type 2: every change, by which the history of a key is made again when one comes late

Both tables change in the transaction of the batch.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakebed.errors import Invalid
from lakebed.lake.clauses import when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.lake.sql.names import Objects
from lakebed.pipelines.flows import Cdc
from lakebed.pipelines.running.writing import Output, opened_output
from lakebed.pipelines.steps import Step
from lakebed.spark.fit import quoted

START, END = "__START_AT", "__END_AT"
"""What Spark calls the sequence from which, and up to which, a version of a row was the newest."""

STATE = "__cdc"
"""What follows the name of a table in that of the table which has its changes."""

_APPLIED = "pipeline.cdc"
"""The property of that table which says by which keys, and as which type of history."""

_SEQUENCE, _DELETED, _GONE, _KNOWN, _GROUP = "__sequence", "__deleted", "__gone", "__known", "__group"
_OWN = (START, END, _SEQUENCE, _DELETED, _GONE, _KNOWN, _GROUP)


def target_rows(source: DataFrame, cdc: Cdc) -> DataFrame:
    """The rows of a source with the columns of the table that its changes are applied to."""
    found = changes(source, cdc)
    if cdc.scd == 1:
        return found.drop(_SEQUENCE, _DELETED)
    sequence = found.schema[_SEQUENCE].dataType
    kept = found.drop(_SEQUENCE, _DELETED)
    return kept.withColumns({START: F.lit(None).cast(sequence), END: F.lit(None).cast(sequence)})


def changes(source: DataFrame, cdc: Cdc) -> DataFrame:
    """The rows of a source, with the columns that the table has, their sequence, and whether they delete."""
    deletes = F.lit(False) if cdc.deletes is None else F.coalesce(_expression(cdc.deletes), F.lit(False))
    own = _selected(source.columns, cdc)
    _tracked(own, cdc)
    return source.select(
        *map(quoted, own), _expression(cdc.sequence).alias(_SEQUENCE), deletes.cast("boolean").alias(_DELETED)
    )


def open_state(tx: Objects, step: Step, table: str, source: DataFrame, cdc: Cdc, *, starts_over: bool) -> None:
    """Make the table beside, or give it the columns that came; `Invalid` if its keys are other ones by now."""
    name = table + STATE
    if starts_over and tx.table_exists(name):
        tx.drop_table(name)
    rows = _state(changes(source, cdc), cdc)
    applied = json.dumps({"keys": sorted(key.casefold() for key in cdc.keys), "type": cdc.scd})
    before = tx.table(name).properties.get(_APPLIED) if tx.table_exists(name) else None
    if before is not None and before != applied:
        raise Invalid(
            "the keys or the type of history of a table have changed",
            subject=f"step {step.name}, table {table}",
            expected=before,
            found=applied,
            advice=f"Make it again from all changes: full_refresh={step.name!r}.",
        )
    own = replace(
        step,
        partition_by=(),
        sort_by=(),
        schema=None,
        properties={_APPLIED: applied},
        comment=f"changes that were applied to {table}",
    )
    opened_output(tx, Output(own, name, rows), keeps_rows=True)


def apply_changes(tx: Objects, table: str, rows: DataFrame, cdc: Cdc) -> int:
    """Apply the changes of a batch to a table; how many they were."""
    come = changes(rows, cdc).persist()
    try:
        count = _checked(come, table, cdc)
        if count:
            (_apply_last if cdc.scd == 1 else _apply_all)(tx, table, come, cdc)
        return count
    finally:
        come.unpersist()


def _apply_last(tx: Objects, table: str, come: DataFrame, cdc: Cdc) -> None:
    """Type 1: the last change of each key, unless a later one is known."""
    keys, state = _keys(come, cdc), tx.table(table + STATE)
    newest = Window.partitionBy(*map(quoted, keys)).orderBy(F.col(_SEQUENCE).desc(), F.col(_DELETED).desc())
    last = come.withColumn(_GROUP, F.row_number().over(newest)).where(F.col(_GROUP) == 1).drop(_GROUP)
    known = state.read(come.sparkSession).select(*map(quoted, keys), F.col(_SEQUENCE).alias(_KNOWN))
    is_newer = F.col(_KNOWN).isNull() | (F.col(_SEQUENCE) > F.col(_KNOWN))
    newer = last.join(known, keys, "left").where(is_newer).drop(_KNOWN).persist()
    try:
        _merge(tx.table(table), newer.drop(_SEQUENCE), keys, _DELETED)
        _merge(state, _state(newer, cdc).withColumn(_GONE, F.lit(False)), keys, _GONE)
    finally:
        newer.unpersist()


def _apply_all(tx: Objects, table: str, come: DataFrame, cdc: Cdc) -> None:
    """Type 2: all changes that are new, and with them the history of their keys again."""
    keys, state, spark = _keys(come, cdc), tx.table(table + STATE), come.sparkSession
    place = [*keys, _SEQUENCE]
    known = state.read(spark).select(*map(quoted, place))
    new = come.dropDuplicates(place).join(known, place, "left_anti").persist()
    try:
        state.append(new)
        touched = new.select(*map(quoted, keys)).distinct()
        made = _versions(state.read(spark).join(touched, keys, "left_semi"), keys, cdc)
        past = tx.table(table).read(spark).join(touched, keys, "left_semi").select(*map(quoted, made.columns))
        place = [*keys, START]
        same = [F.col(f"made.{quoted(name)}").eqNullSafe(F.col(f"past.{quoted(name)}")) for name in made.columns]
        other = made.alias("made").join(past.alias("past"), reduce(lambda one, more: one & more, same), "left_anti")
        gone = past.join(made.select(*map(quoted, place)), place, "left_anti")
        source = other.withColumn(_GONE, F.lit(False)).unionByName(gone.withColumn(_GONE, F.lit(True)))
        _merge(tx.table(table), source, place, _GONE)
    finally:
        new.unpersist()


def _versions(events: DataFrame, keys: Sequence[str], cdc: Cdc) -> DataFrame:
    """The versions of rows: changes in a row that agree on all tracked columns are one, with the last one's values."""
    own = [name for name in events.columns if name not in (_SEQUENCE, _DELETED)]
    chain = Window.partitionBy(*map(quoted, keys)).orderBy(_SEQUENCE)
    state = F.struct(F.col(_DELETED), *(F.col(quoted(name)) for name in _tracked(own, cdc)))
    before = F.lag(state).over(chain)
    begins = before.isNull() | ~state.eqNullSafe(before)
    grouped = events.withColumn(_KNOWN, begins.cast("int")).withColumn(_GROUP, F.sum(_KNOWN).over(chain))
    group = Window.partitionBy(*map(quoted, keys), _GROUP)
    last = F.row_number().over(group.orderBy(F.col(_SEQUENCE).desc()))
    each = grouped.withColumn(START, F.min(_SEQUENCE).over(group)).withColumn(_KNOWN, last).where(F.col(_KNOWN) == 1)
    after = Window.partitionBy(*map(quoted, keys)).orderBy(START)
    each = each.withColumn(END, F.lead(START).over(after)).where(~F.col(_DELETED))
    return each.select(*map(quoted, own), START, END)


def _merge(table: Any, source: DataFrame, on: Sequence[str], deleted: str) -> None:
    """Update, insert or, where a flag says so, delete the rows of a table."""
    values = {name: f"source.{quoted(name)}" for name in source.columns if name != deleted}
    others = {name: value for name, value in values.items() if name not in on}
    updating = [when_matched_update(others)] if others else []
    is_simple = not any(isinstance(source.schema[name].dataType, StructType) for name in on)
    table.merge(
        source,
        list(on) if is_simple else " AND ".join(f"target.{quoted(name)} <=> source.{quoted(name)}" for name in on),
        when_matched_delete(f"source.{deleted}"),
        *updating,
        when_not_matched_insert(values, f"NOT source.{deleted}"),
    )


def _state(found: DataFrame, cdc: Cdc) -> DataFrame:
    """What is kept of changes."""
    if cdc.scd == 2:
        return found
    return found.select(*map(quoted, _keys(found, cdc)), _SEQUENCE, _DELETED)


def _checked(come: DataFrame, table: str, cdc: Cdc) -> int:
    """How many changes there are; `Invalid` for one whose key or sequence is null: nobody knows where it belongs."""
    names = [*_keys(come, cdc), _SEQUENCE]
    nulls = [F.count_if(F.col(quoted(name)).isNull()) for name in names]
    count, *missing = come.agg(F.count(F.lit(1)), *nulls).collect()[0]
    for name, found in zip(names, missing, strict=True):
        if found:
            what = "sequence" if name == _SEQUENCE else f"key {name}"
            raise Invalid(
                f"changes have no {what}",
                subject=f"table {table}",
                found=f"{found:,} of {count:,} are null",
                advice="Leave them out in a view that the flow reads instead.",
            )
    return int(count)


def _expression(given: object) -> F.Column:  # type: ignore[name-defined]
    """An expression, given as text or as a Column."""
    return F.expr(given) if isinstance(given, str) else given


def _keys(rows: DataFrame, cdc: Cdc) -> list[str]:
    """The keys, spelled as the columns are."""
    wanted = {key.casefold() for key in cdc.keys}
    return [name for name in rows.columns if name.casefold() in wanted]


def _tracked(own: Sequence[str], cdc: Cdc) -> list[str]:
    """The columns of which a new value begins a version; `Invalid` for columns that the table does not have."""
    named = {name.casefold() for name in (*(cdc.tracked or ()), *cdc.untracked)}
    if named and cdc.scd == 1:
        raise Invalid("only a history tracks columns", subject=", ".join(sorted(named)), advice="Use SCD type 2.")
    unknown = named - {name.casefold() for name in own}
    if unknown:
        raise Invalid(
            "the table has no such column to track", subject=", ".join(sorted(unknown)), expected=", ".join(own)
        )
    if cdc.tracked is not None:
        return [name for name in own if name.casefold() in named]
    return [name for name in own if name.casefold() not in named | {key.casefold() for key in cdc.keys}]


def _selected(columns: list[str], cdc: Cdc) -> list[str]:
    """The columns of a source that its target has; `Invalid` for columns that the source does not have."""
    known = {name.casefold() for name in columns}
    taken = known & {name.casefold() for name in _OWN}
    if taken or not cdc.keys:
        raise Invalid(
            "the source of the changes has a column with a name of Lakebed's own" if taken else "changes need a key",
            subject=", ".join(sorted(taken)),
            advice="Rename it in a view." if taken else "Name the columns that identify a row.",
        )
    for name in (*cdc.keys, *(cdc.columns or ()), *cdc.left_out):
        if name.casefold() not in known:
            raise Invalid("the source of the changes has no such column", subject=name, expected=", ".join(columns))
    left_out = {name.casefold() for name in cdc.left_out}
    chosen = (known if cdc.columns is None else {name.casefold() for name in cdc.columns}) - left_out
    for key in cdc.keys:
        if key.casefold() not in chosen:
            raise Invalid("a key is left out of the table that changes are applied to", subject=key)
    return [name for name in columns if name.casefold() in chosen]
