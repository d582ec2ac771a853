"""The records of a table's editions, streams and explicit partitions."""

from collections.abc import Iterator
from functools import partial
from typing import cast

from google.protobuf.message import Message

from lakebed.catalog.inspect.records.whole import Moments, Whole, newest_at
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.tables.storage import FORMATS
from lakebed.catalog.transaction.holders import unread_holder
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

_LEVELS = (pb.EDITION, pb.STREAM, pb.PARTITION)
_PARTS = (Attribute.LIFE, Attribute.PARTITION, Attribute.PROPERTIES)


def partition_records(work: Work, moments: Moments, table: Named, is_alive: bool) -> Iterator[Whole]:
    """What is in a table, at any depth: the record of each that is alive, and the history of each."""
    for object_id, lives in _below(work, table.id, is_alive):
        moments.commits(object_id)
        pasts = [list(every(partial(work.reader.history, object_id, attribute))) for attribute in _PARTS]
        versions = sorted({state.version for past in pasts for state in past})
        if lives:
            yield Whole(_record(work, table, object_id, pasts, work.base), table.name, object_id, versions[-1])
        for version in versions:
            then = _record(work, table, object_id, pasts, version)
            record = pb.TablePartitionHistory.FromString(then.SerializeToString())
            record.event_id, record.version = moments.event(version), bytes(version)
            yield Whole(record, table.name, object_id, version)


def _below(work: Work, container: str, is_alive: bool) -> Iterator[tuple[str, bool]]:
    held = [(child.id, child.type, is_alive) for child in work.children(container)]
    gone = [(row.id, row.type, False) for row in work.dropped(container) if row.drop_type != pb.PURGED]
    for object_id, kind, lives in (*held, *gone):
        if kind in _LEVELS:
            yield object_id, lives
            yield from _below(work, object_id, lives)


def _record(work: Work, table: Named, object_id: str, pasts: list[list[State]], version: Version) -> pb.TablePartition:
    record = pb.TablePartition()
    for state in (newest_at(past, version) for past in pasts):
        if state is not None:
            record.MergeFrom(_as_partition(state.record))
    for name, value in FORMATS.items():
        if not getattr(record, name):
            setattr(record, name, value)
    record.location = work.context.files.location(record.location or _folder(work, table))
    record.database_id = cast(LifeRecord, work.life(table.id)).container_id
    record.table_id, record.partition_id = table.id, object_id
    return record


def _folder(work: Work, table: Named) -> str:
    """Where files go that have no folder of their own."""
    stored = work.unread_attribute(str(unread_holder(work, table.id)), Attribute.STORAGE)
    return cast(pb.TableStorage, stored).location


def _as_partition(record: Message) -> pb.TablePartition:
    """An attribute's record as this type: the properties of an edition are a table's."""
    if isinstance(record, pb.TableProperties):
        return pb.TablePartition(properties=dict(record.properties))
    return cast(pb.TablePartition, record)
