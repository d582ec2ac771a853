"""Projects and catalogs: the roots that namespaces hang from."""

from typing import cast

from lakebed.catalog.commits import Request, check_event_id
from lakebed.catalog.home import Home, Ref
from lakebed.errors import AlreadyExists, NotFound
from lakebed.metastore import ROOT, Change, Line, Metastore, Operation, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, normal_name
from lakebed.store import Version

DEFAULT = "default"


def open_project(metastore: Metastore, name: str, author: str) -> str:
    """The id of a project, which is made with a default catalog if it is not there."""
    name = normal_name(name)
    found = _resolve(metastore, ROOT.top, name)
    if found is not None:
        return found
    project, catalog = new_id(), new_id()
    change = Change(
        event_id=new_id(),
        line=ROOT,
        base=metastore.newest(),
        author=author,
        project=project,
        lives={project: life(pb.PROJECT, ROOT.top, name), catalog: life(pb.CATALOG, project, DEFAULT)},
        attributes={(catalog, Attribute.REF): _rules()},
        operations=(Operation("create", project, name), Operation("create", catalog, DEFAULT)),
    )
    try:
        metastore.commit(change)
    except AlreadyExists:  # somebody else connected for the first time too
        return _present(_resolve(metastore, ROOT.top, name), "project", name)
    return project


def create_catalog(home: Home, name: str, request: Request) -> Ref:
    """Make a catalog with nothing in it."""
    name = normal_name(name)
    event = new_id() if request.event_id is None else check_event_id(request.event_id)
    catalog = new_id()
    commit = home.metastore.commit(
        Change(
            event_id=event,
            line=ROOT,
            base=home.metastore.newest(),
            message=request.message or "",
            author=home.author if request.author is None else request.author,
            project=home.project,
            lives={catalog: life(pb.CATALOG, home.project, name)},
            attributes={(catalog, Attribute.REF): _rules()},
            operations=(Operation("create", catalog, name),),
            fingerprint=request.fingerprint,
        )
    )
    return trunk(home, commit.operations[0].object_id)


def find_catalog(home: Home, name: str) -> Ref:
    """The trunk of the catalog with this name, or `NotFound`."""
    return trunk(home, _present(_resolve(home.metastore, home.project, normal_name(name)), "catalog", name))


def catalog_names(home: Home) -> list[str]:
    """The names of the project's catalogs."""
    reader, names, token = home.metastore.reader(ROOT), list[str](), None
    while True:
        page = reader.children(home.project, token=token)
        names += [child.name for child in page.items]
        token = page.token
        if token is None:
            return names


def trunk(home: Home, catalog: str) -> Ref:
    """The first line of a catalog."""
    [rules] = home.metastore.reader(ROOT).attributes([(catalog, Attribute.REF)])
    casing = Casing.FOLDED if rules is None else Casing(cast(pb.CatalogRecord, rules.record).casing)
    return Ref(catalog, Line(catalog, catalog, casing=casing))


def catalog_life(home: Home, catalog: str) -> pb.CatalogRecord:
    """The catalog's own record: its name, and the version that it began with."""
    [state] = home.metastore.reader(ROOT).attributes([(catalog, Attribute.LIFE)])
    if state is None:
        raise NotFound("there is no such catalog", subject=catalog)
    return cast(pb.CatalogRecord, state.record)


def first_version(home: Home, catalog: str) -> Version:
    """The version that made the catalog: nothing of it can be seen before."""
    return Version(catalog_life(home, catalog).create_version)


def _rules() -> pb.CatalogRecord:
    """How the catalog compares names, kept so that a later rule can stand beside it."""
    return pb.CatalogRecord(casing=Casing.FOLDED)


def _resolve(metastore: Metastore, parent: str, name: str) -> str | None:
    return metastore.reader(ROOT).resolve([(parent, name)])[0]


def _present(found: str | None, what: str, name: str) -> str:
    if found is None:
        raise NotFound(f"there is no {what} of this name", subject=name)
    return found
