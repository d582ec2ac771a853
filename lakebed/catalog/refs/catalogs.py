"""Projects and catalogs, in which all namespaces are."""

from collections.abc import Iterator
from typing import cast

from lakebed.catalog.refs import refs
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import trunk
from lakebed.catalog.transaction.names import first_names
from lakebed.catalog.transaction.objects import Slot, find_in
from lakebed.catalog.transaction.scopes import Live
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Corrupt, Invalid, NotFound
from lakebed.metastore import ROOT, Change, Metastore, Operation, life, new_id
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, normal_name
from lakebed.store import Version

DEFAULT = "default"
_FIRST_PROJECT = 2  # the version of it: the first has the lake's own row


def open_project(metastore: Metastore, name: str, author: str) -> str:
    """The id of a project, which is created with a default catalog if it does not exist.

    `Corrupt` if there are versions and no project at all: an older catalog was put in its place.
    """
    name = normal_name(name)
    found = _resolve(metastore, ROOT.top, name)
    if found is not None:
        return found
    _check_begun(metastore)
    project, catalog = new_id(), new_id()
    change = Change(
        event_id=new_id(),
        line=ROOT,
        base=metastore.newest(),
        author=author,
        project=project,
        lives={
            project: _owned(life(pb.PROJECT, ROOT.top, name), author),
            catalog: _owned(life(pb.CATALOG, project, DEFAULT), author),
        },
        attributes={(catalog, Attribute.REF): _rules(Casing.FOLDED)},
        operations=(Operation("create", project, name), Operation("create", catalog, DEFAULT)),
    )
    try:
        metastore.commit(change)
    except AlreadyExists:  # another process connected for the first time too
        found = _resolve(metastore, ROOT.top, name)
        if found is None:
            raise
        return found
    return project


def _owned(record: LifeRecord, author: str) -> LifeRecord:
    """The life of a project or catalog with its owner: whoever creates it."""
    if author:
        cast(pb.CatalogRecord, record).user_id = author
    return record


def _check_begun(metastore: Metastore) -> None:
    """Refuse a lake that has many versions and no project: the second version has the first one, and projects stay."""
    newest = metastore.newest()
    if int(newest) > _FIRST_PROJECT and not metastore.reader(ROOT).children(ROOT.top, limit=1).items:
        raise Corrupt(
            "the catalog has versions, but no project: it is not whole",
            found=f"version {newest}",
            advice="Restore a backup. Beside an older catalog.db, remove the -wal and -shm of the newer one.",
        )


def find_project(metastore: Metastore, name: str, author: str = "") -> str:
    """The id of an existing project, or `NotFound`."""
    found = _resolve(metastore, ROOT.top, normal_name(name))
    if found is None:
        raise NotFound("there is no project of this name", subject=name, advice="Fix the name, or pass create=True.")
    return found


def create_catalog(context: Context, name: str, casing: Casing, request: Request) -> Ref:
    """Create an empty catalog; how it compares names is fixed from then on, for all its branches."""
    commit = refs.root_scope(context).change(lambda work: _create(work, name, casing), request)
    return trunk(context, commit.operations[0].object_id)


def _create(work: Work, name: str, casing: Casing) -> None:
    refs.create(work, pb.CATALOG, name, _rules(casing))


def find_catalog(context: Context, name: str) -> Ref:
    """The trunk of the catalog with this name, or `NotFound`."""
    return trunk(context, refs.find(refs.root_scope(context).read(), pb.CATALOG, name))


def catalogs(context: Context) -> list[Ref]:
    """The trunks of the project's catalogs, by their names."""
    return [trunk(context, child.id) for child in refs.listed(refs.root_scope(context).read(), pb.CATALOG)]


def every_catalog(context: Context) -> Iterator[str]:
    """The ids of all catalogs that the project ever had, dropped and purged ones too."""
    work = refs.root_scope(context).read()
    yield from (child.id for child in refs.listed(work, pb.CATALOG))
    yield from (gone.id for gone in work.dropped(context.project) if gone.type == pb.CATALOG)


