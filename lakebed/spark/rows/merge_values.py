"""The clauses of a merge as columns of Spark: which clause is for a row, and what it sets."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.spark.expressions import predicate
from lakebed.spark.fit import quoted
from lakebed.spark.rows.assignments import Assigned, assigned, stored
from lakebed.spark.rows.stable_rows import known_schema
from lakebed.table.expression.merge_clauses import Clause, check_all_in
from lakebed.table.expression.scope import SOURCE
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column

Numbered = Mapping[int, Clause]
"""Clauses by their numbers, in the order in which they are asked."""


def first_that_holds(clauses: Numbered, rows: DataFrame, table: str) -> Column:
    """The number of the first clause that is for a row; null if none is."""
    found = F.lit(None).cast("int")
    for number, one in reversed([*clauses.items()]):
        condition = (
            F.lit(True) if one.where is None else predicate(rows, str(one.where), f"the condition of {one}", table)
        )
        found = F.when(condition, F.lit(number)).otherwise(found)
    return found


def values_of(clause: Clause, schema: Schema, rows: DataFrame, source: DataFrame, table: str) -> Assigned:
    """What a clause sets, by SQL over the rows; without values all columns, to those of the source by their names."""
    if clause.values is not None:
        return assigned(dict(clause.values), schema, rows, table)
    check_all_in(schema, known_schema(source))
    there = {folded_column(one.name): one for one in source.schema.fields}
    return {one.name: _taken(there[folded_column(one.name)], one.name, schema, table) for one in schema.fields}


def _taken(found: spark.StructField, name: str, schema: Schema, table: str) -> Column:
    said = f"{SOURCE}.{found.name}"
    return stored(F.col(f"{SOURCE}.{quoted(found.name)}"), found.dataType, schema.field(name), table, said)


def by_clause(number: Column, values: Mapping[int, Column]) -> Column:
    """The value of the clause that has a row's number; null if it has none."""
    chosen: Sequence[tuple[int, Column]] = list(values.items())
    return reduce(lambda rest, one: F.when(number == one[0], one[1]).otherwise(rest), chosen, F.lit(None))


def with_texts(clause: Clause, change: Any) -> Clause:
    """The clause with its SQL changed."""
    values = clause.values and tuple(
        (name, change(value) if isinstance(value, str) else value) for name, value in clause.values
    )
    return Clause(clause.when, clause.then, values, None if clause.where is None else change(str(clause.where)))
