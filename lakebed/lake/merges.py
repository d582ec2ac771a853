"""The calls that compare lines and bring them together: diff, merge, cherry_pick, revert, reset, restore_table."""

from collections.abc import Sequence
from typing import Self
from uuid import UUID

from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.merge import diff, merge, restore
from lakebed.catalog.merge.diff import Difference
from lakebed.catalog.merge.merge import MergeResult, parse_strategy
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.merge.objects import SharedKeys
from lakebed.catalog.refs.branches import branch_name, check_readable
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid
from lakebed.lake.arguments import asked_moment, check_flag, version_of
from lakebed.lake.engines import arrow_engine
from lakebed.lake.lines import OpenLine
from lakebed.lake.objects import Listing
from lakebed.store import Version
from lakebed.table.keys.ranges import may_share_keys
from lakebed.table.manifest.manifest_pb2 import DataFileRef


class Merges:
    """Two lines of one catalog, compared and brought together."""

    __slots__ = ()

    _line: OpenLine
    _scope: Scope

    def diff(self, other: Self) -> Listing[Difference]:
        """What would turn this state into the other one, object by object. Its cost follows the changes."""
        return Listing(diff.diff(self._line.context, self._head(), _line(other)._head()))

    def merge(
        self,
        source: Self,
        *,
        strategy: str = "fail",
        dry_run: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> MergeResult:
        """Bring all that another branch, tag or version has into this line: one commit for all tables, or none.

        With the strategy `fail` a conflict is a `Conflict`, whose `conflicts` are rows; `ours` and `theirs` settle each
        of them. A dry run changes nothing and answers the conflicts. Merging again adds nothing: `commit` is None then.
        """
        self._line.check_unshared("merge")
        settle, theirs = parse_strategy(strategy), _line(source)
        if check_flag("dry_run", dry_run):
            return merge.dry_run(self._scope.read(), theirs._head(), settle, shared_keys(self._line.context))
        pin = None if theirs._line.version is None else int(theirs._line.version)
        request = Request("merge", (theirs._line.ref.line.id, pin, strategy), message, author, event_id)
        known = self._scope.replayed(request)
        if known is not None:  # whatever became of the source since
            return MergeResult(known)
        head, name = theirs._head(), branch_name(theirs._line.context, theirs._line.ref)
        return merge.merge(self._scope, head, settle, request, shared_keys(self._line.context), name)

    def cherry_pick(
        self,
        commit: Commit | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Do here what a commit of another branch did there, to all tables that it changed."""
        self._line.check_live("cherry_pick")
        picked = merge.find_commit(self._line.context, commit)
        request = Request("cherry_pick", (picked.id,), message, author, event_id)
        return merge.cherry_pick(self._scope, picked, request, shared_keys(self._line.context))

    def revert(
        self,
        commit: Commit | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Undo what a commit did, to all tables that it changed; what came later stays, or is a `Conflict`."""
        self._line.check_live("revert")
        undone = merge.find_commit(self._line.context, commit)
        request = Request("revert", (undone.id,), message, author, event_id)
        return merge.revert(self._scope, undone, request, shared_keys(self._line.context))

    def reset(
        self,
        version: Moment,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Make the line what it was at a version, by a new commit: what it undoes can be merged, undropped, read."""
        self._line.check_live("reset")
        found = self._moment(version)
        request = Request("reset", (asked_moment(version, found),), message, author, event_id)
        return restore.reset(self._scope, found, request)

    def restore_table(
        self,
        name: Name,
        version: Moment,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Make a table what it was at a version, its name included, by a new commit; later history stays."""
        self._line.check_live("restore_table")
        found = self._moment(version)
        request = Request("restore_table", (parse_name(name), asked_moment(version, found)), message, author, event_id)
        return restore.restore_table(self._scope, name, found, request)

    def _head(self) -> Head:
        self._line.check_unshared("comparing and merging")
        return Head(self._line.ref, self._scope.read().base)

    def _moment(self, given: Moment) -> Version:
        found = version_of(self._scope, given)
        check_readable(self._line.context, self._line.ref, found, self._line.context.metastore.newest())
        return found


def shared_keys(context: Context) -> SharedKeys:
    """What tells a merge whether files of two sides share a primary key; files are read where bounds can't tell."""

    def ask(table: TableState, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
        if not may_share_keys(table.schema, ours, theirs):
            return False
        sources = Sources(context.files, table.id, context.metastore)
        return arrow_engine().share_keys(sources, table.schema, ours, theirs)

    return ask


def _line(given: object) -> Merges:
    if not isinstance(given, Merges):
        raise Invalid(
            "this is not a branch, tag or version of a catalog",
            expected="what catalog.branch(…), tag(…) or at(…) answer",
            found=type(given).__name__,
        )
    return given
