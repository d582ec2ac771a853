"""The records of dropped names."""

from collections.abc import Iterator
from typing import cast

from lakebed.catalog.inspect.dropped import dropped_below, dropped_refs
from lakebed.catalog.inspect.records.whole import Moments, Whole
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import container_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Dropped
from lakebed.metastore.kinds import is_table
from lakebed.records import records_pb2 as pb


def dropped_records(work: Work, moments: Moments) -> Iterator[Whole]:
    """The names that dropped objects had on the line, and dropped refs of the catalog."""
    for gone, parent in dropped_below(work, work.top, ()):
        yield _record(work, moments, gone, container_of(work, gone.id), spelled((*parent, gone.name)))
    for gone in dropped_refs(work):
        yield _record(work, moments, gone, work.ref.catalog, gone.name)


def _record(work: Work, moments: Moments, gone: Dropped, parent: str, name: str) -> Whole:
    dropped = moments.time(gone.dropped)
    if is_table(gone.type):
        record: pb.DroppedTableObjectName | pb.DroppedObjectName = pb.DroppedTableObjectName(
            catalog_id=work.ref.line.id,
            database_id=parent,
            create_time=moments.time(gone.created),
        )
    else:
        record = pb.DroppedObjectName(parent_id=parent)
    record.type = cast(pb.ObjectType, gone.type)
    record.name, record.object_id, record.dropped_time = gone.name, gone.id, dropped
    record.drop_type = cast(pb.ObjectDropType, gone.drop_type)
    return Whole(record, name, gone.id, gone.dropped)
