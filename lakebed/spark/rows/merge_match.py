"""How a merge matches rows in Spark: by any condition, and which of its equalities can prune files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.rows.source import Keys
from lakebed.spark.types import result_schema
from lakebed.spark.variables import written_expression
from lakebed.table.expression.conjuncts import conjuncts
from lakebed.table.expression.expression import Cast, ColumnOf, Expression
from lakebed.table.expression.merge_clauses import KeyPair, bind_keys
from lakebed.table.expression.types import WHOLE
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import check_expression
from lakebed.table.types.types import DOUBLE, FLOAT, Field


@dataclass(frozen=True, slots=True)
class Matching:
    """A condition over the rows `target` and `source`, and the columns that are equal where rows match.

    `text` is the condition as errors show it.
    """

    condition: Column
    pairs: tuple[KeyPair, ...]
    text: str

    @property
    def keys(self) -> Keys:
        """The table's columns that files are pruned by, and the source's column that each one equals."""
        return {pair.column.way[-1]: _as_target_type(pair) for pair in self.pairs if _can_prune(pair)}


def matching(spark: SparkSession, on: str | Sequence[str], target: Schema, source: Schema) -> Matching:
    """How rows match: by a column, by several, or by any condition in SQL, whose mistakes Spark finds."""
    if isinstance(on, str):
        check_expression(on, "a condition")
    try:
        pairs = bind_keys(on, target, source)
    except Invalid:
        if not isinstance(on, str) or not _is_condition(on):
            raise
        found = [pair for piece in conjuncts(on) for pair in _pairs(piece, target, source)]
        return Matching(written_expression(spark, on), tuple(found), on)
    return Matching(reduce(and_, map(_equality, pairs)), pairs, str(on))


def column_of(expression: Expression) -> Column:
    """A column of either side, as Spark finds it."""
    while isinstance(expression, Cast):
        expression = expression.value
    assert isinstance(expression, ColumnOf), "keys are columns"
    return F.col(".".join((expression.source, *(quoted(field.name) for field in expression.way))))


def _is_condition(on: str) -> bool:
    """Whether the text is more than the name of a column that does not exist."""
    return (
        on.strip().lower() in ("true", "false") or not on.replace("`", "").replace(".", "").replace("_", "").isalnum()
    )


def _pairs(piece: str, target: Schema, source: Schema) -> tuple[KeyPair, ...]:
    try:
        return bind_keys(piece, target, source)
    except Invalid:
        return ()


def _equality(pair: KeyPair) -> Column:
    return column_of(pair.target) == column_of(pair.source)


def _can_prune(pair: KeyPair) -> bool:
    """Whether the column's bounds can prune files: bounds leave NaN out, and other types compare differently."""
    field = pair.column.way[-1]
    if len(pair.column.way) > 1 or field.type in (FLOAT, DOUBLE):
        return False
    return isinstance(pair.target, ColumnOf) or (field.type in WHOLE and _source_column(pair).type in WHOLE)


def _source_column(pair: KeyPair) -> Expression:
    return pair.source.value if isinstance(pair.source, Cast) else pair.source


def _as_target_type(pair: KeyPair) -> Column:
    """The source's values in the type of the table's column; a value that it can't hold matches nothing."""
    column = _source_column(pair)
    assert isinstance(column, ColumnOf), "keys are columns"
    field: Field = pair.column.way[-1]
    wanted = result_schema(Schema([field])).fields[0].dataType
    return F.col(".".join(quoted(part.name) for part in column.way)).try_cast(wanted)
