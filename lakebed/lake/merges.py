"""The calls that compare lines and bring them together: diff, merge, cherry_pick, revert, reset, restore_table."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.merge import diff, merge, restore
from lakebed.catalog.merge.diff import Difference
from lakebed.catalog.merge.merge import MergeResult, parse_strategy
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.refs.branches import branch_name, check_readable
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment, find_version
from lakebed.errors import Invalid
from lakebed.lake.engines import load_engine
from lakebed.lake.flags import check_flag
from lakebed.lake.line_handle import LineHandle
from lakebed.store import Version
from lakebed.table.keys.ranges import may_share_keys
from lakebed.table.manifest.manifest_pb2 import DataFileRef


class Merging(LineHandle):
    """Two lines of one catalog, compared and brought together."""

    __slots__ = ()

    _scope: Scope

    def diff(self, other: LineHandle) -> list[Difference]:
        """What would turn this state into the other one, object by object. Its cost follows the changes."""
        return diff.diff(self._home, self._head(), _line(other)._head())

    def merge(
        self,
        source: LineHandle,
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
        self._check_unshared("merge")
        settle, theirs = parse_strategy(strategy), _line(source)
        if check_flag("dry_run", dry_run):
            return merge.dry_run(self._scope.read(), theirs._head(), settle, self._share_keys)
        pin = None if theirs._version is None else int(theirs._version)
        request = Request("merge", (theirs._ref.line.id, pin, strategy), message, author, event_id)
        known = self._scope.replayed(request)
        if known is not None:  # whatever became of the source since
            return MergeResult(known)
        head, name = theirs._head(), branch_name(theirs._home, theirs._ref)
        return merge.merge(self._scope, head, settle, request, self._share_keys, name)

    def cherry_pick(
        self,
        commit: Commit | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Do here what a commit of another branch did there, to all tables that it changed."""
        self._check_live("cherry_pick")
        picked = merge.find_commit(self._home, commit)
        request = Request("cherry_pick", (picked.id,), message, author, event_id)
        return merge.cherry_pick(self._scope, picked, request, self._share_keys)

    def revert(
        self,
        commit: Commit | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Undo what a commit did, to all tables that it changed; what came later stays, or is a `Conflict`."""
        self._check_live("revert")
        undone = merge.find_commit(self._home, commit)
        request = Request("revert", (undone.id,), message, author, event_id)
        return merge.revert(self._scope, undone, request, self._share_keys)

    def reset(
        self,
        version: Moment | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Make the line what it was at a version, by a new commit: what it undoes can be merged, undropped, read."""
        self._check_live("reset")
        found = self._moment(version)
        request = Request("reset", (_asked(version, found),), message, author, event_id)
        return restore.reset(self._scope, found, request)

    def restore_table(
        self,
        name: Name,
        version: Moment | str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Make a table what it was at a version, its name included, by a new commit; later history stays."""
        self._check_live("restore_table")
        found = self._moment(version)
        request = Request("restore_table", (parse_name(name), _asked(version, found)), message, author, event_id)
        return restore.restore_table(self._scope, name, found, request)

    def _head(self) -> Head:
        self._check_unshared("comparing and merging")
        return Head(self._ref, self._scope.read().base)

    def _moment(self, given: Moment | str) -> Version:
        metastore = self._home.metastore
        found = find_version(metastore, version=given) if isinstance(given, str) else find_version(metastore, given)
        check_readable(self._home, self._ref, found, metastore.newest())
        return found

    def _share_keys(self, table: TableState, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
        """Whether files of two sides have a primary key in common; those whose bounds can't tell are read."""
        if not may_share_keys(table.schema, ours, theirs):
            return False
        sources = Sources(self._home.files, table.id, self._home.metastore)
        return bool(load_engine("arrow").share_keys(sources, table.schema, ours, theirs))


def _line(given: object) -> Merging:
    if not isinstance(given, Merging):
        raise Invalid(
            "this is no branch, tag or version of a catalog",
            expected="what catalog.branch(…), tag(…) or at(…) answer",
            found=type(given).__name__,
        )
    return given


def _asked(given: Moment | str, found: Version) -> str | int:
    return given.isoformat() if isinstance(given, datetime) else int(found)
