"""The three-way merge of one object: what each side made of it since the base, brought together.

The matrix of acceptance/002 decides. Where both sides changed one thing, each in its own way, that is a conflict, and
a row; a strategy settles each row alone. What an object is in, and whether its name is free, is for `merged_tree`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.sides import HARD, SOFT, MergeSide, changes
from lakebed.catalog.merge.states import ObjectState, kind_name
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.conflicts import MergeConflict
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.files import FileMerge, Side, SideDelta, merge_files
from lakebed.table.merge.schemas import merge_schemas
from lakebed.table.merge.sides import Files
from lakebed.table.merge.strategy import Settle
from lakebed.table.partition.sort_order import order_texts
from lakebed.table.partition.spec import spec_texts
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.evolution import make_optional
from lakebed.table.schema.schema import Schema

T = TypeVar("T")

SharedKeys = Callable[[TableState, Sequence[DataFileRef], Sequence[DataFileRef]], bool]
"""Whether two sets of a table's files have a primary key in common: an engine reads their key columns."""


SeenAs = Callable[[Side, Side], Side]
"""Our files, given ours and theirs, as a merge is to see them."""


def as_it_is(ours: Side, theirs: Side) -> Side:
    """Our files with all that was done to them."""
    return ours


@dataclass(slots=True)
class Outcome:
    """What an object is to become on our side. `bring` means all of theirs; else what is None stays as it is.

    `skipped`: it stays as it is, whatever was planned, because what it is in is dropped. `lost`: it is dropped because
    another object has its name, or comes dropped because what it is in is; what is in it goes with it.
    """

    id: str
    ours: ObjectState | None
    theirs: ObjectState | None
    base: ObjectState | None
    dropped: bool
    place: tuple[str, str]
    bring: bool = False
    skipped: bool = False
    lost: bool = False
    properties: Mapping[str, str] | None = None
    schema: Schema | None = None
    take: list[str] = field(default_factory=list)  # attributes that come from theirs as they are
    files: FileMerge | None = None
    overwritten: str | None = None
    ours_did: frozenset[str] = frozenset()
    theirs_did: frozenset[str] = frozenset()

    @property
    def state(self) -> ObjectState:
        found = self.ours or self.theirs or self.base
        assert found is not None
        return found


