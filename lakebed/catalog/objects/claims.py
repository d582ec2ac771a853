"""Ids of editions, streams and partitions, which callers may give: each belongs to one object, on all lines.

    (object, "claimed", 1) -> the id of the line on which it was created, a body

A merge takes two objects of one id for the same object, and what is staged keeps its rows under its id. So an id that
another line has used is refused, too.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.transaction.bodies import SCHEMA
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists
from lakebed.records.layout import Attribute

_CLAIMED: Final = "claimed"


def claimed_id(work: Work, given: str | UUID | None, name: str, taken: Collection[str] = ()) -> str:
    """The id that a caller gives, or a new one, for an object that this work creates.

    `AlreadyExists` if an object of any line has it, or the table's own edition, stream or partition: `taken`.
    """
    object_id = work.new_id(name) if given is None else check_id(given)
    if given is not None and (object_id in taken or _is_used(work, object_id)):
        raise AlreadyExists("an object has this id", subject=object_id, advice="Give another id, or none.")
    work.put_body(object_id, _CLAIMED, 1, work.ref.line.id.encode())
    return object_id


def _is_used(work: Work, object_id: str) -> bool:
    """Whether an object has the id: of the line, or of any line if it was claimed or is a table."""
    if work.life(object_id) is not None or object_id in work.deltas:
        return True
    bodies = work.context.metastore.bodies([(object_id, _CLAIMED, 1), (object_id, SCHEMA, 1)])
    data = work.reader.attributes([(object_id, Attribute.DATA)])
    return [*bodies, *data] != [None, None, None]
