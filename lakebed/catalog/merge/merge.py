"""Merge, cherry-pick and revert: each is one commit for everything that it changes, or none. A merge in six steps:

1. `merge_base` finds the newest commit that both sides follow from, and the commits of each side since then.
2. `plan` reads every object that either side touched at the base, on ours and on theirs (`states`, `sides`).
3. `objects` merges each object three-way; `lakebed/table/merge` merges its schema and its files.
4. `tree` fits the merged objects together: what contains them, and whether their names are free.
5. `merge` refuses the plan if it has conflicts and the strategy is `fail`.
6. `plan.apply` stages the outcomes, and the scope commits them. If ours has changed meanwhile, all of it runs again.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from lakebed.catalog.merge.bases import Bases
from lakebed.catalog.merge.logs import Logs
from lakebed.catalog.merge.merge_base import Divergence, Head, divergence, merges_of_base, touched
from lakebed.catalog.merge.plan import Plan, Triple, apply, plan
from lakebed.catalog.merge.settling import AnyConflict, Settling
from lakebed.catalog.merge.states import read_states
from lakebed.catalog.transaction.commits import Commit, Request, check_event_id
from lakebed.catalog.transaction.conflicts import MergeConflict
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import check_kept, open_line
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, NotFound
from lakebed.metastore import AttributeRead, Operation
from lakebed.metastore import Commit as StoredCommit
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.table.merge.sides import got_again
from lakebed.table.merge.strategy import Settle


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did. `commit` is None if there was nothing to merge, or if it was a dry run.

    `conflicts` were settled by the strategy or the caller, or found by a dry run. `reported` are changes that lost to a
    drop on the other side. `rows_read` is how many rows of files that both sides changed had to be looked at.
    `in_progress`: the conflicts are kept, and `merge_in_progress()` finishes the merge.
    """

    commit: Commit | None
    conflicts: tuple[AnyConflict, ...] = ()
    reported: tuple[MergeConflict, ...] = ()
    rows_read: int = 0
    in_progress: bool = False


Also = Callable[[Work], None]
"""A change that commits with a merge."""


class _NothingToDo(Exception):
    """Ours already has everything that theirs has."""


def parse_strategy(strategy: str) -> Settle:
    """How to settle conflicts; `Invalid` if the word is not a strategy."""
    try:
        return Settle(strategy)
    except ValueError:
        raise Invalid("this is not a strategy", subject=repr(strategy), expected="fail, ours or theirs") from None


def merge(
    scope: Scope, source: Head, settling: Settling, request: Request, name: str, also: Also | None = None
) -> MergeResult:
    """Bring everything that `source` has done since the two diverged into the scope's line.

    `also` is done in the same commit.
    """
    _check_related(scope.ref, source.ref)
    plans: list[Plan] = []

    def do(work: Work) -> None:
        with _rows_released(settling):
            merge_plan = _plan_merge(work, source, settling)
            plans.append(merge_plan)
            _refuse_conflicts(merge_plan, f"merging {name}", _MERGE_ADVICE)
            work.parents = (LineAt(scope.ref.line.id, work.base), LineAt(source.ref.line.id, source.version))
            counts = {"objects": len(merge_plan.outcomes)}
            work.note(Operation("merge_branch", work.top, name, counts, summary=request.summary))
            apply(work, merge_plan, "merge_branch")
        if also is not None:
            also(work)

    try:
        commit = scope.change(do, request)
    except _NothingToDo:
        return MergeResult(None)
    return _result(commit, plans[-1]) if plans else MergeResult(commit)


def unsettled(work: Work, source: Head, settling: Settling) -> tuple[AnyConflict, ...]:
    """The conflicts that neither the strategy nor the caller settles."""
    _check_related(work.ref, source.ref)
    try:
        with _rows_released(settling):
            return _plan_merge(work, source, settling).unsettled
    except _NothingToDo:
        return ()


def dry_run(work: Work, source: Head, settling: Settling, logs: Logs | None = None) -> MergeResult:
    """What merging `source` would find; nothing is changed. Whoever asks for many sources gives the same `logs`."""
    _check_related(work.ref, source.ref)
    try:
        with _rows_released(settling):
            return _result(None, _plan_merge(work, source, settling, logs))
    except _NothingToDo:
        return MergeResult(None)


def _result(commit: Commit | None, merge_plan: Plan) -> MergeResult:
    return MergeResult(commit, merge_plan.conflicts, merge_plan.reported, merge_plan.rows_read)


def cherry_pick(scope: Scope, picked: StoredCommit, request: Request, settling: Settling) -> Commit | None:
    """Do on the scope's line what a commit did on its own line, all of it or nothing."""
    line = line_of(scope, picked)
    before, after = Head(line, picked.version.previous()), Head(line, picked.version)

    def triple(work: Work) -> Triple:
        check_kept(work.context, line)
        apart = divergence(work.context, Head(work.ref, work.base), before)
        objects = _affected_objects(work, picked, apart)
        return Triple(before, after, apart.ours, (picked,), objects, got_again)

    return scope.change(_change_by(triple, "cherry_pick", picked, settling), request)


