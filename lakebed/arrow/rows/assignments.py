"""Setting columns of rows in memory to expressions."""

from collections.abc import Callable, Sequence

import pyarrow

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.shape import AS_GIVEN, shaped
from lakebed.arrow.types import arrow_schema
from lakebed.table.expression.assignments import Assignment, Values, bind_assignments
from lakebed.table.expression.scope import ROWS, rows_scope
from lakebed.table.schema.schema import Schema


def assignments(values: Values, schema: Schema) -> Callable[[pyarrow.RecordBatch], Sequence[pyarrow.Array]]:
    """A function that answers the new columns of rows, in the schema's order; columns without a value stay.

    Names and types are checked now, and the current time is that of this call for all rows. `Invalid` from a batch
    names the expression or the column that a row's values don't fit.
    """
    bound = bind_assignments(values, schema, rows_scope(schema))

    def changed(batch: pyarrow.RecordBatch) -> Sequence[pyarrow.Array]:
        return assigned(bound, Rows({ROWS: batch}, batch.num_rows), schema, batch.columns)

    return changed


def assigned(
    bound: Sequence[Assignment], rows: Rows, schema: Schema, columns: Sequence[pyarrow.Array]
) -> list[pyarrow.Array]:
    """The columns of a schema, replaced where an assignment has a value."""
    replaced = list(columns)
    places = {name: index for index, name in enumerate(schema.names)}
    for assignment in bound:
        replaced[places[assignment.field.name]] = _values(assignment, rows, schema)
    return replaced


def _values(assignment: Assignment, rows: Rows, schema: Schema) -> pyarrow.Array:
    """The values of a column in the table's form; `Invalid` for a null in a required column."""
    field = assignment.field
    form = arrow_schema(schema.select([field.name]))
    [values] = shaped([evaluate(assignment.value, rows)], [field.name], [field], form, AS_GIVEN, rows.count)
    return values
