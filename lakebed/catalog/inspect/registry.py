"""The registry of the system tables, by name."""

from lakebed.catalog.inspect.conflicts import CONFLICTS
from lakebed.catalog.inspect.consumers import CONSUMERS
from lakebed.catalog.inspect.dropped import DROPPED
from lakebed.catalog.inspect.levels import EDITIONS, STREAMS
from lakebed.catalog.inspect.manifests import MANIFESTS
from lakebed.catalog.inspect.objects import COMMITS, NAMESPACES, VIEWS
from lakebed.catalog.inspect.partitions import DELTAS, PARTITIONS
from lakebed.catalog.inspect.records.records import RECORDS
from lakebed.catalog.inspect.refs import BRANCHES, SHARES, TAGS
from lakebed.catalog.inspect.runs import RUN_TABLES
from lakebed.catalog.inspect.segments import BLOCKS, CHECKPOINTS, SEGMENTS
from lakebed.catalog.inspect.storage import STORAGE
from lakebed.catalog.inspect.system_table import SystemTable
from lakebed.catalog.inspect.tables import CHANGES, FILES, SCHEMAS, SNAPSHOTS, TABLES
from lakebed.errors import NotFound

SYSTEM_TABLES = {
    table.name: table
    for table in (
        TABLES,
        SNAPSHOTS,
        FILES,
        CHANGES,
        MANIFESTS,
        CHECKPOINTS,
        SEGMENTS,
        BLOCKS,
        SCHEMAS,
        STORAGE,
        PARTITIONS,
        DELTAS,
        EDITIONS,
        STREAMS,
        NAMESPACES,
        VIEWS,
        COMMITS,
        RECORDS,
        BRANCHES,
        TAGS,
        SHARES,
        DROPPED,
        CONFLICTS,
        CONSUMERS,
        *RUN_TABLES.values(),
    )
}


OF_ONE_TABLE = {
    name.removeprefix("__"): table
    for name, table in SYSTEM_TABLES.items()
    if "table_uuid" in table.schema.names and table is not TABLES
}
"""System tables with rows of each table: the files of `sales.orders` are `sales.orders.files` in a query."""


def is_system_table(name: str) -> bool:
    """Whether a system table has this name, regardless of case."""
    return name.casefold() in SYSTEM_TABLES


def find_system_table(name: str) -> SystemTable:
    """The system table with this name, regardless of case; `NotFound` lists all names."""
    found = SYSTEM_TABLES.get(name.casefold()) if isinstance(name, str) else None
    if found is None:
        expected = f"one of {', '.join(SYSTEM_TABLES)}"
        raise NotFound("there is no system table with this name", subject=repr(name), expected=expected)
    return found
