"""The three-way merge of one object: what each side did to it since the base, combined.

The matrix of acceptance/002 decides. Where both sides changed one thing in different ways, that is a conflict, one row;
a strategy settles each row by itself. Containers, and whether names are free, are up to `tree`.
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
from lakebed.catalog.transaction.pending_delta import any_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.filter.bind import parse_filter
from lakebed.table.keys.ranges import may_share_keys
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.summary import free_properties, newest
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
"""How a merge sees our files, given ours and theirs."""


def share_keys_by_bounds(table: TableState, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """A `SharedKeys` that opens no file: true unless the bounds of the keys rule it out."""
    return may_share_keys(table.schema, ours, theirs)


def as_it_is(ours: Side, theirs: Side) -> Side:
    """Our files with everything that was done to them."""
    return ours


@dataclass(slots=True)
class Outcome:
    """What an object becomes on our side. `bring` copies all of theirs; otherwise an attribute that is None stays.

    `skipped`: it stays as it is, whatever was planned, because its container is dropped. `lost`: it is dropped because
    another object has its name, or arrives dropped because its container is; its children are dropped with it.
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
    take: list[str] = field(default_factory=list)  # attributes to copy from theirs
    files: FileMerge | None = None
    overwritten: str | None = None
    summary: Mapping[str, str] = field(default_factory=dict)  # of the snapshots of theirs that it brings
    ours_did: frozenset[str] = frozenset()
    theirs_did: frozenset[str] = frozenset()

    @property
    def state(self) -> ObjectState:
        state = self.ours or self.theirs or self.base
        assert state is not None
        return state


