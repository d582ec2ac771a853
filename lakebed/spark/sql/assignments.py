"""What the columns of a table are set to: assignments to fields of structs as values of whole columns, and defaults."""

from collections.abc import Mapping

from lakebed.errors import Invalid
from lakebed.spark.sql.statements import Assigned, Default, Value
from lakebed.spark.sql.tokens import quoted
from lakebed.table.expression.lit import Lit
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Struct

Values = dict[str, str | Lit]
"""SQL or constants by column, as `Table.update` takes them."""

_Inner = Mapping[tuple[str, ...], Value]
"""Values by paths inside of a column."""


def column_values(assigned: Assigned, schema: Schema, row: str = "") -> Values:
    """The values of whole columns; `row` is the name of the rows that fields which are not set are taken from.

    A struct that is null gets the fields that are set, and nulls for the others.
    """
    inner: dict[str, dict[tuple[str, ...], Value]] = {}
    for path, value in assigned:
        inner.setdefault(schema.field(path[0]).name, {})[path[1:]] = value
    return {name: _column_value(schema.field(name), values, row) for name, values in inner.items()}


def _column_value(field: Field, values: _Inner, row: str) -> str | Lit:
    if () not in values:
        return _struct(field, values, f"{row}.{quoted(field.name)}" if row else quoted(field.name), field.name)
    value = values[()]
    return Lit(field.write_default) if isinstance(value, Default) else value


def _struct(field: Field, values: _Inner, own: str, path: str) -> str:
    """The struct with some fields set, as SQL."""
    if not isinstance(field.type, Struct):
        problem, advice = "only fields of structs can be set", f"Set {path} as a whole."
        raise Invalid(problem, subject=path, expected="a struct", found=str(field.type), advice=advice)
    known = {folded_column(part.name) for part in field.type.fields}
    for way in values:
        if folded_column(way[0]) not in known:
            names = ", ".join(part.name for part in field.type.fields)
            raise Invalid("there is no such field", subject=f"{path}.{way[0]}", expected=f"one of {names}")
    parts = [f"{_text(part.name)}, {_part(part, values, own, path)}" for part in field.type.fields]
    return f"named_struct({', '.join(parts)})"


def _part(field: Field, values: _Inner, own: str, path: str) -> str:
    inner = {way[1:]: value for way, value in values.items() if folded_column(way[0]) == folded_column(field.name)}
    before, here = f"{own}.{quoted(field.name)}", f"{path}.{field.name}"
    if not inner:
        return before
    if () not in inner:
        return _struct(field, inner, before, here)
    value = inner[()]
    if isinstance(value, Default):
        raise Invalid("a field of a struct has no default", subject=here, expected="a value")
    return f"IF(FALSE, {before}, NULL)" if value.strip().upper() == "NULL" else f"({value})"  # of the field's type


def _text(name: str) -> str:
    """A text as every session reads it."""
    return f"CAST(X'{name.encode().hex()}' AS STRING)" if "'" in name or "\\" in name else f"'{name}'"
