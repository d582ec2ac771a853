"""The calls on a catalog's branches."""

from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.refs import branches, refs
from lakebed.catalog.refs.closed import check_open
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.versions import Moment
from lakebed.lake.arguments import check_flag, fixed_moment
from lakebed.lake.lines import OpenLine
from lakebed.lake.objects import created, dropped
from lakebed.metastore.kinds import BRANCH
from lakebed.records.names import normal_ref_name

if TYPE_CHECKING:
    from lakebed.store import Version


class Branches:
    """Branches by name; the trunk is called main."""

    __slots__ = ()

    _line: OpenLine

    if TYPE_CHECKING:

        def _opened(
            self, ref: Ref, version: Version | None = None, *, tag: str | None = None, share: str | None = None
        ) -> Self: ...

    def create_branch(
        self,
        name: str,
        at: Moment | None = None,
        *,
        if_not_exists: bool = False,
        force: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Self:
        """Fork this line, at its newest version or at another: one small commit, whatever the lake's size.

        Called on a tag or a handle at a version, the branch starts there. With `if_not_exists` a branch that has the
        name is answered as it is, wherever it forked. The branch of an unfinished pipeline run is only forked with
        `force`.
        """
        self._line.check_unshared("create_branch")
        check_open(self._line.context, self._line.ref, force=check_flag("force", force))
        version, asked = fixed_moment(self._line.scope(), self._line.version, at)
        request = Request(
            "create_branch", (self._line.ref.line.id, normal_ref_name(name), asked), message, author, event_id
        )
        return created(
            lambda: self._opened(branches.create_branch(self._line.context, self._line.ref, name, version, request)),
            lambda: self.branch(name),
            if_not_exists,
        )

    def branch(self, name: str) -> Self:
        """The branch of this name, or `NotFound`; `main` is the trunk."""
        self._line.check_unshared("branch")
        return self._opened(branches.find_branch(self._line.context, self._line.ref, name))

    def branches(self, *, prefix: str | None = None) -> list[Self]:
        """The catalog's branches, the trunk first."""
        self._line.check_unshared("branches")
        found = branches.branches(self._line.context, self._line.ref, prefix or "")
        return [self._opened(ref) for ref in found]

    def branch_exists(self, name: str) -> bool:
        """Whether there is a branch of this name."""
        found = refs.resolve(self._line.refs("branch_exists").read(), BRANCH, name)
        return refs.is_trunk(name) or (found is not None and found.type == BRANCH)

    def rename_branch(
        self,
        name: str,
        new_name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Give a branch another name; handles of it stay good."""
        request = Request(
            "rename_branch", (normal_ref_name(name), normal_ref_name(new_name)), message, author, event_id
        )
        return self._line.change_refs(lambda work: refs.rename(work, BRANCH, name, new_name), request)

    def drop_branch(
        self,
        name: str,
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop a branch: it can't be read or written any more. Its tags, and branches that forked from it, can.

        With `if_exists` the answer is None if there is no branch of this name.
        """
        request = Request("drop_branch", (normal_ref_name(name),), message, author, event_id)
        return dropped(
            lambda: self._line.change_refs(lambda work: refs.drop(work, BRANCH, name), request),
            lambda: self.branch_exists(name),
            if_exists,
        )

    def undrop_branch(
        self,
        name: str,
        id: str | UUID | None = None,
        as_name: str | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Bring a dropped branch back, under its name or another; `Ambiguous` if several were dropped under it."""
        which = None if id is None else check_id(id)
        new_name = None if as_name is None else normal_ref_name(as_name)
        request = Request("undrop_branch", (normal_ref_name(name), which, new_name), message, author, event_id)
        return self._line.change_refs(lambda work: refs.undrop(work, BRANCH, name, which, new_name), request)

    def purge_branch(
        self,
        name: str,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit:
        """Erase a dropped branch, for good; `Invalid` while branches, tags or shares of it are left.

        If it was interrupted, call it again: it continues.
        """
        which = None if id is None else check_id(id)
        request = Request("purge_branch", (normal_ref_name(name), which), message, author, event_id)
        self._line.check_live(request.operation)
        return branches.purge_branch(self._line.context, self._line.ref, name, which, request)
