"""The calls that compare lines and bring them together: diff, merge, cherry_pick, revert, reset, restore_table."""

from dataclasses import fields
from typing import TYPE_CHECKING, Self
from uuid import UUID

from lakebed.catalog.refs.branches import branch_name, check_readable
from lakebed.catalog.refs.closed import check_open
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.scopes import Pinned, Scope, once
from lakebed.catalog.transaction.versions import Moment
from lakebed.deferred import deferred
from lakebed.errors import Invalid
from lakebed.lake.arguments import asked_moment, check_flag, version_of
from lakebed.lake.engines import row_engine
from lakebed.lake.lines import OpenLine
from lakebed.lake.shown import Listing
from lakebed.store import Version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.catalog.merge import diff as comparing
    from lakebed.catalog.merge import merge as merging
    from lakebed.catalog.merge import merge_base as bases
    from lakebed.catalog.merge import restore as restoring
    from lakebed.catalog.merge import settling as settled
    from lakebed.catalog.merge.diff import ObjectDifference
    from lakebed.catalog.merge.merge import MergeResult
    from lakebed.catalog.merge.merge_base import Head
    from lakebed.catalog.merge.settling import Settling
    from lakebed.lake.diff import difference as differing
    from lakebed.lake.diff.difference import Difference, States
    from lakebed.lake.merging import decisions as deciding
    from lakebed.lake.merging import progress
    from lakebed.lake.merging.decisions import Decisions
    from lakebed.lake.merging.progress import MergeInProgress
else:
    comparing = deferred("lakebed.catalog.merge.diff")
    merging = deferred("lakebed.catalog.merge.merge")
    restoring = deferred("lakebed.catalog.merge.restore")
    differing = deferred("lakebed.lake.diff.difference")
    progress = deferred("lakebed.lake.merging.progress")
    deciding = deferred("lakebed.lake.merging.decisions")
    settled = deferred("lakebed.catalog.merge.settling")
    bases = deferred("lakebed.catalog.merge.merge_base")


