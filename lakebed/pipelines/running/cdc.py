"""Applying changes that arrive in any order: the columns of the table that they go to."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.pipelines.flows import Cdc
from lakebed.spark.fit import quoted

START, END = "__START_AT", "__END_AT"
"""What Spark calls the sequence from which, and up to which, a version of a row was the newest."""


def target_rows(source: DataFrame, cdc: Cdc) -> DataFrame:
    """The rows of a source with the columns of the table that its changes are applied to."""
    kept = source.select(*map(quoted, target_columns(source, cdc)))
    if cdc.scd == 1:
        return kept
    sequence = source.select(expression(cdc.sequence).alias(START)).schema[0].dataType
    return kept.withColumns({START: F.lit(None).cast(sequence), END: F.lit(None).cast(sequence)})


def target_columns(source: DataFrame, cdc: Cdc) -> list[str]:
    """The columns of a source that its target has; `Invalid` for columns that the source does not have."""
    return _selected(source.columns, cdc.columns, cdc.left_out, cdc.keys)


def expression(given: object) -> F.Column:  # type: ignore[name-defined]
    """An expression, given as text or as a Column."""
    return F.expr(given) if isinstance(given, str) else given


def _selected(
    columns: list[str], wanted: tuple[str, ...] | None, left_out: tuple[str, ...], keys: tuple[str, ...]
) -> list[str]:
    known = {name.casefold() for name in columns}
    for name in (*keys, *(wanted or ()), *left_out):
        if name.casefold() not in known:
            raise Invalid("the source of the changes has no such column", subject=name, expected=", ".join(columns))
    chosen = {name.casefold() for name in columns if wanted is None} | {name.casefold() for name in wanted or ()}
    found = [name for name in columns if name.casefold() in chosen - {name.casefold() for name in left_out}]
    for key in keys:
        if key.casefold() not in {name.casefold() for name in found}:
            raise Invalid("a key is left out of the table that changes are applied to", subject=key)
    return found