def find_catalog_of(context: Context, project: str, name: str) -> Ref:
    """The trunk of a catalog of another project, by the names of both, or `NotFound`."""
    wanted = normal_name(name)
    found = _resolve(context.metastore, ROOT.top, normal_name(project))
    if found is None:
        raise NotFound("there is no project of this name", subject=project, advice="Fix the name.")
    slot = Slot(found, wanted, f"{project}/{name}")
    return trunk(context, find_in(refs.root_scope(context).read(), slot, pb.CATALOG))


def rename_catalog(context: Context, name: str, new_name: str, request: Request) -> Commit:
    """Give a catalog another name; its handles stay valid."""
    return refs.root_scope(context).change(lambda work: refs.rename(work, pb.CATALOG, name, new_name), request)


def drop_catalog(context: Context, name: str, request: Request) -> Commit:
    """Drop a catalog that is empty and has neither branches nor shares; `Invalid` names what it has."""

    def do(work: Work) -> None:
        _check_childless(context, refs.find(work, pb.CATALOG, name), name)
        refs.drop(work, pb.CATALOG, name)

    return refs.root_scope(context).change(do, request)


def drop_catalog_with_all(context: Context, name: str, request: Request) -> Commit:
    """Drop a catalog with all its branches, by one record however much it holds."""
    return refs.root_scope(context).change(lambda work: refs.drop(work, pb.CATALOG, name), request)


def undrop_catalog(context: Context, name: str, catalog: str | None, as_name: str | None, request: Request) -> Commit:
    """Bring a dropped catalog back with all that it held."""
    return refs.root_scope(context).change(lambda work: refs.undrop(work, pb.CATALOG, name, catalog, as_name), request)


def purge_catalog(context: Context, name: str, catalog: str | None, request: Request) -> Commit:
    """Erase a dropped catalog whose branches, tags and shares were purged. A second call continues where it stopped."""
    commit = refs.purge(refs.root_scope(context), pb.CATALOG, name, catalog, request)
    context.metastore.erase_line(commit.operations[0].object_id)
    return commit


def project_name(context: Context) -> str:
    """The project's name."""
    return refs.name_of(refs.root_scope(context).read(), context.project)


def catalog_life(context: Context, catalog: str, version: Version | None = None) -> pb.CatalogRecord:
    """The catalog's own record, now or at a version: its name, and the version that created it."""
    [state] = context.metastore.reader(ROOT, version).attributes([(catalog, Attribute.LIFE)])
    if state is None:
        raise NotFound("there is no such catalog", subject=catalog)
    return cast(pb.CatalogRecord, state.record)


def first_version(context: Context, catalog: str, newest: Version | None = None) -> Version:
    """The version that created the catalog: nothing of it exists before. A known `newest` saves a round trip."""
    return Version(catalog_life(context, catalog, newest).create_version)


def _check_childless(context: Context, catalog: str, name: str) -> None:
    # What is created concurrently is dropped with the catalog, and comes back with it.
    work = refs.ref_scope(context, trunk(context, catalog)).read()
    held = [*Live(context, trunk(context, catalog)).read().children(catalog), *work.children(catalog)]
    children = [f"{type_name(child.type)} {child.name}" for child in held if child.type != pb.TAG]
    if children:
        raise Invalid(
            "the catalog is not empty, or has branches or shares",
            subject=name,
            found=first_names(children),
            advice="Drop them first, or pass cascade=True.",
        )


def _rules(casing: Casing) -> pb.CatalogRecord:
    """How the catalog compares names, in a record that has room for later rules."""
    return pb.CatalogRecord(casing=casing)


def _resolve(metastore: Metastore, parent: str, name: str) -> str | None:
    return metastore.reader(ROOT).resolve([(parent, name)])[0]