class ThreeWay:
    """Merges objects one by one, and gathers the conflicts and what a drop won over."""

    def __init__(
        self,
        base: Work,
        ours: MergeSide,
        theirs: MergeSide,
        settle: Settle,
        shared: SharedKeys,
        seen_as: "SeenAs",
    ) -> None:
        self.base_work = base
        self.ours = ours
        self.theirs = theirs
        self.settle = settle
        self.conflicts: list[MergeConflict] = []
        self.reported: list[MergeConflict] = []
        self._shared = shared
        self._seen_as = seen_as

    def merge(self, object_id: str, base: ObjectState | None, base_work: Work) -> Outcome | None:
        """What becomes of the object; None if neither side has it."""
        ours, theirs = self.ours.states.get(object_id), self.theirs.states.get(object_id)
        if ours is None and theirs is None:
            return None
        found = ours or theirs
        assert found is not None
        outcome = Outcome(object_id, ours, theirs, base, not found.is_kept, found.place)
        files = self._files(base, base_work, ours, theirs)
        if ours is not None:
            outcome.ours_did = changes(base, ours, files.ours.files, files.base, files.ours.deltas)
        if theirs is not None:
            outcome.theirs_did = changes(base, theirs, files.theirs.files, files.base, files.theirs.deltas)
        self._merge_life(outcome, base is not None and base_work.is_alive(object_id))
        # What is dropped on theirs and was not there at the base has nothing to give.
        counts = theirs is not None and (theirs.is_kept or (base is not None and base.is_kept))
        if not outcome.dropped and ours is not None and counts:
            self._merge_parts(outcome, files)
        if outcome.bring:
            outcome.files = FileMerge(added=tuple(files.theirs.files.values()))
        return outcome

    def conflict(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> bool:
        """Put down a conflict; whether theirs wins it."""
        self.conflicts.append(self.row(outcome, what, base, ours, theirs))
        return self.settle is Settle.THEIRS

    def report(self, outcome: Outcome, ours: object, theirs: object) -> None:
        """Put down that a drop won over a change."""
        self.reported.append(self.row(outcome, "drop", "there", ours, theirs))

    def row(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> MergeConflict:
        name = (
            last_name(self.ours.work, outcome.id)
            or last_name(self.theirs.work, outcome.id)
            or last_name(self.base_work, outcome.id)
        )
        return MergeConflict(outcome.id, name, kind_name(outcome.state), what, str(base), str(ours), str(theirs))

    # Lives

    def _merge_life(self, outcome: Outcome, was_alive: bool) -> None:
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None:
            assert theirs is not None
            outcome.place = theirs.place
            # A picked commit may change what ours never had: it can't be there and not be there.
            outcome.bring = theirs.is_kept and (
                not was_alive
                or (
                    bool(outcome.theirs_did)
                    and self.conflict(outcome, "drop", "there", "not there", _did(outcome.theirs_did))
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
        """Whether theirs dropped it, itself. What theirs never got with a dropped namespace is as that is."""
        if outcome.theirs is not None or outcome.base is None:
            return True
        return was_alive and self.theirs.work.is_alive(outcome.base.place[0])

    def _is_dropped(self, outcome: Outcome, did: frozenset[str], theirs: str) -> bool:
        """Whether theirs' drop is done to an object that ours may have changed."""
        if did & HARD:
            return self.conflict(outcome, "drop", "there", _did(did), theirs)
        if did & SOFT:
            self.report(outcome, _did(did), theirs)
        return True

    def _stays_dropped(self, outcome: Outcome, did: frozenset[str]) -> bool:
        """Whether ours' drop stands against what theirs may have changed."""
        if did & HARD:
            return not self.conflict(outcome, "drop", "there", "dropped", _did(did))
        if did & SOFT:
            self.report(outcome, "dropped", _did(did))
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

    def _merge_parts(self, outcome: Outcome, files: "_Files") -> None:
        self._merge_properties(outcome)
        self._merge_view(outcome)
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None or theirs is None or ours.table is None or theirs.table is None:
            return
        before = ours.table if base is None or base.table is None else base.table
        readable = self._merge_schema(outcome, before, ours.table, theirs.table)
        self._merge_whole(outcome, "spec", before, ours.table, theirs.table, lambda one: one.spec, _spec_text)
        self._merge_whole(
            outcome, "sort order", before, ours.table, theirs.table, lambda one: one.sort_order, _order_text
        )
        self._check_sources(outcome, before, ours.table, theirs.table)
        self._check_required(outcome, files, ours.table, theirs.table)
        self._merge_files(outcome, files, replace(ours.table, schema=outcome.schema or readable))

    def _merge_properties(self, outcome: Outcome) -> None:
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        assert ours is not None
        assert theirs is not None
        before = {} if base is None else base.properties
        merged = dict(ours.properties)
        for key in sorted({*before, *ours.properties, *theirs.properties}):
            values = before.get(key), ours.properties.get(key), theirs.properties.get(key)
            if self._takes_theirs(outcome, f"property {key}", *values):
                merged.pop(key, None)
                if values[2] is not None:
                    merged[key] = values[2]
        if merged != ours.properties:
            outcome.properties = merged

    def _merge_view(self, outcome: Outcome) -> None:
        sql = [None if one is None else one.view for one in (outcome.base, outcome.ours, outcome.theirs)]
        if self._takes_theirs(outcome, "view", *sql):
            outcome.take.append("view")

    def _merge_schema(self, outcome: Outcome, base: TableState, ours: TableState, theirs: TableState) -> Schema:
        """Merge the schemas; the answer is one by which the files of both sides can be read, whatever is settled."""
        if ours.schema == theirs.schema:
            return ours.schema
        merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle)
        self.conflicts += [self.row(outcome, one.what, one.base, one.ours, one.theirs) for one in merged.conflicts]
        if merged.schema.id != ours.schema.id:
            outcome.schema = merged.schema
        if merged.conflicts and self.settle is Settle.FAIL:
            return merge_schemas(base.schema, ours.schema, theirs.schema, Settle.OURS).schema
        return merged.schema

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
        if part(theirs) == part(base) or text(ours) == text(theirs):
            return
        if part(ours) == part(base) or self.conflict(outcome, what, text(base), text(ours), text(theirs)):
            outcome.take.append(what)

    def _check_sources(self, outcome: Outcome, base: TableState, ours: TableState, theirs: TableState) -> None:
        """A column that one side dropped may be what the other side's spec or order is made of."""
        schema = outcome.schema or ours.schema
        spec = theirs.spec if "spec" in outcome.take else ours.spec
        order = theirs.sort_order if "sort order" in outcome.take else ours.sort_order
        if any(one not in schema.ways for one in spec.source_ids | order.source_ids):
            texts = [f"{one.schema}, {_spec_text(one)}, {_order_text(one)}" for one in (ours, theirs)]
            wins = self.conflict(outcome, "schema", "a column that a spec or order needs", *texts)
            winner = theirs if wins else ours
            needed = winner.spec.source_ids | winner.sort_order.source_ids
            # All else is merged as ever: files of both sides have to fit.
            merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle, needed).schema
            outcome.schema = None if merged.id == ours.schema.id else merged
            kept = [one for one in outcome.take if one not in ("spec", "sort order")]
            outcome.take = [*kept, "spec", "sort order"] if wins else kept

    def _check_required(self, outcome: Outcome, files: "_Files", ours: TableState, theirs: TableState) -> None:
        """A column that one side requires may be null in rows that the other side has added."""
        merged = outcome.schema or ours.schema
        for side, table in ((files.ours, ours), (files.theirs, theirs)):
            added = [one for path, one in side.files.items() if path not in files.base]
            for id in _newly_required(merged, table.schema):
                if any(_may_be_null(one, id) for one in added):
                    what, texts = f"column {merged.path_of(id)}: required", ("required", "null in some rows")
                    ours_text, theirs_text = texts[::-1] if side is files.ours else texts
                    self.conflict(outcome, what, "", ours_text, theirs_text)
                    merged = outcome.schema = _with_optional(merged, id)

    def _merge_files(self, outcome: Outcome, files: "_Files", table: TableState) -> None:
        keyed = bool(table.schema.identifier_ids)

        def falls_in(file: DataFileRef, delta: SideDelta) -> bool:
            return _falls_in(self.ours.work.context.bodies.get(table.id, delta.manifest.schema_id), file, delta)

        def may_share_keys(one: Sequence[DataFileRef], other: Sequence[DataFileRef]) -> bool:
            return self._shared(table, one, other)

        merged = merge_files(
            files.base,
            files.ours,
            files.theirs,
            self.settle,
            falls_in=falls_in,
            may_share_keys=may_share_keys if keyed else None,
        )
        self.conflicts += [self.row(outcome, one.what, one.base, one.ours, one.theirs) for one in merged.conflicts]
        if merged.added or merged.removed or merged.changed or merged.rewrites:
            outcome.files = merged
            outcome.overwritten = _overwritten(files.theirs.deltas)

    def _takes_theirs(self, outcome: Outcome, what: str, base: T | None, ours: T | None, theirs: T | None) -> bool:
        """Whether one thing is theirs in the end, which it isn't yet."""
        if theirs in (base, ours):
            return False
        return ours == base or self.conflict(outcome, what, _value(base), _value(ours), _value(theirs))

    def _files(
        self, base: ObjectState | None, base_work: Work, ours: ObjectState | None, theirs: ObjectState | None
    ) -> "_Files":
        """The files of all three, read only if any may differ."""
        states = base, ours, theirs
        if len({None if one is None else one.delta for one in states}) == 1:
            return _Files({}, Side({}), Side({}))
        before = {} if base is None or base.table is None else committed_files(base_work, base.table)
        mine, other = _side(self.ours, ours, base, before), _side(self.theirs, theirs, base, before)
        return _Files(before, self._seen_as(mine, other), other)


def _side(side: MergeSide, state: ObjectState | None, base: ObjectState | None, before: Files) -> Side:
    if state is None or state.table is None:
        return Side({})
    return Side(before) if base is not None and state.delta == base.delta else side.files(state.table)


@dataclass(frozen=True, slots=True)
class _Files:
    """A table's files at the base and on both sides."""

    base: Mapping[str, DataFileRef]
    ours: Side
    theirs: Side


def _overwritten(deltas: Sequence[SideDelta]) -> str | None:
    """The conditions that overwrites among deltas replaced the rows of, so that later merges know of them."""
    manifests = [one.manifest for one in deltas if one.overwrites]
    conditions = [one.overwritten if one.HasField("overwritten") else "true" for one in manifests]
    return " or ".join(f"({one})" for one in dict.fromkeys(conditions)) or None


def _falls_in(schema: Schema, file: DataFileRef, delta: SideDelta) -> bool:
    """Whether a file may have rows that a delta overwrote, by the schema that the delta's condition was said for."""
    if not delta.manifest.HasField("overwritten"):
        return True
    try:
        return may_match(parse_filter(delta.manifest.overwritten, schema), file)
    except Invalid:  # conditions of several deltas, which a merge brought together: it may have been anything
        return True


def _newly_required(merged: Schema, side: Schema) -> list[int]:
    """The columns, at any depth, that are required in the one schema and not in the other."""
    return [
        id for id, way in merged.ways.items() if way[-1].required and id in side.ways and not side.ways[id][-1].required
    ]


def _may_be_null(file: DataFileRef, id: int) -> bool:
    known = [one for one in file.statistics if one.field_id == id]
    return not known or not known[0].HasField("null_count") or known[0].null_count > 0


def _with_optional(schema: Schema, id: int) -> Schema:
    """The schema with a column that may be null, whatever it was: rows are never lost for a rule."""
    key = [one for one in schema.identifier_ids if one != id]
    path = tuple(one.name for one in schema.way_by_id(id))
    return make_optional(Schema(schema.fields, 0, key), path)


def _spec_text(table: TableState) -> str:
    return ", ".join(spec_texts(table.spec, table.schema)) or "none"


def _order_text(table: TableState) -> str:
    return ", ".join(order_texts(table.sort_order, table.schema)) or "none"


def _did(did: frozenset[str]) -> str:
    return ", ".join(sorted(did)) or "unchanged"


def _value(value: object) -> str:
    return "unset" if value is None else str(value)
