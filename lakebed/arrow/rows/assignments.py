"""Columns of rows in memory that are set to expressions."""

from collections.abc import Callable, Sequence

import pyarrow

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.shape import AS_GIVEN, shaped
from lakebed.arrow.types import arrow_schema
from lakebed.table.expression.assignments import Assignment, Values, bind_assignments
from lakebed.table.expression.scope import ROWS, rows_scope
from lakebed.table.schema.schema import Schema


def assignments(values: Values, schema: Schema) -> Callable[[pyarrow.RecordBatch], Sequence[pyarrow.Array]]:
    """What gives the new columns of rows, in the schema's order: those without a value stay.

    Names and types are checked at once, and the time is that of this call for all rows. `Invalid` from a batch names
    the expression or the column that a row's values don't fit.
    """
    bound = bind_assignments(values, schema, rows_scope(schema))

    def changed(batch: pyarrow.RecordBatch) -> Sequence[pyarrow.Array]:
        return assigned(bound, Rows({ROWS: batch}, batch.num_rows), schema, batch.columns)

    return changed


def assigned(
    bound: Sequence[Assignment], rows: Rows, schema: Schema, columns: Sequence[pyarrow.Array]
) -> list[pyarrow.Array]:
    """Columns of a schema, with those replaced that have a value."""
    found = list(columns)
    places = {name: index for index, name in enumerate(schema.names)}
    for one in bound:
        found[places[one.field.name]] = stored_values(one, rows, schema)
    return found


def stored_values(assignment: Assignment, rows: Rows, schema: Schema) -> pyarrow.Array:
    """The values of a column as the table has them; `Invalid` for a null where none may be."""
    field = assignment.field
    form = arrow_schema(schema.select([field.name]))
    [found] = shaped([evaluate(assignment.value, rows)], [field.name], [field], form, AS_GIVEN, rows.count)
    return found
