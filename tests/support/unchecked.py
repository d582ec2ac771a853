"""Properties as an earlier Lakebed set them, which did not look at their values."""

from lakebed import Table
from lakebed.catalog.objects.properties import set_properties
from lakebed.catalog.transaction.commits import Request


def set_unchecked(table: Table, properties: dict[str, str]) -> None:
    """Set properties of a table, whatever they say."""
    table._scope.change(lambda work: set_properties(work, table.id, properties), Request("set_properties"))
