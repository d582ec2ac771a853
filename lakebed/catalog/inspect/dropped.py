"""What was dropped and can be undropped: when, by whom, and the id by which to name it; the system table of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from lakebed.catalog.data.streams import discarded_streams
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns
from lakebed.catalog.objects.undrop import not_purged
from lakebed.catalog.objects.walk import BATCH, Named, objects_of_kind
from lakebed.catalog.refs.refs import root_scope
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.tables.editions import holders, load_editions
from lakebed.catalog.transaction.commits import commit_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Dropped
from lakebed.metastore.kinds import part_name, type_name
from lakebed.records import records_pb2 as pb
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class DroppedObject:
    """An object that was dropped. `undrop_table(name, id)`, or the call of its type, brings it back.

    An edition, stream or partition comes back by a call of its table. `catalog` is the name of the catalog that it was
    in; empty for a catalog.
    """

    type: str
    name: str
    id: str
    catalog: str
    version: Version
    time: datetime
    author: str
    message: str

    def __str__(self) -> str:
        where = f" of {self.catalog}" if self.catalog else ""
        by = f" by {self.author}" if self.author else ""
        return f"{self.type} {self.name}{where}, dropped at {self.time:%Y-%m-%d %H:%M:%S} UTC{by}, id {self.id}"


def dropped_objects(work: Work, catalog: str) -> list[DroppedObject]:
    """The dropped objects of a line, those below its tables too, and refs of its catalog; the last dropped first."""
    below = [*dropped_below(work, work.top, ()), *dropped_levels(work)]
    own = [_described(work, gone, parent, catalog) for gone, parent in below if not_purged([gone])]
    refs = Work(work.context, type(work.ref)(work.ref.catalog, work.ref.refs), work.base)
    return _last_first([*own, *(_described(refs, gone, (), catalog) for gone in not_purged(list(dropped_refs(work))))])


def dropped_catalogs(context: Context) -> list[DroppedObject]:
    """The dropped catalogs of the project, the last dropped first."""
    work = root_scope(context).read()
    return _last_first([_described(work, gone, (), "") for gone in not_purged(list(work.dropped(context.project)))])


def _described(work: Work, gone: Dropped, parent: tuple[str, ...], catalog: str) -> DroppedObject:
    [stored] = work.reader.log(object_id=gone.id, limit=1).items
    commit = commit_of(stored)
    name = spelled((*parent, part_name(gone.type, gone.name)))
    return DroppedObject(
        type_name(gone.type), name, gone.id, catalog, gone.dropped, commit.time, commit.author, commit.message
    )


def _last_first(found: list[DroppedObject]) -> list[DroppedObject]:
    return sorted(found, key=lambda gone: gone.version, reverse=True)


def dropped_below(work: Work, parent: str, parts: tuple[str, ...]) -> Iterator[tuple[Dropped, tuple[str, ...]]]:
    """Objects dropped from a namespace, and from the namespaces in it, whether these are alive or dropped."""
    dropped = list(work.dropped(parent))
    yield from ((gone, parts) for gone in dropped)
    alive = ((child.id, child.name) for child in work.children(parent) if child.type == pb.NAMESPACE)
    for namespace, name in [*alive, *((gone.id, gone.name) for gone in dropped if gone.type == pb.NAMESPACE)]:
        yield from dropped_below(work, namespace, (*parts, name))


def dropped_levels(work: Work) -> Iterator[tuple[Dropped, tuple[str, ...]]]:
    """Editions, streams and partitions that were dropped from tables that are there.

    What was dropped with its table or edition comes back with that. A few round trips for all tables that never had
    any, and some for each of the others.
    """
    tables = objects_of_kind(work, pb.TABLE)
    while batch := list(islice(tables, BATCH)):
        named = work.parents_of_names([table.id for table in batch])
        load_editions(work, [table.id for table in batch if table.id in named])
        for table in batch:
            if table.id in named:
                yield from _dropped_from(work, table)


def _dropped_from(work: Work, table: Named) -> Iterator[tuple[Dropped, tuple[str, ...]]]:
    yield from ((gone, table.parts) for gone in work.dropped(table.id) if gone.type == pb.EDITION)
    found = list(holders(work, table.id))
    parents = {str(holder) for _, holder in found}
    named = work.parents_of_names(sorted(parents))
    for _, holder in found:
        if str(holder) in named:
            # The first edition's are in the table: its name does not say which edition it is of, as others' does.
            parts = table.parts if str(holder) == table.id else name_of(work, holder)
            discarded = {stream.id for stream in discarded_streams(work, holder)}
            for gone in work.dropped(str(holder)):
                if gone.type == pb.PARTITION or gone.id in discarded:
                    yield gone, parts


def dropped_refs(work: Work) -> Iterator[Dropped]:
    """The dropped refs of the catalog, which a share does not show."""
    if isinstance(work.reader, GrantedReader):
        return iter(())
    refs = Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base)
    return refs.dropped(refs.top)


def _dropped_rows(work: Work, keep: Keep) -> Iterator[Row]:
    below = [*dropped_below(work, work.top, ()), *dropped_levels(work)]
    dropped = [*below, *((ref, ()) for ref in dropped_refs(work))]
    versions = [version for gone, _ in dropped for version in (gone.created, gone.dropped)]
    times = iter(work.context.metastore.times(versions))
    for gone, parent in dropped:
        yield (
            type_name(gone.type),
            part_name(gone.type, gone.name),
            gone.id,
            spelled(parent),
            int(gone.created),
            next(times),
            int(gone.dropped),
            next(times),
            pb.ObjectDropType.Name(gone.drop_type).lower(),
        )


DROPPED = SystemTable(
    "__dropped",
    "One row for each object that was dropped from what is there, and for each dropped ref of the catalog.",
    columns(
        ("kind", "string", "namespace, table, view, edition, stream, partition, branch, tag or share"),
        ("name", "string", "the last part of its name"),
        ("id", "string", "its id, which never changes"),
        ("parent", "string", "the namespace, table or edition that contained it; empty at the top"),
        ("created_version", VERSION, "the commit that created it"),
        ("created_time", "timestamptz", "the time of that commit"),
        ("dropped_version", VERSION, "the commit that dropped it"),
        ("dropped_time", "timestamptz", "the time of that commit"),
        ("drop_type", "string", "marked: it can be undropped; purged: it can't be"),
    ),
    _dropped_rows,
)
