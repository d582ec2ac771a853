"""The system table of the records of source document 002."""

import json
from collections.abc import Iterator

from lakebed.catalog.inspect.dropped import dropped_below
from lakebed.catalog.inspect.objects import line_commits
from lakebed.catalog.inspect.records.catalogs import catalog_records
from lakebed.catalog.inspect.records.dropped import dropped_records
from lakebed.catalog.inspect.records.namespaces import namespace_records
from lakebed.catalog.inspect.records.partitions import partition_records
from lakebed.catalog.inspect.records.tables import level_records, table_records
from lakebed.catalog.inspect.records.whole import Moments, Whole
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.inspect.tables import levels_named
from lakebed.catalog.objects.walk import Named, objects_of_kind
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb

_CATALOGS = ("CatalogRecord", "CatalogHistory", "ObjectName")
_NAMESPACES = ("ObjectName", "DatabaseRecord", "DatabaseHistory")
_DROPPED = ("DroppedObjectName", "DroppedTableObjectName")
_COMMITS = ("CatalogCommit",)
_KINDS = (pb.NAMESPACE, pb.TABLE, pb.VIEW)


def _record_rows(work: Work, keep: Keep) -> Iterator[Row]:
    moments = Moments(work)
    for whole in _records(work, moments, keep):
        if keep({"record": whole.type, "name": whole.name, "object_id": whole.object_id}):
            fields = json.dumps(whole.fields, ensure_ascii=False)
            yield whole.type, whole.name, whole.object_id, int(whole.version), moments.time(whole.version), fields


def _records(work: Work, moments: Moments, keep: Keep) -> Iterator[Whole]:
    """All records, without those of objects and kinds that are not wanted."""
    is_shared = isinstance(work.reader, GrantedReader)
    if _wanted(keep, _CATALOGS) and not is_shared:
        yield from catalog_records(work, moments)
    for named, kind, is_alive in _objects(work):
        if not keep({"name": named.name, "object_id": named.id}):
            continue
        if kind == pb.NAMESPACE and not work.reader.shows_all_of(named.id):
            continue  # it only leads to what a share shows, which has no record of it
        if kind == pb.NAMESPACE and _wanted(keep, _NAMESPACES):
            yield from namespace_records(work, moments, named, is_alive)
        elif kind != pb.NAMESPACE:
            yield from table_records(work, moments, named, is_alive)
            yield from partition_records(work, moments, named, is_alive and kind == pb.TABLE)
    for level in levels_named(work, keep.named("name")):
        yield from level_records(work, moments, level)
    if _wanted(keep, _DROPPED):
        yield from dropped_records(work, moments)
    if _wanted(keep, _COMMITS):
        yield from _commits(work)


def _objects(work: Work) -> Iterator[tuple[Named, int, bool]]:
    """The namespaces, tables and views of the line, each with whether it is alive; not those that were purged."""
    for kind in _KINDS:
        yield from ((named, kind, True) for named in objects_of_kind(work, kind))
    for gone, _ in dropped_below(work, work.top, ()):
        if gone.drop_type != pb.PURGED and gone.type in _KINDS:
            yield Named(gone.id, work.last_parts(gone.id)), gone.type, False


def _commits(work: Work) -> Iterator[Whole]:
    for _, commit in line_commits(work):
        record = pb.CatalogCommit(
            event_id=commit.id,
            project_id=work.context.project,
            catalog_id=commit.line,
            commit_time=microseconds(commit.time),
            operation=commit.operations[0].type if commit.operations else "",
            detail=commit.message,
            version=bytes(commit.version),
        )
        yield Whole(record, "", commit.line, commit.version)


def _wanted(keep: Keep, types: tuple[str, ...]) -> bool:
    return any(keep({"record": one}) for one in types)


RECORDS = SystemTable(
    "__records",
    "The records of source document 002 that the line shows: current ones, histories and commits, with all fields.",
    columns(
        ("record", "string", "its type, as the document calls it"),
        (
            "name",
            "string",
            "the full name of its object, or of its table; empty for a catalog's commit",
        ),
        ("object_id", "string", "the object's id; of a catalog's commit, its line"),
        ("version", VERSION, "the commit that wrote it"),
        ("time", "timestamptz", "the time of that commit"),
        ("fields", "string", "JSON: the document's fields that are set; times in microseconds since 1970"),
    ),
    _record_rows,
)
