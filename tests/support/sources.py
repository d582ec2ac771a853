"""What an engine reads from, with no catalog above it."""

from collections.abc import Mapping

from lakebed.catalog.data.row_sources import Sources
from lakebed.files import Files
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore

TABLE = "00000000-0000-4000-8000-000000000000"


def sources_of(files: Files, inline: Mapping[int, bytes] | None = None) -> Sources:
    """Rows in files, and inline ones by id as if a transaction had added them; the metastore has none."""
    return Sources(files, TABLE, RecordsMetastore(MemoryStore()), inline or {})
