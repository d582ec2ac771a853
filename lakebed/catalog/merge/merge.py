"""Merge, cherry-pick and revert: one commit for all that they change, or none."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from lakebed.catalog.merge.merge_base import Divergence, Head, divergence, touched
from lakebed.catalog.merge.objects import SharedKeys
from lakebed.catalog.merge.plan import Plan, Triple, apply, plan
from lakebed.catalog.merge.states import read_states
from lakebed.catalog.tables.tables import TableState
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
from lakebed.table.keys.ranges import may_share_keys
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import got_again
from lakebed.table.merge.strategy import Settle


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did. `commit` is None if there was nothing to merge, or it was a dry run.

    `conflicts` are those that the strategy settled, or that a dry run found; `reported` are changes that a drop on the
    other side won over.
    """

    commit: Commit | None
    conflicts: tuple[MergeConflict, ...] = ()
    reported: tuple[MergeConflict, ...] = ()


class _NothingToDo(Exception):
    """All of theirs is in ours already."""


def parse_strategy(strategy: str) -> Settle:
    """How conflicts are settled; `Invalid` for another word."""
    try:
        return Settle(strategy)
    except ValueError:
        raise Invalid("there is no such strategy", subject=repr(strategy), expected="fail, ours or theirs") from None


def merge(scope: Scope, source: Head, settle: Settle, request: Request, shared: SharedKeys, name: str) -> MergeResult:
    """Bring all that `source` has since the two came apart into the scope's line."""
    _check_related(scope.ref, source.ref)
    plans: list[Plan] = []

    def do(work: Work) -> None:
        found = _merge_plan(work, source, settle, shared)
        plans.append(found)
        _refuse(found, settle, f"merging {name}", _SETTLED)
        work.parents = (LineAt(scope.ref.line.id, work.base), LineAt(source.ref.line.id, source.version))
        work.note(Operation("merge_branch", work.top, name, {"objects": len(found.outcomes)}))
        apply(work, found, "merge_branch")

    try:
        commit = scope.change(do, request)
    except _NothingToDo:
        return MergeResult(None)
    return MergeResult(commit, plans[-1].conflicts, plans[-1].reported) if plans else MergeResult(commit)


def dry_run(work: Work, source: Head, settle: Settle, shared: SharedKeys) -> MergeResult:
    """What merging `source` would meet; nothing is changed."""
    _check_related(work.ref, source.ref)
    try:
        found = _merge_plan(work, source, settle, shared)
    except _NothingToDo:
        return MergeResult(None)
    return MergeResult(None, found.conflicts, found.reported)


def by_bounds(table: TableState, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether files may share a primary key, for who opens no file: whatever their bounds can't rule out."""
    return may_share_keys(table.schema, ours, theirs)


def cherry_pick(scope: Scope, picked: StoredCommit, request: Request, shared: SharedKeys) -> Commit | None:
    """Do on the scope's line what a commit did on its own, all of it or nothing."""
    line = _line_of(scope, picked)
    before, after = Head(line, picked.version.previous()), Head(line, picked.version)

    def triple(work: Work) -> Triple:
        check_kept(work.context, line)
        apart = divergence(work.context, Head(work.ref, work.base), before)
        objects = _looked_at(work, picked, apart)
        return Triple(before, after, apart.ours, (picked,), objects, got_again)

    return scope.change(_single(triple, "cherry_pick", picked, shared), request)


def revert(scope: Scope, undone: StoredCommit, request: Request, shared: SharedKeys) -> Commit | None:
    """Undo what a commit of the scope's line did, all of it or nothing; what came later stays."""
    line = _line_of(scope, undone)
    before, after = Head(line, undone.version.previous()), Head(line, undone.version)

    def triple(work: Work) -> Triple:
        check_kept(work.context, line)
        apart = divergence(work.context, Head(work.ref, work.base), after)
        if apart.theirs:
            raise Invalid(
                "the commit is not part of this line",
                subject=undone.id,
                advice="Revert it where it was made, or merge it first.",
            )
        return Triple(after, before, apart.ours, (), _looked_at(work, undone, apart), got_again)

    return scope.change(_single(triple, "revert", undone, shared), request)


def find_commit(context: Context, given: object) -> StoredCommit:
    """The stored commit that a `Commit` or its id names; `NotFound` if there is none."""
    if not isinstance(given, Commit | str | UUID):
        raise Invalid("this is not a commit", expected="a Commit or its id", found=type(given).__name__)
    event = check_event_id(given.id if isinstance(given, Commit) else given)
    found = context.metastore.find(event)
    if found is None:
        raise NotFound("there is no such commit", subject=event)
    return found


def _merge_plan(work: Work, source: Head, settle: Settle, shared: SharedKeys) -> Plan:
    apart = divergence(work.context, Head(work.ref, work.base), source)
    if not apart.theirs:
        raise _NothingToDo
    _rely_on_kept(work, source.ref)
    objects = dict.fromkeys([*touched(apart.theirs), *touched(apart.ours)])
    return plan(work, Triple(apart.base, source, apart.ours, apart.theirs, objects), settle, shared)


def _rely_on_kept(work: Work, line: Ref) -> None:
    """Refuse a state of a purged branch, which looks like that of what it forked from; conflict with who purges it."""
    check_kept(work.context, line)
    if not line.is_trunk:
        work.read(AttributeRead(line.line.id, Attribute.LIFE, line.refs.id))


def _single(
    triple: Callable[[Work], Triple], operation: str, commit: StoredCommit, shared: SharedKeys
) -> Callable[[Work], None]:
    def do(work: Work) -> None:
        found = plan(work, triple(work), Settle.FAIL, shared)
        words = operation.replace("_", "-")
        _refuse(found, Settle.FAIL, f"to {words} {commit.id}", "Look at the error's `conflicts`; settle them first.")
        work.note(Operation(operation, work.top, counts={"objects": len(found.outcomes)}, detail=commit.id))
        apply(work, found, operation)

    return do


def _looked_at(work: Work, commit: StoredCommit, apart: Divergence) -> Collection[str]:
    """What a commit did something to; of namespaces, which may be dropped, what else was done that this would lose."""
    ids = touched([commit])
    if any(one.type == pb.NAMESPACE for one in read_states(work, ids).values()):
        return dict.fromkeys([*ids, *touched(apart.ours), *touched(apart.theirs)])
    return ids


_SETTLED = 'Look at the error\'s `conflicts`; change one side, or merge with strategy="ours" or "theirs".'


def _refuse(found: Plan, settle: Settle, subject: str, advice: str) -> None:
    if found.conflicts and settle is Settle.FAIL:
        rows = found.conflicts
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        raise Conflict(
            f"both sides changed the same, each in its own way: {rows[0]}{more}",
            subject=subject,
            advice=advice,
            conflicts=rows,
        )


def _check_related(ours: Ref, theirs: Ref) -> None:
    if ours.catalog != theirs.catalog:
        raise Invalid(
            "these are lines of two catalogs", expected="two branches of one", advice="Copy the tables instead."
        )
    if ours.line.id == theirs.line.id:
        raise Invalid("a branch can't be merged into itself", advice="reset goes back, cherry_pick picks one commit.")


def _line_of(scope: Scope, commit: StoredCommit) -> Ref:
    try:
        return open_line(scope.context, scope.ref.catalog, commit.line)
    except NotFound:
        raise Invalid(
            "the commit is of no branch of this catalog",
            subject=commit.id,
            expected="a commit that changed namespaces, tables or views of this catalog",
        ) from None
