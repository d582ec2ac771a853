"""Branches: lines that forked from another one at a version. They are kept in the catalog's ref line."""

from typing import cast

from lakebed.catalog.catalogs import first_version, trunk
from lakebed.catalog.commits import Request, check_event_id
from lakebed.catalog.home import TRUNK, Home, Ref
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.metastore import Change, Line, Operation, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.records.names import Casing, folded, normal_ref_name
from lakebed.store import Version


def create_branch(home: Home, parent: Ref, name: str, at: Version | None, request: Request) -> Ref:
    """Fork a line: one commit of a few rows, whatever the catalog holds."""
    name = normal_ref_name(name)
    if _is_trunk(name):
        raise AlreadyExists("the name is taken", subject=name, found="the trunk")
    newest = home.metastore.newest()
    version = newest if at is None else at
    check_readable(home, parent, version, newest)
    branch = new_id()
    line = parent.line.fork(branch, version)
    commit = home.metastore.commit(
        Change(
            event_id=new_id() if request.event_id is None else check_event_id(request.event_id),
            line=parent.refs,
            base=newest,
            message=request.message or "",
            author=home.author if request.author is None else request.author,
            project=home.project,
            lives={branch: life(pb.BRANCH, parent.catalog, name)},
            attributes={(branch, Attribute.REF): _fork_record(home, parent, line, version)},
            operations=(Operation("create", branch, name),),
            fingerprint=request.fingerprint,
        )
    )
    return _opened(home, parent, commit.operations[0].object_id)


def find_branch(home: Home, ref: Ref, name: str) -> Ref:
    """The branch of this name in a catalog, or `NotFound`; the trunk is called main."""
    name = normal_ref_name(name)
    if _is_trunk(name):
        return trunk(home, ref.catalog)
    [found] = home.metastore.reader(ref.refs).resolve([(ref.catalog, name)])
    if found is None:
        raise NotFound("there is no branch of this name", subject=name)
    return _opened(home, ref, found)


def branch_names(home: Home, ref: Ref, prefix: str = "") -> list[str]:
    """The names of a catalog's branches, the trunk's first."""
    reader, token = home.metastore.reader(ref.refs), None
    names = [TRUNK] if TRUNK.startswith(folded(prefix, Casing.FOLDED)) else []
    while True:
        page = reader.children(ref.catalog, prefix=prefix, token=token)
        names += [child.name for child in page.items if child.type == pb.BRANCH]
        token = page.token
        if token is None:
            return names


def branch_name(home: Home, ref: Ref) -> str:
    """What a line is called now."""
    if ref.is_trunk:
        return TRUNK
    [state] = home.metastore.reader(ref.refs).attributes([(ref.line.id, Attribute.LIFE)])
    if state is None:
        raise NotFound("there is no such branch", subject=ref.line.id)
    return cast(pb.CatalogRecord, state.record).name


def check_readable(home: Home, ref: Ref, version: Version, newest: Version) -> None:
    """Refuse a version that is not there yet, or that the catalog was not there at."""
    if version > newest:
        raise Invalid("that version is not there yet", expected=f"at most {newest}", found=version)
    first = first_version(home, ref.catalog)
    if version < first:
        raise NotFound("the catalog was not there yet", expected=f"at least version {first}", found=version)


def _fork_record(home: Home, parent: Ref, line: Line, version: Version) -> pb.CatalogRecord:
    return pb.CatalogRecord(
        parent_type=pb.CATALOG if parent.is_trunk else pb.BRANCH,
        parent_project_id=home.project,
        parent_id=parent.line.id,
        parent_version=version,
        ancestry=[pb.LineVersion(line_id=at.line, version=at.version) for at in line.ancestry],
        casing=line.casing,
    )


def _opened(home: Home, ref: Ref, branch: str) -> Ref:
    [state] = home.metastore.reader(ref.refs).attributes([(branch, Attribute.REF)])
    if state is None:
        raise NotFound("there is no such branch", subject=branch)
    record = cast(pb.CatalogRecord, state.record)
    ancestry = tuple(LineAt(at.line_id, Version(at.version)) for at in record.ancestry)
    return Ref(ref.catalog, Line(branch, ref.catalog, ancestry, Casing(record.casing)))


def _is_trunk(name: str) -> bool:
    return folded(name, Casing.FOLDED) == TRUNK
