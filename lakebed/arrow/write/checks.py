"""A table's checks, tested on rows while they are written."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.fit import fit_named
from lakebed.arrow.types import arrow_schema, shown_value
from lakebed.catalog.tables.properties import Check
from lakebed.errors import Invalid
from lakebed.table.expression.expression import Expression
from lakebed.table.expression.parse import parse_predicate
from lakebed.table.expression.scope import ROWS, rows_scope
from lakebed.table.schema.schema import Schema

SHOWN_BYTES = 200


def checked(checks: Sequence[Check], schema: Schema, data: Any) -> pyarrow.RecordBatchReader:
    """The rows with the table's columns; `Invalid` names a check that can't be parsed, or that a row breaks.

    Rows stream through: nothing after the batch with the first bad row is tested.
    """
    bound = [(check, _bound(check, schema)) for check in checks]
    form = arrow_schema(schema)

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for rows in fit_named(data, schema):
            for check, condition in bound:
                _test(check, condition, rows)
            yield rows

    return pyarrow.RecordBatchReader.from_batches(form, batches())


def broken_by(checks: Sequence[Check], schema: Schema) -> Callable[[pyarrow.RecordBatch], Iterator[tuple[Check, int]]]:
    """A function of rows that answers which rows break which check."""
    bound = [(check, _bound(check, schema)) for check in checks]

    def broken(rows: pyarrow.RecordBatch) -> Iterator[tuple[Check, int]]:
        for check, condition in bound:
            holds = evaluate(condition, Rows({ROWS: rows}, rows.num_rows)).fill_null(True)
            yield from ((check, place) for place, held in enumerate(holds.to_pylist()) if not held)

    return broken


def _bound(check: Check, schema: Schema) -> Expression:
    try:
        return parse_predicate(check.condition, rows_scope(schema))
    except Invalid as error:
        raise check.unreadable(error) from error


def _test(check: Check, condition: Expression, rows: pyarrow.RecordBatch) -> None:
    holds = evaluate(condition, Rows({ROWS: rows}, rows.num_rows)).fill_null(True)
    if compute.all(holds, min_count=0).as_py():
        return
    broken = rows.filter(compute.invert(holds))
    example = ", ".join(f"{name} = {shown_value(broken[name][0])}" for name in broken.schema.names)
    raise check.broken(f"at least {broken.num_rows} rows", example[:SHOWN_BYTES])
