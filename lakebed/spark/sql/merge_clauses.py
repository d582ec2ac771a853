"""The clauses of a MERGE for a table's schema: whole columns, defaults, and the columns that a source brings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.spark.sql.assignments import column_values
from lakebed.spark.sql.statements import MergeClause
from lakebed.spark.sql.tokens import quoted
from lakebed.spark.types import schema_of
from lakebed.table.expression.merge_clauses import Clause, Then
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def merge_clause(clause: MergeClause, schema: Schema, source_columns: Sequence[str], *, evolves: bool) -> Clause:
    """A clause as `Table.merge` takes it.

    With schema evolution, `*` sets the columns that the source has; without it, the source needs all of the table's.
    """
    values = clause.values
    if values is None and evolves and clause.then is not Then.DELETE:
        values = tuple(((name,), f"{SOURCE}.{quoted(name)}") for name in source_columns)
    row = "" if clause.then is Then.INSERT else TARGET
    found = None if values is None else tuple(column_values(values, schema, row).items())
    return Clause(clause.when, clause.then, found, clause.where)


def new_source_columns(
    given: Sequence[MergeClause], schema: Schema, rows: "DataFrame"
) -> list[tuple[tuple[str, ...], Type]]:
    """The columns that the table gets: all that only the source has if a clause is for all, else those that are set."""
    clauses = [clause for clause in given if clause.then is not Then.DELETE]
    found = new_columns(schema, schema_of(rows.schema.toNullable()))
    if any(clause.values is None for clause in clauses):
        return found
    named = {folded_column(path[0]) for clause in clauses for path, _ in clause.values or ()}
    return [(path, type) for path, type in found if folded_column(path[0]) in named]
