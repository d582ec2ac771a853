"""A table's checks, tested on rows while they are written."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.fit import fit
from lakebed.arrow.types import arrow_schema, file_schema, shown_value
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
        for batch in fit(data, schema):
            rows = _named(batch, schema, form)
            for check, condition in bound:
                _test(check, condition, rows)
            yield rows

    return pyarrow.RecordBatchReader.from_batches(form, batches())


def _bound(check: Check, schema: Schema) -> Expression:
    try:
        return parse_predicate(check.condition, rows_scope(schema))
    except Invalid as error:
        raise check.unreadable(error) from error


def _named(batch: pyarrow.RecordBatch, schema: Schema, form: pyarrow.Schema) -> pyarrow.RecordBatch:
    """Rows in the form of files, under the table's names."""
    table = pyarrow.Table.from_batches([batch], file_schema(schema)).rename_columns(schema.names).cast(form)
    return table.combine_chunks().to_batches()[0] if table.num_rows else batch.cast(form)


def _test(check: Check, condition: Expression, rows: pyarrow.RecordBatch) -> None:
    holds = evaluate(condition, Rows({ROWS: rows}, rows.num_rows)).fill_null(True)
    if compute.all(holds, min_count=0).as_py():
        return
    broken = rows.filter(compute.invert(holds))
    example = ", ".join(f"{name} = {shown_value(broken[name][0])}" for name in broken.schema.names)
    raise check.broken(f"at least {broken.num_rows} rows", example[:SHOWN_BYTES])
