"""What is said of a record that is not there although its object was: purged, or lost."""

from lakebed.catalog.transaction.tombstones import expired, find_purge
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, LakebedError


def missing(work: Work, object_id: str) -> LakebedError:
    """`Expired` if the object was purged since, on whatever line; else `Corrupt`."""
    purge = find_purge(work.home, work.ref, object_id)
    if purge is not None:
        return expired(purge, object_id)
    return Corrupt("an object has no record of what it is", subject=object_id, advice="Run the records' check.")
