"""What was dropped and can be undropped: when, by whom, and the id by which to name it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from lakebed.catalog.inspect.objects import dropped_below, dropped_refs
from lakebed.catalog.objects.undrop import not_purged
from lakebed.catalog.refs.refs import root_scope
from lakebed.catalog.transaction.commits import commit_of
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Dropped
from lakebed.metastore.kinds import type_name
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class DroppedObject:
    """An object that was dropped. `undrop_table(name, id)`, or the call of its type, brings it back.

    `catalog` is the name of the catalog that it was in; empty for a catalog.
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
    """The dropped namespaces, tables and views of a line, and refs of its catalog; the last dropped first."""
    below = ((gone, parent) for gone, parent in dropped_below(work, work.top, ()))
    own = [_described(work, gone, parent, catalog) for gone, parent in _kept(below)]
    refs = Work(work.context, type(work.ref)(work.ref.catalog, work.ref.refs), work.base)
    return _last_first([*own, *(_described(refs, gone, "", catalog) for gone in not_purged(list(dropped_refs(work))))])


def dropped_catalogs(context: Context) -> list[DroppedObject]:
    """The dropped catalogs of the project, the last dropped first."""
    work = root_scope(context).read()
    return _last_first(_described(work, gone, "", "") for gone in not_purged(list(work.dropped(context.project))))


def _kept(rows: Iterable[tuple[Dropped, str]]) -> Iterator[tuple[Dropped, str]]:
    return ((gone, parent) for gone, parent in rows if not_purged([gone]))


def _described(work: Work, gone: Dropped, parent: str, catalog: str) -> DroppedObject:
    [stored] = work.reader.log(object_id=gone.id, limit=1).items
    commit = commit_of(stored)
    name = f"{parent}.{spelled((gone.name,))}" if parent else spelled((gone.name,))
    return DroppedObject(
        type_name(gone.type), name, gone.id, catalog, gone.dropped, commit.time, commit.author, commit.message
    )


def _last_first(found: Iterable[DroppedObject]) -> list[DroppedObject]:
    return sorted(found, key=lambda gone: gone.version, reverse=True)
