"""The files that a table ever had: what comes to a location of a partition is new only if it is not one of them."""

from collections.abc import Iterator
from functools import partial

from lakebed.catalog.data.deltas import history, stored_manifest
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.work import Work
from lakebed.metastore.pages import every
from lakebed.store import Version


def paths_ever(work: Work, state: TableState) -> set[str]:
    """The paths of all files that the table has or had, on this line and on those that were merged into it.

    A merge brings the files that are live: what was compacted or replaced before it is known to its source alone.
    """
    deltas = {delta.version: delta for place in _places(work) for delta in history(place, state.partition)}
    return {file.path for delta in deltas.values() for file in stored_manifest(work.context, delta).data_files}


def _places(work: Work) -> Iterator[Work]:
    """The line, and each line that was merged into it, directly or by way of others, as of the last such merge."""
    seen: dict[str, Version] = {}
    left = [work]
    while left:
        place = left.pop()
        line = place.ref.line.id
        if line in seen and seen[line] >= place.base:
            continue
        seen[line] = place.base
        yield place
        left += _merged(place)


def _merged(work: Work) -> Iterator[Work]:
    """The sources of a line's merges, each as of the last one; merges are logged as changes of the catalog itself."""
    catalog = work.ref.catalog
    last: dict[str, Version] = {}
    for commit in every(partial(work.reader.log, object_id=catalog)):
        for source in commit.parents[1:]:
            last.setdefault(source.line, source.version)
    for line, version in last.items():
        yield Work(work.context, open_line(work.context, catalog, line), version)
