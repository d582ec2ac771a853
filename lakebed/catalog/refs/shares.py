"""Shares: read-only refs to a line at its newest version, of which they show only what was granted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from lakebed.catalog.refs import refs
from lakebed.catalog.refs.branches import rely_on
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import check_alive, open_line, open_lines
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import find_any
from lakebed.catalog.transaction.scopes import Do, Live
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Forbidden, NotFound
from lakebed.metastore import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class ObjectId:
    """An object to grant or revoke, by its id instead of its name: handles have ids."""

    id: str


Shareable = Name | ObjectId


@dataclass(frozen=True, slots=True)
class Shared:
    """What a share shows, at the newest version or at a fixed one. Today's grants apply to the past too."""

    context: Context
    ref: Ref
    share: str
    version: Version | None = None
    is_transaction: ClassVar[bool] = False

    def read(self) -> Work:
        return _SharedWork(self)

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit:
        raise self._refusal(request)

    def replayed(self, request: Request) -> Commit | None:
        raise self._refusal(request)

    def at(self, version: Version) -> "Shared":
        return Shared(self.context, self.ref, self.share, version)

    def _refusal(self, request: Request) -> Forbidden:
        return forbidden(request.operation)


class _SharedWork(Work):
    is_whole: ClassVar[bool] = False

    def __init__(self, scope: Shared) -> None:
        granted = _granted_ids(scope)
        super().__init__(scope.context, scope.ref, scope.version)
        self._reader = GrantedReader(self._reader, granted)


def forbidden(operation: str) -> Forbidden:
    """The error for a call that a share does not allow."""
    return Forbidden(
        f"{operation.replace('_', ' ')} is not possible on a share, which is read-only",
        advice="Open the branch that it shows, if you have access.",
    )


def create_share(context: Context, line: Ref, name: str, objects: Iterable[Shareable], request: Request) -> str:
    """Create a share that shows some objects of a line, and return its id."""
    wanted = list(objects)

    def do(work: Work) -> None:
        rely_on(work, line)
        record = pb.CatalogRecord(
            parent_type=pb.SHARE,
            parent_project_id=context.project,
            parent_id=line.line.id,
            granted_ids=sorted(set(_ids(Live(context, line).read(), wanted))),
        )
        refs.create(work, pb.SHARE, name, record)

    return refs.ref_scope(context, line).change(do, request).operations[0].object_id


def open_share(context: Context, ref: Ref, share: str) -> Shared:
    """What a share shows, by its id."""
    record = refs.record_of(refs.ref_scope(context, ref).read(), share)
    return Shared(context, open_line(context, ref.catalog, record.parent_id), share)


def find_share(context: Context, ref: Ref, name: str) -> Shared:
    """What the share of this name in a catalog shows, or `NotFound`."""
    return open_share(context, ref, refs.find(refs.ref_scope(context, ref).read(), pb.SHARE, name))


def shares(context: Context, ref: Ref, prefix: str = "") -> list[Shared]:
    """A catalog's shares, by name, in a few round trips."""
    work = refs.ref_scope(context, ref).read()
    found = [child.id for child in refs.listed(work, pb.SHARE, prefix)]
    lines = open_lines(context, ref.catalog, [record.parent_id for record in refs.records_of(work, found)])
    return [Shared(context, line, share) for share, line in zip(found, lines, strict=True)]


def grant(context: Context, ref: Ref, name: str, objects: Iterable[Shareable], request: Request) -> Commit:
    """Show more objects; an object that is shown already may be granted again."""
    wanted = list(objects)

    def do(work: Work) -> None:
        share = refs.find(work, pb.SHARE, name)
        record = refs.record_of(work, share)
        line = open_line(context, ref.catalog, record.parent_id)
        _put_grants(work, share, {*record.granted_ids, *_ids(Live(context, line).read(), wanted)})
        work.note(Operation("grant", share, name, detail=_spelled(wanted)))

    return refs.ref_scope(context, ref).change(do, request)


def revoke(context: Context, ref: Ref, name: str, objects: Iterable[Shareable], request: Request) -> Commit:
    """Hide some objects at once; `NotFound` for an object that was not granted itself."""
    wanted = list(objects)

    def do(work: Work) -> None:
        share = refs.find(work, pb.SHARE, name)
        record = refs.record_of(work, share)
        line = open_line(context, ref.catalog, record.parent_id)
        gone = _revoked_ids(Live(context, line).read(), wanted, set(record.granted_ids))
        _put_grants(work, share, set(record.granted_ids) - gone)
        work.note(Operation("revoke", share, name, detail=_spelled(wanted)))

    return refs.ref_scope(context, ref).change(do, request)


def _granted_ids(scope: Shared) -> frozenset[str]:
    """The ids that a share grants now; `NotFound` if the share or its line was dropped."""
    check_alive(scope.context, scope.ref, scope.context.metastore.newest())
    work = refs.ref_scope(scope.context, scope.ref).read()
    work.load([(scope.share, Attribute.LIFE), (scope.share, Attribute.REF)])
    work.path(scope.share)
    return frozenset(refs.record_of(work, scope.share).granted_ids)


def _put_grants(work: Work, share: str, granted: set[str]) -> None:
    record = pb.CatalogRecord()
    record.CopyFrom(refs.record_of(work, share))
    record.ClearField("granted_ids")
    record.granted_ids.extend(sorted(granted))
    work.put_attribute(share, Attribute.REF, record)


def _ids(shown: Work, wanted: list[Shareable]) -> list[str]:
    """The ids of objects on the shared line, which have to be alive."""
    ids = [_id(shown, given) for given in wanted]
    for object_id in ids:
        shown.path(object_id)
    return ids


def _id(shown: Work, given: Shareable) -> str:
    return given.id if isinstance(given, ObjectId) else find_any(shown, parse_name(given))


def _revoked_ids(shown: Work, wanted: list[Shareable], granted: set[str]) -> set[str]:
    ids = {given: _id(shown, given) for given in wanted}
    for given, object_id in ids.items():
        if object_id not in granted:
            raise NotFound(
                "this was not granted",
                subject=_spelled([given]),
                advice="It may be shown with its namespace: revoke that.",
            )
    return set(ids.values())


def _spelled(wanted: list[Shareable]) -> str:
    return ", ".join(given.id if isinstance(given, ObjectId) else spelled(parse_name(given)) for given in wanted)
