"""The system tables, by name."""

from lakebed.catalog.inspect_blocks import BLOCKS, CHECKPOINTS, SEGMENTS
from lakebed.catalog.inspect_conflicts import CONFLICTS
from lakebed.catalog.inspect_objects import COMMITS, DROPPED, NAMESPACES, VIEWS
from lakebed.catalog.inspect_refs import BRANCHES, SHARES, TAGS
from lakebed.catalog.inspect_tables import CHANGES, FILES, SCHEMAS, SNAPSHOTS, TABLES
from lakebed.catalog.system_table import SystemTable
from lakebed.errors import NotFound

SYSTEM_TABLES = {
    one.name: one
    for one in (
        TABLES,
        SNAPSHOTS,
        FILES,
        CHANGES,
        CHECKPOINTS,
        SEGMENTS,
        BLOCKS,
        SCHEMAS,
        NAMESPACES,
        VIEWS,
        COMMITS,
        BRANCHES,
        TAGS,
        SHARES,
        DROPPED,
        CONFLICTS,
    )
}


def find_system_table(name: str) -> SystemTable:
    """The system table of this name, compared without case; `NotFound` has the names of all."""
    found = SYSTEM_TABLES.get(name.casefold()) if isinstance(name, str) else None
    if found is None:
        expected = f"one of {', '.join(SYSTEM_TABLES)}"
        raise NotFound("there is no system table of this name", subject=repr(name), expected=expected)
    return found
