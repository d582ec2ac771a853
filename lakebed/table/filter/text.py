"""Filters in words."""

from lakebed.table.filter.bind import TERMS as TERMS
from lakebed.table.filter.bind import bind
from lakebed.table.filter.filter import Filter
from lakebed.table.filter.parse import parse_condition
from lakebed.table.schema.schema import Schema


def parse_filter(text: str, schema: Schema) -> Filter:
    """The filter that a text means for a schema; `Invalid` for what it can't say, or for columns that are not there.

    Columns' names are compared without case. A timestamp without a zone is one in UTC where the column has instants.
    """
    return bind(parse_condition(text), schema)
