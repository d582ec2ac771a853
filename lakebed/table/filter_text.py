"""Filters in words."""

from lakebed.table.condition_text import parse_condition
from lakebed.table.filter import Filter
from lakebed.table.filter_binding import TERMS as TERMS
from lakebed.table.filter_binding import bind
from lakebed.table.schema import Schema


def parse_filter(text: str, schema: Schema) -> Filter:
    """The filter that a text means for a schema; `Invalid` for what it can't say, or for columns that are not there.

    Columns' names are compared without case. A timestamp without a zone is one in UTC where the column has instants.
    """
    return bind(parse_condition(text), schema)
