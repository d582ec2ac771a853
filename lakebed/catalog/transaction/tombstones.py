"""Tombstones mark an object as purged, for all lines of its catalog and for good. Each is a body.

(object, "purged", 1) -> the id of the line on which it was purged
"""

from collections.abc import Sequence

from lakebed.catalog.transaction.commits import Commit, commit_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.errors import Expired
from lakebed.metastore import TOMBSTONE, Line, Metastore


def key(object_id: str) -> tuple[str, str, int]:
    """Where an object's tombstone is among the bodies."""
    return object_id, TOMBSTONE, 1


def purged_ids(context: Context, objects: Sequence[str]) -> set[str]:
    """The objects among these that were purged, on any line, in one round trip."""
    lines = context.metastore.bodies([key(object_id) for object_id in objects])
    return {object_id for object_id, line in zip(objects, lines, strict=True) if line is not None}


def is_purged(metastore: Metastore, object_id: str) -> bool:
    """Whether an object was purged, on any line."""
    return metastore.bodies([key(object_id)]) != [None]


def find_purge(context: Context, ref: Ref, object_id: str) -> Commit | None:
    """The commit that purged an object, on any line of its catalog; None if it was not purged."""
    [line] = context.metastore.bodies([key(object_id)])
    if line is None:
        return None
    newest = context.metastore.reader(Line(line.decode(), ref.line.top)).log(object_id=object_id, limit=1)
    return commit_of(newest.items[0])  # nothing can have changed it since


def check_not_purged(context: Context, ref: Ref, object_id: str) -> None:
    """Refuse an object that was purged."""
    purge = find_purge(context, ref, object_id)
    if purge is not None:
        raise expired(purge, object_id)


def expired(purge: Commit, object_id: str) -> Expired:
    """The error for an object that was purged."""
    done = next((operation for operation in purge.operations if operation.object_id == object_id), None)
    return Expired(
        "it was purged, with all its past",
        subject=object_id if done is None or not done.name else f"{done.name} ({object_id})",
        found=f"purged at version {purge.version}",
        advice="It can't be brought back: restore it from a copy, or create it again.",
    )
