"""The system table of consumers: how far each has followed a table's changes."""

from collections.abc import Iterator

from lakebed.catalog.feed.consumers import positions
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import NAMESPACE, TABLE, UUID, tables_kept
from lakebed.catalog.objects.properties import properties_of
from lakebed.catalog.transaction.work import Work


def _rows(work: Work, keep: Keep) -> Iterator[Row]:
    known = properties_of(work, work.top)
    for batch in tables_kept(work, keep):
        found = [(table, name, version) for table in batch for name, version in positions(known, table.id).items()]
        times = work.context.metastore.times([version for _, _, version in found]) if found else []
        for (table, name, version), time in zip(found, times, strict=True):
            yield table.name, table.id, table.namespace, name, int(version), time


CONSUMERS = SystemTable(
    "__consumers",
    "Who follows a table's changes, and up to which version.",
    columns(
        TABLE,
        UUID,
        NAMESPACE,
        ("consumer", "string", "its name"),
        ("version", VERSION, "the version up to which it has seen the changes"),
        ("time", "timestamptz", "the time of that version"),
    ),
    _rows,
)