class ThreeWay:
    """Merges objects one by one, and collects the conflicts and the changes that lost to drops."""

    def __init__(
        self,
        base: Work,
        ours: MergeSide,
        theirs: MergeSide,
        settle: Settle,
        share_keys: SharedKeys,
        seen_as: SeenAs,
    ) -> None:
        self.base_work = base
        self.ours = ours
        self.theirs = theirs
        self.settle = settle
        self.conflicts: list[MergeConflict] = []
        self.reported: list[MergeConflict] = []
        self._share_keys = share_keys
        self._seen_as = seen_as

    def merge(self, object_id: str, base: ObjectState | None, base_work: Work) -> Outcome | None:
        """What becomes of the object; None if neither side has it."""
        ours, theirs = self.ours.states.get(object_id), self.theirs.states.get(object_id)
        state = ours or theirs
        if state is None:
            return None
        outcome = Outcome(object_id, ours, theirs, base, not state.is_kept, state.place)
        files = self._files(base, base_work, ours, theirs)
        if ours is not None:
            outcome.ours_did = changes(base, ours, files.ours.files, files.base, files.ours.deltas)
        if theirs is not None:
            outcome.theirs_did = changes(base, theirs, files.theirs.files, files.base, files.theirs.deltas)
        self._merge_life(outcome, base is not None and base_work.is_alive(object_id))
        # An object that is dropped on theirs, and was not there at the base, has nothing to contribute.
        contributes = theirs is not None and (theirs.is_kept or (base is not None and base.is_kept))
        if not outcome.dropped and ours is not None and contributes:
            self._merge_parts(outcome, files)
        outcome.summary = newest(free_properties(delta.manifest.properties) for delta in files.theirs.deltas)
        if outcome.bring:
            outcome.files = FileMerge(added=tuple(files.theirs.files.values()))
        return outcome

    def conflict(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> bool:
        """Record a conflict; whether theirs wins it."""
        self.conflicts.append(self.row(outcome, what, base, ours, theirs))
        return self.settle is Settle.THEIRS

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

    # Lives

    def _merge_life(self, outcome: Outcome, was_alive: bool) -> None:
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None:
            assert theirs is not None
            outcome.place = theirs.place
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

    def _merge_parts(self, outcome: Outcome, files: "_Files") -> None:
        self._merge_properties(outcome)
        self._merge_view(outcome)
        base, ours, theirs = outcome.base, outcome.ours, outcome.theirs
        if ours is None or theirs is None or ours.table is None or theirs.table is None:
            return
        before = ours.table if base is None or base.table is None else base.table
        readable = self._merge_schema(outcome, before, ours.table, theirs.table)
        self._merge_whole(outcome, "spec", before, ours.table, theirs.table, lambda table: table.spec, _spec_text)
        self._merge_whole(
            outcome, "sort order", before, ours.table, theirs.table, lambda table: table.sort_order, _order_text
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
        views = [None if state is None else state.view for state in (outcome.base, outcome.ours, outcome.theirs)]
        if self._takes_theirs(outcome, "view", *views):
            outcome.take.append("view")

    def _merge_schema(self, outcome: Outcome, base: TableState, ours: TableState, theirs: TableState) -> Schema:
        """Merge the schemas. The returned schema can read the files of both sides, however conflicts are settled."""
        if ours.schema == theirs.schema:
            return ours.schema
        merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle)
        self.conflicts += [
            self.row(outcome, found.what, found.base, found.ours, found.theirs) for found in merged.conflicts
        ]
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
            texts = [f"{table.schema}, {_spec_text(table)}, {_order_text(table)}" for table in (ours, theirs)]
            wins = self.conflict(outcome, "schema", "a column that a spec or order needs", *texts)
            winner = theirs if wins else ours
            needed = winner.spec.source_ids | winner.sort_order.source_ids
            # The rest is merged as usual: the files of both sides have to fit.
            merged = merge_schemas(base.schema, ours.schema, theirs.schema, self.settle, needed).schema
            outcome.schema = None if merged.id == ours.schema.id else merged
            kept = [what for what in outcome.take if what not in ("spec", "sort order")]
            outcome.take = [*kept, "spec", "sort order"] if wins else kept

    def _check_required(self, outcome: Outcome, files: "_Files", ours: TableState, theirs: TableState) -> None:
        """Find a column that one side requires and that may be null in rows added by the other side."""
        merged = outcome.schema or ours.schema
        for side, table in ((files.ours, ours), (files.theirs, theirs)):
            added = [file for path, file in side.files.items() if path not in files.base]
            for id in _newly_required(merged, table.schema):
                if any(_may_be_null(file, id) for file in added):
                    what, texts = f"column {merged.path_of(id)}: required", ("required", "null in some rows")
                    ours_text, theirs_text = texts[::-1] if side is files.ours else texts
                    self.conflict(outcome, what, "", ours_text, theirs_text)
                    merged = outcome.schema = _with_optional(merged, id)

    def _merge_files(self, outcome: Outcome, files: "_Files", table: TableState) -> None:
        has_key = bool(table.schema.identifier_ids)

        def falls_in(file: DataFileRef, delta: SideDelta) -> bool:
            return _falls_in(self.ours.work.context.bodies.get(table.id, delta.manifest.schema_id), file, delta)

        def share_keys(ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
            return self._share_keys(table, ours, theirs)

        merged = merge_files(
            files.base,
            files.ours,
            files.theirs,
            self.settle,
            falls_in=falls_in,
            may_share_keys=share_keys if has_key else None,
        )
        self.conflicts += [
            self.row(outcome, found.what, found.base, found.ours, found.theirs) for found in merged.conflicts
        ]
        if merged.added or merged.removed or merged.changed or merged.rewrites:
            outcome.files = merged
            outcome.overwritten = _overwritten_condition(files.theirs.deltas)

    def _takes_theirs(self, outcome: Outcome, what: str, base: T | None, ours: T | None, theirs: T | None) -> bool:
        """Whether our value has to be replaced with theirs."""
        if theirs in (base, ours):
            return False
        return ours == base or self.conflict(outcome, what, _value_text(base), _value_text(ours), _value_text(theirs))

    def _files(
        self, base: ObjectState | None, base_work: Work, ours: ObjectState | None, theirs: ObjectState | None
    ) -> "_Files":
        """The files of all three states, read only if they may differ."""
        states = base, ours, theirs
        if len({None if state is None else state.delta for state in states}) == 1:
            return _Files({}, Side({}), Side({}))
        before = {} if base is None or base.table is None else committed_files(base_work, base.table)
        our_files, their_files = (
            _side_files(self.ours, ours, base, before),
            _side_files(self.theirs, theirs, base, before),
        )
        return _Files(before, self._seen_as(our_files, their_files), their_files)


def _side_files(side: MergeSide, state: ObjectState | None, base: ObjectState | None, before: Files) -> Side:
    if state is None or state.table is None:
        return Side({})
    return Side(before) if base is not None and state.delta == base.delta else side.files(state.table)


@dataclass(frozen=True, slots=True)
class _Files:
    """A table's files at the base and on both sides."""

    base: Mapping[str, DataFileRef]
    ours: Side
    theirs: Side


def _overwritten_condition(deltas: Sequence[SideDelta]) -> str | None:
    """The condition whose rows the overwrites among the deltas replaced, kept for later merges."""
    manifests = [delta.manifest for delta in deltas if delta.overwrites]
    return any_of(manifest.overwritten if manifest.HasField("overwritten") else "true" for manifest in manifests)


def _falls_in(schema: Schema, file: DataFileRef, delta: SideDelta) -> bool:
    """Whether a file may have rows that a delta overwrote; `schema` is the one that the delta was written for."""
    if not delta.manifest.HasField("overwritten"):
        return True
    try:
        return may_match(parse_filter(delta.manifest.overwritten, schema), file)
    except Invalid:  # a merge joined the conditions of several deltas and schemas: any row may match
        return True


def _newly_required(merged: Schema, side: Schema) -> list[int]:
    """The columns, at any depth, that are required in the merged schema and optional on the side."""
    return [
        id for id, way in merged.ways.items() if way[-1].required and id in side.ways and not side.ways[id][-1].required
    ]


def _may_be_null(file: DataFileRef, id: int) -> bool:
    statistics = [column for column in file.statistics if column.field_id == id]
    return not statistics or not statistics[0].HasField("null_count") or statistics[0].null_count > 0


def _with_optional(schema: Schema, id: int) -> Schema:
    """The schema with one column made optional, even a key column: rows are never lost for a constraint."""
    key = [key_id for key_id in schema.identifier_ids if key_id != id]
    path = tuple(field.name for field in schema.way_by_id(id))
    return make_optional(Schema(schema.fields, 0, key, schema.unknown), path)


def _spec_text(table: TableState) -> str:
    return ", ".join(spec_texts(table.spec, table.schema)) or "none"


def _order_text(table: TableState) -> str:
    return ", ".join(order_texts(table.sort_order, table.schema)) or "none"


def _changes_text(did: frozenset[str]) -> str:
    return ", ".join(sorted(did)) or "unchanged"


def _value_text(value: object) -> str:
    return "unset" if value is None else str(value)
