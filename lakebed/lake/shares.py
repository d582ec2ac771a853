"""The calls on a catalog's shares."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.refs import refs, shares
from lakebed.catalog.refs.shares import ObjectId, Shareable
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.errors import Invalid
from lakebed.lake.lines import OpenLine
from lakebed.lake.namespace import Namespace
from lakebed.lake.objects import created, dropped
from lakebed.lake.table import Table
from lakebed.lake.view import View
from lakebed.metastore.kinds import SHARE
from lakebed.records.names import normal_ref_name

if TYPE_CHECKING:
    from lakebed.store import Version

Granted = Name | Namespace | Table | View


class Shares:
    """Shares by name: they show a line as it goes on, and of it only what was granted, and are never written.

    What is granted is given as names or handles of namespaces, tables and views; one alone need not be in a list. A
    name in parts has to be.
    """

    __slots__ = ()

    _line: OpenLine

    if TYPE_CHECKING:

        def _opened(
            self, ref: Ref, version: Version | None = None, *, tag: str | None = None, share: str | None = None
        ) -> Self: ...

    def create_share(
        self,
        name: str,
        objects: Granted | Iterable[Granted],
        *,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Self:
        """Share some of this line's objects, and answer what the share shows.

        With `if_not_exists` a share that has the name is answered with the grants that it has.
        """
        self._line.check_unshared("create_share")
        if self._line.version is not None:
            raise Invalid(
                "a share always shows the newest version",
                subject=f"a handle at version {self._line.version}",
                advice="Create a tag for one version, or a branch at it and share that.",
            )
        wanted = _given(objects)
        arguments = (self._line.ref.line.id, normal_ref_name(name), _asked(wanted))
        request = Request("create_share", arguments, message, author, event_id)
        line = self._line
        return created(
            lambda: self._opened(line.ref, share=shares.create_share(line.context, line.ref, name, wanted, request)),
            lambda: self.share(name),
            if_not_exists,
        )

    def share(self, name: str) -> Self:
        """What the share of this name shows, or `NotFound`."""
        self._line.check_unshared("share")
        found = shares.find_share(self._line.context, self._line.ref, name)
        return self._opened(found.ref, share=found.share)

    def shares(self, *, prefix: str | None = None) -> list[Self]:
        """The catalog's shares, by their names."""
        self._line.check_unshared("shares")
        found = shares.shares(self._line.context, self._line.ref, prefix or "")
        return [self._opened(one.ref, share=one.share) for one in found]

    def grant_share(
        self,
        name: str,
        objects: Granted | Iterable[Granted],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Show more objects through a share."""
        wanted = _given(objects)
        request = Request("grant_share", (normal_ref_name(name), _asked(wanted)), message, author, event_id)
        self._line.check_live(request.operation)
        return shares.grant(self._line.context, self._line.ref, name, wanted, request)

    def revoke_share(
        self,
        name: str,
        objects: Granted | Iterable[Granted],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Stop showing some objects through a share, at once and through existing handles too."""
        wanted = _given(objects)
        request = Request("revoke_share", (normal_ref_name(name), _asked(wanted)), message, author, event_id)
        self._line.check_live(request.operation)
        return shares.revoke(self._line.context, self._line.ref, name, wanted, request)

    def share_exists(self, name: str) -> bool:
        """Whether there is a share of this name."""
        found = refs.resolve(self._line.refs("share_exists").read(), SHARE, name)
        return found is not None and found.type == SHARE

    def rename_share(
        self,
        name: str,
        new_name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Give a share another name; handles of it stay good."""
        request = Request("rename_share", (normal_ref_name(name), normal_ref_name(new_name)), message, author, event_id)
        return self._line.change_refs(lambda work: refs.rename(work, SHARE, name, new_name), request)

    def drop_share(
        self,
        name: str,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a share: nothing can be read through it any more, not through existing handles either.

        With `if_exists` the answer is None if there is no share of this name.
        """
        request = Request("drop_share", (normal_ref_name(name),), message, author, event_id)
        return dropped(
            lambda: self._line.change_refs(lambda work: refs.drop(work, SHARE, name), request),
            lambda: self.share_exists(name),
            if_exists,
        )

    def undrop_share(
        self,
        name: str,
        id: str | UUID | None = None,
        as_name: str | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Bring a dropped share back with its grants; `Ambiguous` if several were dropped under its name."""
        which = None if id is None else check_id(id)
        new_name = None if as_name is None else normal_ref_name(as_name)
        request = Request("undrop_share", (normal_ref_name(name), which, new_name), message, author, event_id)
        return self._line.change_refs(lambda work: refs.undrop(work, SHARE, name, which, new_name), request)

    def purge_share(
        self,
        name: str,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Forget a dropped share for good: it can't be undropped any more."""
        which = None if id is None else check_id(id)
        request = Request("purge_share", (normal_ref_name(name), which), message, author, event_id)
        self._line.check_live(request.operation)
        return refs.purge(self._line.refs("purge_share"), SHARE, name, which, request)


def _given(objects: Granted | Iterable[Granted]) -> list[Shareable]:
    if not isinstance(objects, str | Namespace | Table | View) and isinstance(objects, Iterable):
        return [_shareable(one) for one in objects]
    return [_shareable(objects)]


def _shareable(given: object) -> Shareable:
    if isinstance(given, Namespace | Table | View):
        return ObjectId(given.id)
    return parse_name(given)  # type: ignore[arg-type]  # which refuses anything but a name


def _asked(wanted: list[Shareable]) -> list[str | list[str]]:
    return [one.id if isinstance(one, ObjectId) else list(one) for one in wanted]
