"""The three-way merge of one object: what each side did to it since the base, combined.

The matrix of acceptance/002 decides. Where both sides changed one thing in different ways, that is a conflict, one row;
a strategy settles each row by itself. Containers, and whether names are free, are up to `tree`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from lakebed.catalog.merge.bases import Bases
from lakebed.catalog.merge.contents import ContentsMerge, SeenAs, as_it_is
from lakebed.catalog.merge.levels import (
    COMMITTED,
    LEVELS,
    STAGED,
    edition_text,
    is_commit_of_staged,
    wrote_rows,
)
from lakebed.catalog.merge.outcome import Outcome
from lakebed.catalog.merge.settling import IN_PROGRESS, Settling
from lakebed.catalog.merge.sides import ACTIVE, HARD, HELD, SOFT, STATE, MergeSide, changes
from lakebed.catalog.merge.states import ObjectState
from lakebed.catalog.merge.table_files import (
    TableFiles,
    may_be_null,
    newly_required,
    order_text,
    spec_text,
    with_optional,
)
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.table.manifest.summary import free_properties, newest
from lakebed.table.merge.files import (
    FileMerge,
)
from lakebed.table.merge.schemas import merge_schemas
from lakebed.table.merge.strategy import Settle
from lakebed.table.schema.schema import Schema

T = TypeVar("T")


class ThreeWay(ContentsMerge):
    """Merges objects one by one, and collects the conflicts and the changes that lost to drops."""

    def __init__(
        self,
        base: Work,
        ours: MergeSide,
        theirs: MergeSide,
        settling: Settling,
        seen_as: SeenAs,
        bases: Bases | None,
    ) -> None:
        super().__init__(base, ours, theirs, settling, seen_as, bases)
        self.shown: set[str] = set()  # the editions that tables show after the merge: they stay alive
        self.tables: Mapping[str, Outcome] = {}  # which are merged before their editions

    def merge(self, object_id: str, base: ObjectState | None, base_work: Work) -> Outcome | None:
        """What becomes of the object; None if neither side has it."""
        ours, theirs = self.ours.states.get(object_id), self.theirs.states.get(object_id)
        state = ours or theirs
        if state is None:
            return None
        outcome = Outcome(object_id, ours, theirs, base, not state.is_kept, state.place)
        files = self._files(object_id, base, base_work, ours, theirs)
        if ours is not None:
            outcome.ours_did = changes(base, ours, files.ours.files, files.base, files.ours.deltas)
        if theirs is not None:
            outcome.theirs_did = changes(base, theirs, files.theirs.files, files.base, files.theirs.deltas)
        if state.is_first_edition:
            self._add_what_is_held(outcome)
        self._merge_life(outcome, base is not None and base_work.is_alive(object_id))
        if object_id in self.shown:
            self._keep_shown(outcome)
        # An object that is dropped on theirs, and was not there at the base, has nothing to contribute.
        contributes = theirs is not None and (theirs.is_kept or (base is not None and base.is_kept))
        if not outcome.dropped and ours is not None and contributes:
            self._merge_parts(outcome, files)
        outcome.summary = newest(free_properties(delta.manifest.properties) for delta in files.theirs.deltas)
        if outcome.bring:
            outcome.files = FileMerge(added=tuple(files.theirs.files.values()))
        return outcome

    # Lives

    def _add_what_is_held(self, outcome: Outcome) -> None:
        """Count what was done to the rows and columns of a first edition, which the table's own object has."""
        table = self.tables.get(outcome.state.place[0])
        if table is not None:
            outcome.ours_did |= table.ours_did & HELD
            outcome.theirs_did |= table.theirs_did & HELD

    def _keep_shown(self, outcome: Outcome) -> None:
        """Let no drop apply to the edition that its table shows after the merge: that is a conflict."""
        ours, theirs = outcome.ours, outcome.theirs
        if not outcome.dropped or (ours is None and not outcome.bring and outcome.state.is_first_edition):
            return
        if not any(conflict.object_id == outcome.id and conflict.what == "drop" for conflict in self.conflicts):
            sides = ["active" if side is not None and side.is_kept else "dropped" for side in (ours, theirs)]
            self.conflict(outcome, "drop", "there", *sides)
        outcome.dropped, outcome.bring = False, ours is None
        if theirs is not None and (ours is None or not ours.is_kept):
            outcome.place = theirs.place

    def _merge_life(self, outcome: Outcome, was_alive: bool) -> None:
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None:
            assert theirs is not None
            outcome.place = theirs.place
            if theirs.is_first_edition and not theirs.is_kept:  # ours has it too, without a life
                outcome.bring, outcome.dropped = True, self._is_dropped(outcome, outcome.ours_did, "dropped")
                return
            # A picked commit may change an object that ours never had: a conflict about its existence.
            outcome.bring = theirs.is_kept and (
                not was_alive
                or (
                    bool(outcome.theirs_did)
                    and self.conflict(outcome, "drop", "there", "not there", _changes_text(outcome.theirs_did))
                )
            )
            outcome.dropped = not outcome.bring
            return
        was_kept = base is not None and base.is_kept
        theirs_kept = theirs is not None and theirs.is_kept
        if ours.is_kept and theirs_kept:
            self._merge_place(outcome)
        elif was_kept and ours.is_kept and not theirs_kept and self._is_gone(outcome, was_alive):
            outcome.dropped = self._is_dropped(outcome, outcome.ours_did, "dropped")
        elif was_kept and not ours.is_kept and theirs_kept and theirs is not None:
            outcome.dropped = self._stays_dropped(outcome, outcome.theirs_did)
            outcome.place = outcome.place if outcome.dropped else theirs.place
        elif not was_kept and not ours.is_kept and theirs_kept and theirs is not None:
            outcome.dropped, outcome.place = False, theirs.place

    def _is_gone(self, outcome: Outcome, was_alive: bool) -> bool:
        """Whether theirs dropped the object itself. One that theirs never got follows its dropped namespace."""
        if outcome.theirs is not None or outcome.base is None:
            return True
        if outcome.base.is_first_edition:  # it has no life before there is a second edition
            return False
        return was_alive and self.theirs.work.is_alive(outcome.base.place[0])

    def _is_dropped(self, outcome: Outcome, did: frozenset[str], theirs: str) -> bool:
        """Whether the drop by theirs applies to an object that ours may have changed."""
        if did & HARD:
            return self.conflict(outcome, "drop", "there", _changes_text(did), theirs)
        if did & SOFT:
            self.report(outcome, _changes_text(did), theirs)
        return True

    def _stays_dropped(self, outcome: Outcome, did: frozenset[str]) -> bool:
        """Whether the drop by ours stands against the changes by theirs."""
        if did & HARD:
            return not self.conflict(outcome, "drop", "there", "dropped", _changes_text(did))
        if did & SOFT:
            self.report(outcome, "dropped", _changes_text(did))
        return True

    def _merge_place(self, outcome: Outcome) -> None:
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        assert ours is not None
        assert theirs is not None
        before = None if base is None else base.place
        if ours.place == theirs.place or theirs.place == before:
            return
        if ours.place == before:
            outcome.place = theirs.place
            return
        base_name = last_name(self.base_work, outcome.id) or "not there"
        names = last_name(self.ours.work, outcome.id), last_name(self.theirs.work, outcome.id)
        if self.conflict(outcome, "name", base_name, *names):
            outcome.place = theirs.place

    # Attributes and data

    def _merge_parts(self, outcome: Outcome, files: TableFiles) -> None:
        self._merge_properties(outcome)
        self._merge_fields(outcome)
        self._merge_view(outcome)
        self._merge_levels(outcome)
        self._merge_partition(outcome)
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None or theirs is None or ours.table is None or theirs.table is None:
            return
        if ours.type in (pb.STREAM, pb.PARTITION):  # its columns are its edition's
            self._merge_files(outcome, files, ours.table)
            return
        before = ours.table if base is None or base.table is None else base.table
        readable = self._merge_schema(outcome, before, ours.table, theirs.table)
        self._merge_whole(outcome, "spec", before, ours.table, theirs.table, lambda table: table.spec, spec_text)
        self._merge_whole(
            outcome, "sort order", before, ours.table, theirs.table, lambda table: table.sort_order, order_text
        )
        self._check_sources(outcome, before, ours.table, theirs.table)
        self._check_required(outcome, files, ours.table, theirs.table)
        self._merge_files(outcome, files, replace(ours.table, schema=outcome.schema or readable))

    def _merge_properties(self, outcome: Outcome) -> None:
        own = None if outcome.ours is None else outcome.ours.properties.get(IN_PROGRESS)
        properties = [None if state is None else _with_own(state.properties, own) for state in _three(outcome)]
        outcome.properties = self._merged_texts(outcome, "property ", *properties)

    def _merge_fields(self, outcome: Outcome) -> None:
        outcome.fields = self._merged_texts(
            outcome, "", *(None if state is None else state.fields for state in _three(outcome))
        )

    def _merged_texts(
        self,
        outcome: Outcome,
        what: str,
        base: Mapping[str, str] | None,
        ours: Mapping[str, str] | None,
        theirs: Mapping[str, str] | None,
    ) -> Mapping[str, str] | None:
        """Texts by name, merged one by one; None if ours stay as they are."""
        assert ours is not None
        assert theirs is not None
        before, merged = base or {}, dict(ours)
        for key in sorted({*before, *ours, *theirs}):
            values = before.get(key), ours.get(key), theirs.get(key)
            if self._takes_theirs(outcome, f"{what}{key}", *values):
                merged.pop(key, None)
                if values[2] is not None:
                    merged[key] = values[2]
        return None if merged == ours else merged

    def _merge_view(self, outcome: Outcome) -> None:
        views = [None if state is None else state.view for state in _three(outcome)]
        if self._takes_theirs(outcome, "view", *views):
            outcome.take.append("view")

    def _merge_levels(self, outcome: Outcome) -> None:
        """Merge which edition and stream are shown, and the state of an edition or stream."""
        for what, value_of in LEVELS:
            values = [None if state is None else value_of(state) for state in _three(outcome)]
            text = self._edition_text if what == ACTIVE else _value_text
            if self._takes_theirs(outcome, what, *values, text=text):
                outcome.take.append(what)
        self._check_hidden_rows(outcome)
        self._check_staged_rows(outcome)

    def _check_hidden_rows(self, outcome: Outcome) -> None:
        """Find rows of the edition that a table showed, which one side changed, and the other hides by another one.

        Who picks or reverts one commit means what it does to the edition that is shown.
        """
        base, ours, theirs = _three(outcome)
        if (
            self._seen_as is not as_it_is
            or base is None
            or ours is None
            or theirs is None
            or base.type != pb.TABLE
            or ours.active == theirs.active
        ):
            return
        if base.active not in (ours.active, theirs.active):  # both activated another one: a conflict already
            return
        is_by_theirs = ours.active == base.active
        writer = self.ours if is_by_theirs else self.theirs
        if not wrote_rows(writer, self.base_work, base.active or outcome.id):
            return
        shown = self._edition_text(base.active)
        texts = f"rows of edition {shown}", self._edition_text((theirs if is_by_theirs else ours).active)
        wins = self.conflict(outcome, ACTIVE, shown, *(texts if is_by_theirs else texts[::-1]))
        outcome.take = [what for what in outcome.take if what != ACTIVE] + ([ACTIVE] if wins else [])

    def _check_staged_rows(self, outcome: Outcome) -> None:
        """Find rows that one side put into what the other committed: they would be in no data that is shown."""
        for committed, filled, own in (
            (outcome.ours, outcome.theirs, self.theirs),
            (outcome.theirs, outcome.ours, self.ours),
        ):
            if not is_commit_of_staged(outcome.base, committed) or filled is None or filled.state != STAGED:
                continue
            if wrote_rows(own, self.base_work, outcome.id):
                texts = COMMITTED, "rows"
                self.conflict(outcome, STATE, STAGED, *(texts if own is self.theirs else texts[::-1]))

    def _edition_text(self, edition: str | None) -> str:
        return edition_text((self.ours.work, self.theirs.work, self.base_work), edition or "")

    def _merge_partition(self, outcome: Outcome) -> None:
        sides = [None if state is None else state.partition for state in (outcome.base, outcome.ours, outcome.theirs)]
        if self._takes_theirs(outcome, "partition", *sides):
            outcome.take.append("partition")

    def _merge_schema(self, outcome: Outcome, base: TableState, ours: TableState, theirs: TableState) -> Schema:
        """Merge the schemas. The returned schema can read the files of both sides, however conflicts are settled."""
        if ours.schema == theirs.schema:
            return ours.schema
        dropped = self._dropped_again(base.schema, ours, theirs)
        merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle, dropped=dropped)
        self._add_all(outcome, merged.conflicts)
        if merged.schema.id != ours.schema.id:
            outcome.schema = merged.schema
        if merged.conflicts and self.settle is Settle.FAIL:
            return merge_schemas(base.schema, ours.schema, theirs.schema, Settle.OURS).schema
        return merged.schema

    def _dropped_again(self, base: Schema, ours: TableState, theirs: TableState) -> frozenset[int]:
        """The columns that both sides have added since the base, and one has dropped since.

        Who picks or reverts one commit means what it does, whatever the other side had before.
        """
        if self._seen_as is not as_it_is:
            return frozenset()
        found = set[int]()
        for side, table, other in ((self.ours, ours, theirs), (self.theirs, theirs, ours)):
            alone = other.schema.ways.keys() - table.schema.ways.keys() - base.ways.keys()
            if alone:
                found |= alone & side.columns_since(table)
        return frozenset(found)

    def _merge_whole(
        self,
        outcome: Outcome,
        what: str,
        base: TableState,
        ours: TableState,
        theirs: TableState,
        part: Callable[[TableState], T],
        text: Callable[[TableState], str],
    ) -> None:
        """Merge a part of a table that can't be combined: it is taken from one side as a whole."""
        if part(theirs) == part(base) or text(ours) == text(theirs):
            return
        if part(ours) == part(base) or self.conflict(outcome, what, text(base), text(ours), text(theirs)):
            outcome.take.append(what)

    def _check_sources(self, outcome: Outcome, base: TableState, ours: TableState, theirs: TableState) -> None:
        """Find a column that one side dropped and the other side's spec or sort order is made of."""
        schema = outcome.schema or ours.schema
        spec = theirs.spec if "spec" in outcome.take else ours.spec
        order = theirs.sort_order if "sort order" in outcome.take else ours.sort_order
        if any(id not in schema.ways for id in spec.source_ids | order.source_ids):
            texts = [f"{table.schema}, {spec_text(table)}, {order_text(table)}" for table in (ours, theirs)]
            wins = self.conflict(outcome, "schema", "a column that a spec or order needs", *texts)
            winner = theirs if wins else ours
            needed = winner.spec.source_ids | winner.sort_order.source_ids
            # The rest is merged as usual: the files of both sides have to fit.
            dropped = self._dropped_again(base.schema, ours, theirs)
            merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle, needed, dropped).schema
            outcome.schema = None if merged.id == ours.schema.id else merged
            kept = [what for what in outcome.take if what not in ("spec", "sort order")]
            outcome.take = [*kept, "spec", "sort order"] if wins else kept

    def _check_required(self, outcome: Outcome, files: TableFiles, ours: TableState, theirs: TableState) -> None:
        """Find a column that one side requires and that may be null in rows added by the other side."""
        merged = outcome.schema or ours.schema
        for side, table in ((files.ours, ours), (files.theirs, theirs)):
            added = [file for path, file in side.files.items() if path not in files.base]
            for id in newly_required(merged, table.schema):
                if any(may_be_null(file, id) for file in added):
                    what, texts = f"column {merged.path_of(id)}: required", ("required", "null in some rows")
                    ours_text, theirs_text = texts[::-1] if side is files.ours else texts
                    self.conflict(outcome, what, "", ours_text, theirs_text)
                    merged = outcome.schema = with_optional(merged, id)

    def _takes_theirs(
        self,
        outcome: Outcome,
        what: str,
        base: T | None,
        ours: T | None,
        theirs: T | None,
        *,
        text: Callable[[T | None], str] | None = None,
    ) -> bool:
        """Whether our value has to be replaced with theirs."""
        if theirs in (base, ours):
            return False
        texts = map(text or _value_text, (base, ours, theirs))
        return ours == base or self.conflict(outcome, what, *texts)


def _three(outcome: Outcome) -> tuple[ObjectState | None, ObjectState | None, ObjectState | None]:
    return outcome.base, outcome.ours, outcome.theirs


def _with_own(properties: Mapping[str, str], own: str | None) -> Mapping[str, str]:
    """Properties, with the line's own merge in progress: no merge, pick or revert begins or ends another one."""
    others = {name: value for name, value in properties.items() if name != IN_PROGRESS}
    return others if own is None else {**others, IN_PROGRESS: own}


def _changes_text(did: frozenset[str]) -> str:
    return ", ".join(sorted(did)) or "unchanged"


def _value_text(value: object) -> str:
    return "unset" if value is None else str(value)
