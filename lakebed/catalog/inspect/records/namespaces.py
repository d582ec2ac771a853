"""The records of namespaces: one of a life and one of properties are the document's single record."""

from collections.abc import Iterator
from functools import partial
from typing import cast

from lakebed.catalog.inspect.records.whole import Moments, Whole, newest_at
from lakebed.catalog.objects.namespaces import location_of, shows_location
from lakebed.catalog.objects.properties import COMMENT, fill_properties, read_properties
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.refs.catalogs import catalog_life
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


def namespace_records(work: Work, moments: Moments, named: Named, is_alive: bool) -> Iterator[Whole]:
    """A namespace's name and record, if it is alive, and its history."""
    moments.commits(named.id)
    history = partial(work.reader.history, named.id)
    lives, properties = (list(every(partial(history, one))) for one in (Attribute.LIFE, Attribute.PROPERTIES))
    versions = sorted({state.version for state in (*lives, *properties)})
    if is_alive:
        whole = _record(work, moments, named.id, lives, properties, work.base)
        name = pb.ObjectName(type=pb.NAMESPACE, parent_id=whole.container_id, name=whole.name, object_id=named.id)
        yield Whole(name, named.name, named.id, lives[0].version)
        yield Whole(whole, named.name, named.id, versions[-1])
    for version in versions:
        then = _record(work, moments, named.id, lives, properties, version)
        record = pb.DatabaseHistory.FromString(then.SerializeToString())
        record.event_id, record.version = moments.event(version), bytes(version)
        yield Whole(record, named.name, named.id, version)


def _record(
    work: Work, moments: Moments, namespace: str, lives: list[State], properties: list[State], version: Version
) -> pb.DatabaseRecord:
    record = pb.DatabaseRecord()
    life = newest_at(lives, version)
    if life is not None:
        record.MergeFrom(cast(pb.DatabaseRecord, life.record))
    described = newest_at(properties, version)
    if described is not None:
        own = cast(pb.DatabaseRecord, described.record)
        record.MergeFrom(own)
        known = read_properties(own)
        fill_properties(record, known)
        record.description = known.get(COMMENT, "")
    record.project_id = work.context.project
    record.catalog_name = catalog_life(work.context, work.ref.catalog, version).name
    record.create_time = moments.text(record.create_version)
    then = Work(work.context, work.ref, version)
    if shows_location(work, namespace):
        record.location = work.context.files.location(location_of(then, namespace))
    return record
