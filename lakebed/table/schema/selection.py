"""Choosing columns of a table to be read: its own, and those that every table has."""

from collections.abc import Iterable, Sequence

from lakebed.table.schema.metadata_columns import METADATA_COLUMNS
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field


def selected(schema: Schema, columns: Iterable[str], added: Sequence[Field] = METADATA_COLUMNS) -> Schema:
    """The schema's columns of these names, or the added ones; its own are found first."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return schema.select(columns)  # which says what is wrong
    names = list(columns)
    own = {folded_column(one) for one in schema.names}
    others = [one for one in added if one.name not in own and one.name in names]
    return Schema([*schema.fields, *others], schema.id).select(names)