def revert(scope: Scope, undone: StoredCommit, request: Request, settling: Settling) -> Commit | None:
    """Undo what a commit of the scope's line did, all of it or nothing; later changes stay."""
    line = line_of(scope, undone)
    before, after = Head(line, undone.version.previous()), Head(line, undone.version)

    def triple(work: Work) -> Triple:
        check_kept(work.context, line)
        apart = divergence(work.context, Head(work.ref, work.base), after)
        if apart.theirs:
            raise Invalid(
                "the commit is not part of this branch",
                subject=undone.id,
                advice="Revert it on the branch where it was made, or merge that branch first.",
            )
        return Triple(after, before, apart.ours, (), _affected_objects(work, undone, apart), got_again)

    return scope.change(_change_by(triple, "revert", undone, settling), request)


def find_commit(context: Context, given: object) -> StoredCommit:
    """The stored commit that a `Commit` or its id names; `NotFound` if there is none."""
    if not isinstance(given, Commit | str | UUID):
        raise Invalid("this is not a commit", expected="a Commit or its id", found=type(given).__name__)
    if isinstance(given, Commit) and not given.id:
        advice = "log() shows the commits that did."
        raise Invalid("the call that answered this changed nothing", subject=str(given), advice=advice)
    event = check_event_id(given.id if isinstance(given, Commit) else given)
    found = context.metastore.find(event)
    if found is None:
        raise NotFound("there is no such commit", subject=event)
    return found


def _plan_merge(work: Work, source: Head, settling: Settling, logs: Logs | None = None) -> Plan:
    apart = divergence(work.context, Head(work.ref, work.base), source, logs)
    if not apart.theirs:
        raise _NothingToDo
    _rely_on_kept(work, source.ref)
    objects = dict.fromkeys([*touched(apart.theirs), *touched(apart.ours)])
    at_base, bases = merges_of_base(apart), Bases(work.context, apart, logs)
    triple = Triple(apart.base, source, apart.ours, apart.theirs, objects, at_base=at_base, bases=bases)
    return plan(work, triple, settling)


@contextmanager
def _rows_released(settling: Settling) -> Iterator[None]:
    """Let the engine go of the rows that it keeps for one attempt, however that ends."""
    try:
        yield
    finally:
        if settling.merger is not None:
            settling.merger.release()


def _rely_on_kept(work: Work, line: Ref) -> None:
    """Refuse a purged branch, whose state looks like its parent's; conflict with a concurrent purge of the branch."""
    check_kept(work.context, line)
    if not line.is_trunk:
        work.read(AttributeRead(line.line.id, Attribute.LIFE, line.refs.id))


def _change_by(
    triple: Callable[[Work], Triple], operation: str, commit: StoredCommit, settling: Settling
) -> Callable[[Work], None]:
    """The change that picks or reverts one commit."""

    def do(work: Work) -> None:
        with _rows_released(settling):
            merge_plan = plan(work, triple(work), settling)
            verb = operation.replace("_", "-")
            _refuse_conflicts(merge_plan, f"to {verb} {commit.id}", _PICK_ADVICE)
            work.note(Operation(operation, work.top, counts={"objects": len(merge_plan.outcomes)}, detail=commit.id))
            apply(work, merge_plan, operation)

    return do


def _affected_objects(work: Work, commit: StoredCommit, apart: Divergence) -> Collection[str]:
    """The objects that a commit changed; if one is a namespace, also all others that dropping it would lose."""
    ids = touched([commit])
    if any(state.type == pb.NAMESPACE for state in read_states(work, ids).values()):
        return dict.fromkeys([*ids, *touched(apart.ours), *touched(apart.theirs)])
    return ids


_MERGE_ADVICE = 'Look at the error\'s `conflicts`; change one side, or merge with strategy="ours" or "theirs".'
_PICK_ADVICE = "Look at the error's `conflicts`; settle them first, or by strategy= or resolve=."


def _refuse_conflicts(merge_plan: Plan, subject: str, advice: str) -> None:
    if merge_plan.unsettled:
        rows = merge_plan.unsettled
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise Conflict(
            f"both sides changed the same thing in different ways: {rows[0]}{more}",
            subject=subject,
            advice=advice,
            conflicts=rows,
        )


def _check_related(ours: Ref, theirs: Ref) -> None:
    if ours.catalog != theirs.catalog:
        raise Invalid(
            "the branches belong to different catalogs",
            expected="two branches of one catalog",
            advice="Copy the tables instead.",
        )
    if ours.line.id == theirs.line.id:
        raise Invalid(
            "a branch can't be merged into itself", advice="Use reset to go back, cherry_pick for one commit."
        )


def line_of(scope: Scope, commit: StoredCommit) -> Ref:
    """The line of the scope's catalog that a commit changed."""
    try:
        return open_line(scope.context, scope.ref.catalog, commit.line)
    except NotFound:
        raise Invalid(
            "the commit is not on a branch of this catalog",
            subject=commit.id,
            expected="a commit that changed namespaces, tables or views of this catalog",
        ) from None