class Merges:
    """Two lines of one catalog, compared and brought together."""

    __slots__ = ()

    _line: OpenLine
    _scope: Scope

    def diff(self, other: Self) -> Listing["Difference"]:
        """What would turn this state into the other one, object by object. Its cost follows the changes.

        Of a table that differs, `rows()` has the rows and `summary()` their counts: `main.diff(dev)[0].rows()`.
        """
        first, second = self._head(), _line(other)._head()
        states = differing.States(*(Pinned(self._line.context, head.ref, head.version) for head in (first, second)))
        found = comparing.diff(self._line.context, first, second)
        return Listing([_with_rows(difference, states) for difference in found])

    def merge(
        self,
        source: Self,
        *,
        strategy: str = "fail",
        dry_run: bool = False,
        spark: "SparkSession | None" = None,
        resolve: "Decisions | None" = None,
        keep_conflicts: bool = False,
        force: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "MergeResult":
        """Bring all that another branch, tag or version has into this line: one commit for all tables, or none.

        Rows merge by their ids, cells by their columns; new rows with one primary key have to be alike. What can't be
        merged is a conflict, of one row or of one part of an object. With the strategy `fail` it is a `Conflict`, whose
        `conflicts` list all; `ours` and `theirs` settle each disputed cell, row or part alone. `resolve` settles them
        one by one: a function of a conflict that answers "ours", "theirs", a row or None, decisions by table and key,
        or rows with a column `decision`. Rows that both sides changed are read here, or by Spark if there is a session.
        A dry run changes nothing and answers the conflicts. With `keep_conflicts` a merge that has any is not refused
        but kept: see `merge_in_progress`. Merging again adds nothing: `commit` is None then. The branch of an
        unfinished pipeline run is only merged with `force`.
        """
        self._line.check_unshared("merge")
        settling, theirs = _settling(strategy, resolve, spark), _line(source)
        if check_flag("dry_run", dry_run):
            return merging.dry_run(self._scope.read(), theirs._head(), settling)
        pin = None if theirs._line.version is None else int(theirs._line.version)
        request = Request("merge", (theirs._line.ref.line.id, pin, strategy), message, author, event_id)
        known = self._scope.replayed(request)
        if known is not None:  # whatever became of the source since
            return merging.MergeResult(known)
        check_open(theirs._line.context, theirs._line.ref, force=check_flag("force", force))
        head, name = theirs._head(), branch_name(theirs._line.context, theirs._line.ref)
        if check_flag("keep_conflicts", keep_conflicts):
            conflicts = merging.unsettled(self._scope.read(), head, settling)
            if conflicts:
                progress.begin(self._scope, head, name, request)
                return merging.MergeResult(None, conflicts, in_progress=True)
        return merging.merge(self._scope, head, settling, request, name)

    def merge_in_progress(self) -> "MergeInProgress":
        """The merge whose conflicts this line keeps, to decide and finish it. If there is none, its calls answer so.

        So that `finish` and `abandon` can be repeated with an event id, that is found when they are called: `NotFound`.
        """
        self._line.check_live("merge_in_progress")
        return progress.MergeInProgress(self._scope)

    def cherry_pick(
        self,
        commit: Commit | str,
        *,
        strategy: str = "fail",
        resolve: "Decisions | None" = None,
        spark: "SparkSession | None" = None,
        force: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Do here what a commit of another branch did there, to all tables that it changed.

        `strategy` and `resolve` settle conflicts as in `merge`: ours is this line, theirs is the commit. Commits of the
        branch of an unfinished pipeline run are only picked with `force`.
        """
        self._line.check_live("cherry_pick")
        picked = merging.find_commit(self._line.context, commit)
        request = Request("cherry_pick", _asked(picked.id, strategy), message, author, event_id)

        def pick() -> Commit | None:
            if picked.line != self._line.ref.line.id:
                line = merging.line_of(self._scope, picked)
                check_open(self._line.context, line, force=check_flag("force", force))
            return merging.cherry_pick(self._scope, picked, request, _settling(strategy, resolve, spark))

        return once(self._scope, request, pick)  # whatever became of the branch since

    def revert(
        self,
        commit: Commit | str,
        *,
        strategy: str = "fail",
        resolve: "Decisions | None" = None,
        spark: "SparkSession | None" = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Undo what a commit did, to all tables that it changed; what came later stays, or is a `Conflict`.

        `strategy` and `resolve` settle conflicts as in `merge`: ours is this line, theirs the state before the commit.
        """
        self._line.check_live("revert")
        undone = merging.find_commit(self._line.context, commit)
        request = Request("revert", _asked(undone.id, strategy), message, author, event_id)
        return merging.revert(self._scope, undone, request, _settling(strategy, resolve, spark))

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
        return restoring.reset(self._scope, found, request)

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
        return restoring.restore_table(self._scope, name, found, request)

    def _head(self) -> "Head":
        self._line.check_unshared("comparing and merging")
        return bases.Head(self._line.ref, self._scope.read().base)

    def _moment(self, given: Moment) -> Version:
        found = version_of(self._scope, given)
        check_readable(self._line.context, self._line.ref, found, self._line.context.metastore.newest())
        return found


def _asked(commit: str, strategy: str) -> tuple[str, ...]:
    """What a pick or a revert was asked for; without a strategy as it was before there were any."""
    return (commit,) if strategy == "fail" else (commit, strategy)


def _settling(strategy: str, resolve: "Decisions | None", spark: "SparkSession | None") -> "Settling":
    decisions, engine = deciding.parse_decisions(resolve), row_engine(spark)
    return settled.Settling(merging.parse_strategy(strategy), engine, decisions, engine)


def _with_rows(found: "ObjectDifference", states: "States") -> "Difference":
    return differing.Difference(**{part.name: getattr(found, part.name) for part in fields(found)}, _states=states)


def _line(given: object) -> Merges:
    if not isinstance(given, Merges):
        raise Invalid(
            "this is not a branch, tag or version of a catalog",
            expected="what catalog.branch(…), tag(…) or at(…) answer",
            found=type(given).__name__,
        )
    return given
