"""Files in a lake's folder that no record refers to."""

from collections.abc import Container, Iterator

from lakebed.catalog.transaction.context import Context

_OWN = ("catalog.db", "backup.json", "switched-")
"""What the names of the lake's own files begin with; `switched-` are those of the command line."""


def orphans(context: Context, known: Container[str]) -> Iterator[str]:
    """The paths of files that are not `known`: leftovers of killed writers, exports, and what others put there.

    A file that is being written now is one too, until its commit. Files of checkpoints in progress are not.
    """
    begun = {path for one in context.metastore.unfinished_checkpoints(0) for path in one.paths}
    for info in context.files.list():
        if info.path not in known and info.path not in begun and not info.path.startswith(_OWN):
            yield info.path
