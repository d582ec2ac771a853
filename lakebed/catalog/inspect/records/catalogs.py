"""The records of a catalog and its refs: rows of life, ref and properties are the document's single record."""

from collections.abc import Iterator
from functools import partial
from typing import cast

from lakebed.catalog.inspect.records.whole import Moments, Whole, newest_at
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.work import Work
from lakebed.errors import NotFound
from lakebed.metastore import ROOT, State
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


def catalog_records(work: Work, moments: Moments) -> Iterator[Whole]:
    """The catalog itself, and all its refs, dropped ones too."""
    root = Work(work.context, Ref(ROOT.top, ROOT), work.base)
    refs = Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base)
    yield from _records(root, work, moments, work.ref.catalog, is_alive=True)
    for child in refs.children(refs.top):
        yield from _records(refs, work, moments, child.id, is_alive=True)
    for gone in refs.dropped(refs.top):
        if gone.drop_type != pb.PURGED:
            yield from _records(refs, work, moments, gone.id, is_alive=False)


def _records(place: Work, work: Work, moments: Moments, object_id: str, *, is_alive: bool) -> Iterator[Whole]:
    moments.commits(object_id, place)
    history = partial(place.reader.history, object_id)
    lives, refs = (list(every(partial(history, one))) for one in (Attribute.LIFE, Attribute.REF))
    kind = cast(pb.CatalogRecord, lives[0].record).type
    properties = _properties(work, object_id) if kind in (pb.CATALOG, pb.BRANCH) else []
    moments.commits(work.ref.catalog, work)
    versions = sorted({state.version for state in (*lives, *refs, *properties)})
    whole = _record(work, moments, lives, refs, properties, versions[-1])
    if is_alive:
        parent = cast(pb.CatalogRecord, lives[0].record).container_id
        name = pb.ObjectName(type=kind, parent_id=parent, name=whole.name, object_id=object_id)
        yield Whole(name, whole.name, object_id, lives[0].version)
        yield Whole(whole, whole.name, object_id, versions[-1])
    for version in versions:
        then = _record(work, moments, lives, refs, properties, version)
        record = pb.CatalogHistory.FromString(then.SerializeToString())
        record.event_id, record.version = moments.event(version), bytes(version)
        yield Whole(record, then.name, object_id, version)


def _properties(work: Work, line: str) -> list[State]:
    """What the properties of the catalog ever were on a line."""
    try:
        ref = open_line(work.context, work.ref.catalog, line)
    except NotFound:
        return []
    reader = work.context.metastore.reader(ref.line, work.base)
    return list(every(partial(reader.history, work.ref.catalog, Attribute.PROPERTIES)))


def _record(
    work: Work, moments: Moments, lives: list[State], refs: list[State], properties: list[State], version: Version
) -> pb.CatalogRecord:
    record = pb.CatalogRecord()
    life = newest_at(lives, version)
    for state in (life, newest_at(refs, version), newest_at(properties, version)):
        if state is not None:
            record.MergeFrom(cast(pb.CatalogRecord, state.record))
    if life is not None:
        own = cast(pb.CatalogRecord, life.record)
        record.catalog_id, record.create_time = own.catalog_id, moments.text(own.create_version)
        if own.type != pb.CATALOG:  # lakes from before have the kind of the parent here
            record.parent_type = own.type
    record.project_id = work.context.project
    return record
