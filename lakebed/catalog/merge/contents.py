"""The three-way merge of a table's contents: its files, and its rows where files can't be merged as a whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.merge.bases import Bases
from lakebed.catalog.merge.keys import MergedFiles, key_check
from lakebed.catalog.merge.outcome import Outcome
from lakebed.catalog.merge.row_conflicts import RowAuthors, row_conflict
from lakebed.catalog.merge.rows import (
    OURS,
    THEIRS,
    Choice,
    DisputedRow,
    Past,
    RowMerge,
    new_pieces,
    plan_rows,
)
from lakebed.catalog.merge.settling import AnyConflict, Settling
from lakebed.catalog.merge.sides import BACK, PICK, MergeSide
from lakebed.catalog.merge.states import ObjectState, kind_name
from lakebed.catalog.merge.table_files import (
    TableFiles,
    has_brought,
    overwritten_condition,
    overwritten_rows,
)
from lakebed.catalog.tables.properties import checks_of
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.conflicts import MergeConflict, RowConflict
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.filter.filter import Filter
from lakebed.table.keys.ranges import may_share_keys
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.files import (
    Compared,
    FileConflict,
    Side,
    SideDelta,
    compare_files,
    settled_files,
)
from lakebed.table.merge.schemas import SchemaConflict
from lakebed.table.merge.sides import Files
from lakebed.table.plan.pruning import may_match

SeenAs = Callable[[Side, Side], Side]
"""How a merge sees our files, given ours and theirs."""


def as_it_is(ours: Side, theirs: Side) -> Side:
    """Our files with everything that was done to them."""
    return ours


class ContentsMerge:
    """Merges files and rows of objects; records conflicts, and how each is settled."""

    def __init__(
        self,
        base: Work,
        ours: MergeSide,
        theirs: MergeSide,
        settling: Settling,
        seen_as: SeenAs,
        bases: Bases | None,
    ) -> None:
        self.base_work = base
        self.ours = ours
        self.theirs = theirs
        self.settle = settling.strategy
        self.conflicts: list[AnyConflict] = []
        self.unsettled: list[AnyConflict] = []
        self.reported: list[MergeConflict] = []
        self._settling = settling
        self._seen_as = seen_as
        self._bases = bases

    def conflict(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> bool:
        """Record a conflict; whether theirs wins it."""
        row = self.row(outcome, what, base, ours, theirs)
        return self._settled(row, self._settling.choice(row)) == THEIRS

    def _settled(self, conflict: AnyConflict, choice: Choice) -> Choice:
        """Record a conflict, and how it is settled; `Invalid` if its choice is not one of those it has."""
        if isinstance(conflict, MergeConflict) and choice not in (None, OURS, THEIRS):
            raise Invalid(
                "this does not settle a conflict", subject=str(conflict), expected="ours or theirs", found=choice
            )
        self.conflicts.append(conflict)
        if choice is None:
            self.unsettled.append(conflict)
        return choice

    def _add_all(self, outcome: Outcome, found: Iterable[SchemaConflict | FileConflict]) -> None:
        """Record conflicts that the strategy settles."""
        for one in found:
            row = self.row(outcome, one.what, one.base, one.ours, one.theirs)
            self._settled(row, self._settling.by_strategy)

    def report(self, outcome: Outcome, ours: object, theirs: object) -> None:
        """Record that a change lost to a drop."""
        self.reported.append(self.row(outcome, "drop", "there", ours, theirs))

    def row(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> MergeConflict:
        name = (
            last_name(self.ours.work, outcome.id)
            or last_name(self.theirs.work, outcome.id)
            or last_name(self.base_work, outcome.id)
        )
        return MergeConflict(outcome.id, name, kind_name(outcome.state), what, str(base), str(ours), str(theirs))

    # Files and rows

    def _merge_files(self, outcome: Outcome, files: TableFiles, table: TableState) -> None:
        def in_overwritten(file: DataFileRef, delta: SideDelta) -> bool:
            return may_match(overwritten(delta), file)

        def overwritten(delta: SideDelta) -> Filter:
            return overwritten_rows(self.ours.work.context.bodies.get(table.id, delta.manifest.schema_id), delta)

        def by_bounds(ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
            return may_share_keys(table.schema, ours, theirs)

        share_keys = by_bounds if table.schema.identifier_ids else None
        compared = compare_files(
            files.base, files.ours, files.theirs, falls_in=in_overwritten, may_share_keys=share_keys
        )
        outcome.overwritten = overwritten_condition(files.theirs.deltas)
        past = self._past(outcome, compared, files)
        if compared.has_disputed_rows or self._may_come_again(compared) or past is not None:
            by_other = {OURS: compared.by_theirs, THEIRS: compared.by_ours}
            filters = {side: [overwritten(delta) for delta in deltas] for side, deltas in by_other.items()}
            self._merge_rows(outcome, table, compared, files, past, filters)
            return
        merged = settled_files(compared, self.settle)
        self._add_all(outcome, merged.conflicts)
        self._check_rows(outcome, table, files)
        self._check_keys(outcome, table, MergedFiles(files.ours.files, files.theirs.files, merged))
        if merged.added or merged.removed or merged.changed or merged.rewrites:
            outcome.files = merged

    def _may_come_again(self, compared: Compared) -> bool:
        """Whether rows that a pick or revert brings may be here already, in files that no merge compares them with."""
        return self._seen_as is not as_it_is and all(
            any(path in side.files for path in side.changed) for side in (compared.mine, compared.other)
        )

    def _past(self, outcome: Outcome, compared: Compared, files: TableFiles) -> Past | None:
        """What rows are compared with by their ids, if both sides may have got one row by different ways.

        Merges that crossed brought it, a side picked it, or both sides brought it back from the past.
        """
        if files.past is not None or self._bases is None:
            return files.past
        ours, theirs = (side.operations_on(outcome.id) for side in (self.ours, self.theirs))
        may_come_twice = PICK in ours | theirs or bool(ours & BACK and theirs & BACK)
        return Past(files.base) if may_come_twice and compared.mine.changed and compared.other.changed else None

    def _merge_rows(
        self,
        outcome: Outcome,
        table: TableState,
        compared: Compared,
        files: TableFiles,
        past: Past | None,
        overwritten: Mapping[str, Sequence[Filter]],
    ) -> None:
        """Merge row by row what can't be merged file by file."""
        sources, shown = self._sources(table), self._shown_rows(outcome, table)

        def decide(disputed: DisputedRow) -> Choice:
            conflict = shown(disputed)
            return self._settled(conflict, self._settling.choice(conflict))

        planned = plan_rows(
            sources,
            table.schema,
            (compared.base, compared.mine.files, compared.other.files),
            [file for path, file in compared.base.items() if path not in files.base],
            any(clash.conflict.what == "keys" for clash in compared.clashes),
            self._seen_as is not as_it_is or has_brought(files.ours) or has_brought(files.theirs),
            past,
            self._settling.merger,
            decide,
            overwritten,
        )
        if isinstance(planned, RowMerge):
            outcome.rows = (compared, planned)
            self._check_rows(outcome, table, files, planned)
            self._check_keys(outcome, table, planned)
        else:
            self.conflict(outcome, "rows", f"{planned} rows", "changed, or new with one key", "changed otherwise")

    def _check_rows(self, outcome: Outcome, table: TableState, files: TableFiles, rows: RowMerge | None = None) -> None:
        """Find rows that break a check of the other side, or that do so only when combined. No strategy settles it."""
        checks, checker = checks_of(outcome.properties or outcome.state.properties), self._settling.checker
        if not checks or checker is None:
            return
        context, sources = self.ours.work.context, self._sources(table)
        shown = self._shown_rows(outcome, table)
        broken = [] if rows is None or rows.merged is None else [*rows.merged.broken(checks)]
        for side, state, own in ((OURS, outcome.ours, files.ours), (THEIRS, outcome.theirs, files.theirs)):
            known = {} if state is None else state.properties
            unknown = [check for check in checks if known.get(check.key) != check.condition]
            if unknown:
                pieces = new_pieces(context.files, files.base, own.files)
                broken += checker.broken_rows(sources, table.schema, pieces, unknown, side)
        for found in broken:
            self._settled(shown(found), None)

    def _sources(self, table: TableState) -> Sources:
        context = self.ours.work.context
        return Sources(context.files, str(table.id), context.metastore)

    def _shown_rows(self, outcome: Outcome, table: TableState) -> Callable[[DisputedRow], RowConflict]:
        """A function that shows a disputed row as a conflict of the object."""
        name, sources = self.row(outcome, "", "", "", "").name, self._sources(table)
        ours, theirs = (
            RowAuthors(side, None if state is None else state.table, sources, self._settling.merger)
            for side, state in ((self.ours, outcome.ours), (self.theirs, outcome.theirs))
        )
        return lambda disputed: row_conflict(outcome.state, name, disputed, ours, theirs)

    def _check_keys(self, outcome: Outcome, table: TableState, merged: RowMerge | MergedFiles) -> None:
        """Find rows that repeat a primary key although no side does. No strategy settles it."""
        ours, theirs, checker = outcome.ours, outcome.theirs, self._settling.checker
        if checker is None or ours is None or ours.table is None or theirs is None or theirs.table is None:
            return
        schemas = ours.table.schema, theirs.table.schema
        check = key_check(self.ours.work.context, self._sources(table), table.schema, schemas, merged)
        if check is None:
            return
        rows = merged.merged if isinstance(merged, RowMerge) else None
        known = set() if rows is None else {repr(found.key) for found in rows.unsettled}
        for found in (checker if rows is None else rows).repeated_keys(check):
            if repr(found.key) not in known:  # else the rows are in dispute already
                self._settled(self._shown_rows(outcome, table)(found), None)

    def _files(
        self,
        object_id: str,
        base: ObjectState | None,
        base_work: Work,
        ours: ObjectState | None,
        theirs: ObjectState | None,
    ) -> TableFiles:
        """The files of all three states, read only if they may differ."""
        states = base, ours, theirs
        if len({None if state is None else state.delta for state in states}) == 1:
            return TableFiles({}, Side({}), Side({}))
        past = None if self._bases is None else self._bases.past(object_id)
        if past is not None:
            return TableFiles(past.files, _all_files(self.ours, ours), _all_files(self.theirs, theirs), past)
        before = {} if base is None or base.table is None else committed_files(base_work, base.table)
        our_files, their_files = (
            _side_files(self.ours, ours, base, before),
            _side_files(self.theirs, theirs, base, before),
        )
        return TableFiles(before, self._seen_as(our_files, their_files), their_files)


def _side_files(side: MergeSide, state: ObjectState | None, base: ObjectState | None, before: Files) -> Side:
    unchanged = state is not None and state.table is not None and base is not None and state.delta == base.delta
    return Side(before) if unchanged else _all_files(side, state)


def _all_files(side: MergeSide, state: ObjectState | None) -> Side:
    return Side({}) if state is None or state.table is None else side.files(state.table)
