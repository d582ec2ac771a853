"""A merge in progress: its conflicts are kept, decided one by one, and finished, by whoever opens the lake."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lakebed.catalog.merge import merge
from lakebed.catalog.merge.merge import MergeResult
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.merge.progress import Kept, conflict_id, keep_merge, kept_merge, to_json
from lakebed.catalog.merge.rows import Choice
from lakebed.catalog.merge.settling import AnyConflict, Settling
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.conflicts import RowConflict
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.lake.engines import row_engine
from lakebed.lake.merging.decisions import Decisions, choice_of, decided_rows, parse_decisions
from lakebed.metastore import Operation
from lakebed.store import Version

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

    from lakebed.catalog.merge.settling import Resolve

_COLUMNS = ("id", "name", "type", "what", "key", "columns", "base", "ours", "theirs", "decision")


def begin(scope: Scope, source: Head, name: str, request: Request) -> None:
    """Keep a merge in progress; `AlreadyExists` if the line has one."""

    def do(work: Work) -> None:
        kept = kept_merge(work)
        if kept is not None:
            raise AlreadyExists(
                "a merge is in progress",
                subject=kept.source_name,
                advice="Finish or abandon what merge_in_progress() answers.",
            )
        _put(work, Kept(work.ref.line.id, source.ref.line.id, name, int(source.version)), f"merge of {name} begun")

    scope.change(do, request)


def _put(work: Work, kept: Kept | None, detail: str) -> None:
    keep_merge(work, kept)
    work.note(Operation("set_properties", work.top, detail=detail))


@dataclass(frozen=True, slots=True, repr=False)
class MergeInProgress:
    """A merge of another branch whose conflicts are being settled. It is kept in the lake: any process can go on.

    The source is merged as it was when the merge began. The line itself may change meanwhile: conflicts are those of
    its newest state.
    """

    _scope: Scope

    @property
    def source(self) -> str:
        """The name that the source had."""
        return self._kept.source_name

    @property
    def version(self) -> Version:
        """The version of the source that is merged."""
        return Version.parse(self._kept.version)

    @property
    def conflicts(self) -> tuple[AnyConflict, ...]:
        """The conflicts that are not decided yet."""
        return merge.unsettled(self._scope.read(), self._head, self._settling())

    def to_arrow(self) -> "pyarrow.Table":
        """All conflicts as a table, with the decisions so far; edit its column `decision`, and give it to `decide`.

        Rows and keys are JSON. A decision is `ours`, `theirs`, or a row as JSON; null if there is none yet.
        """
        import pyarrow

        engine = row_engine()
        found = merge.dry_run(self._scope.read(), self._head, Settling(merger=engine, checker=engine))
        decided = self._kept.decisions
        rows = [_row(conflict, decided.get(conflict_id(conflict))) for conflict in found.conflicts]
        arrays = {name: pyarrow.array([row[name] for row in rows], pyarrow.string()) for name in _COLUMNS}
        return pyarrow.table(arrays)

    def decide(
        self,
        decisions: Decisions,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Settle conflicts: by a function, by table and key, or by the edited rows of `to_arrow`. Earlier ones stay.

        `Invalid`, and nothing is kept, if a row does not fit its table.
        """
        rows = decided_rows(decisions)
        has_ids = rows is not None and all(isinstance(row.get("id"), str) for row in rows)
        if rows is not None and has_ids:  # what is decided before there is such a conflict counts too
            new = {row["id"]: choice_of(row) for row in rows}
        else:
            new = self._answers(parse_decisions(decisions))
        self._check_rows(new)

        def do(work: Work) -> None:
            kept = _required(work)
            _put(
                work,
                replace(kept, decisions={**kept.decisions, **new}),
                "1 decision" if len(new) == 1 else f"{len(new)} decisions",
            )

        return self._scope.change(do, Request("decide", (), message, author, event_id))

    def finish(
        self,
        *,
        spark: "SparkSession | None" = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> MergeResult:
        """Merge with all decisions, in one commit that also ends the merge; `Conflict` if one is missing."""
        request = Request("finish", (), message, author, event_id)
        known = self._scope.replayed(request)
        if known is not None:
            return MergeResult(known)
        kept = self._kept
        settling = self._settling(spark)
        found = merge.merge(
            self._scope, self._head, settling, request, kept.source_name, lambda work: keep_merge(work, None)
        )
        return replace(found, conflicts=())  # they were decided before

    def abandon(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Commit | None:
        """Forget the merge and its decisions; nothing else changes."""

        def do(work: Work) -> None:
            kept = _required(work)
            _put(work, None, f"merge of {kept.source_name} abandoned")

        return self._scope.change(do, Request("abandon", (), message, author, event_id))

    def __repr__(self) -> str:
        kept = self._kept
        return f"Merge of {kept.source_name} in progress, {len(kept.decisions)} conflicts decided"

    @property
    def _kept(self) -> Kept:
        return _required(self._scope.read())

    @property
    def _head(self) -> Head:
        kept = self._kept
        return Head(open_line(self._scope.context, self._scope.ref.catalog, kept.source), Version.parse(kept.version))

    def _settling(
        self, spark: "SparkSession | None" = None, new: Mapping[str, Choice] = MappingProxyType({})
    ) -> Settling:
        decided, engine = {**self._kept.decisions, **new}, row_engine(spark)
        return Settling(merger=engine, resolve=lambda conflict: decided.get(conflict_id(conflict)), checker=engine)

    def _check_rows(self, new: Mapping[str, Choice]) -> None:
        """Plan the merge with the rows that are given: one that does not fit would be in the way of all later calls."""
        if any(isinstance(choice, Mapping) for choice in new.values()):
            merge.unsettled(self._scope.read(), self._head, self._settling(new=new))

    def _answers(self, resolve: "Resolve | None") -> dict[str, Choice]:
        if resolve is None:
            raise Invalid("there are no decisions", expected="a function, a mapping, or rows of to_arrow()")
        answers = {conflict_id(conflict): resolve(conflict) for conflict in self._to_decide()}
        return {name: choice for name, choice in answers.items() if choice is not None}

    def _to_decide(self) -> tuple[AnyConflict, ...]:
        """The conflicts that are left; all of them if rows that were given repeat a key or break a check."""
        left = self.conflicts
        if not any(isinstance(one, RowConflict) and one.what not in ("row", "key", "overwrite") for one in left):
            return left
        return merge.dry_run(self._scope.read(), self._head, replace(self._settling(), resolve=None)).conflicts


def _row(conflict: AnyConflict, decision: Choice) -> dict[str, str | None]:
    is_row = isinstance(conflict, RowConflict)
    return {
        "id": conflict_id(conflict),
        "name": conflict.name,
        "type": conflict.type,
        "what": conflict.what,
        "key": to_json(dict(conflict.key)) if isinstance(conflict, RowConflict) else None,
        "columns": ", ".join(conflict.columns) if isinstance(conflict, RowConflict) else None,
        **{side: _text(getattr(conflict, side), is_row) for side in ("base", "ours", "theirs")},
        "decision": decision if decision is None or isinstance(decision, str) else to_json(dict(decision)),
    }


def _text(value: Any, is_row: bool) -> str | None:
    return None if value is None else to_json(dict(value)) if is_row else str(value)


def _required(work: Work) -> Kept:
    kept = kept_merge(work)
    if kept is None:
        raise NotFound("no merge is in progress", advice="merge(source, keep_conflicts=True) begins one.")
    return kept
