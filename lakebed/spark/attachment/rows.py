"""The rows of a DataFrame as rows of a table: matched by name or by position, values cast as an INSERT casts them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakebed.errors import Invalid
from lakebed.spark.fit import quoted
from lakebed.spark.rows.assignments import stored_value
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, List, Map, Struct


def rows_by_name(frame: DataFrame, schema: Schema, table: str) -> DataFrame:
    """The rows with the table's types. Columns that the table does not have stay, for the write to refuse or to add."""
    known = {folded_column(field.name): field for field in schema.fields}
    return _stored(frame, [known.get(folded_column(name)) for name in frame.columns], table)


def rows_by_position(frame: DataFrame, schema: Schema, table: str) -> DataFrame:
    """The rows with the table's names and types; `Invalid` unless there are as many columns."""
    if len(frame.columns) != len(schema.fields):
        raise Invalid(
            f"the DataFrame has {len(frame.columns)} columns, but the table {len(schema.fields)}",
            subject=table,
            expected=", ".join(schema.names),
            found=", ".join(frame.columns),
            advice="insertInto matches columns by position; saveAsTable and writeTo match them by name.",
        )
    return _stored(frame, list(schema.fields), table)


def _stored(frame: DataFrame, fields: Sequence[Field | None], table: str) -> DataFrame:
    """The rows, cast; structs, lists and maps are left to the write, which matches what is inside them by name."""
    numbered = frame.toDF(*(f"c{number}" for number in range(len(fields))))
    kinds = frame.schema.fields
    columns = []
    for number, (field, kind) in enumerate(zip(fields, kinds, strict=True)):
        own = F.col(quoted(f"c{number}"))
        what = f"column {kind.name!r}"
        plain = field is not None and not isinstance(field.type, Struct | List | Map)
        value = stored_value(own, kind.dataType, field, table, what) if field is not None and plain else own
        columns.append(value.alias(kind.name if field is None else field.name))
    return numbered.select(*columns)
