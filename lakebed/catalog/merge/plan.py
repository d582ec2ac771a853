"""The plan of a three-way merge, and its application: merge, cherry-pick and revert differ only in their states.

There are three states: the base, ours (the line as it is) and theirs. A merge's base is the newest commit that both
sides follow from. A cherry-pick takes the state before the commit as base and the commit as theirs; a revert takes the
commit as base and the state before it as theirs.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from lakebed.catalog.data.changes import change_files, delta_of, put_rows
from lakebed.catalog.data.levels import entering
from lakebed.catalog.data.row_changes import Written
from lakebed.catalog.data.target import target_of
from lakebed.catalog.merge.bases import Bases
from lakebed.catalog.merge.contents import SeenAs, as_it_is
from lakebed.catalog.merge.fields import with_fields
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.merge.objects import ThreeWay
from lakebed.catalog.merge.outcome import Outcome
from lakebed.catalog.merge.settling import AnyConflict, Settling
from lakebed.catalog.merge.sides import ACTIVE, FIELDS, STATE, STREAM, MergeSide
from lakebed.catalog.merge.states import ObjectState, read_states, rely_on_states
from lakebed.catalog.merge.tree import MergedTree
from lakebed.catalog.objects.properties import put_properties
from lakebed.catalog.tables.tables import TableState, note_dropped, put_schema, schema_of, table_state
from lakebed.catalog.transaction.bodies import SCHEMA
from lakebed.catalog.transaction.bound import bound_to
from lakebed.catalog.transaction.conflicts import MergeConflict
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.tombstones import check_not_purged, purged_ids
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import AttributeRead, Operation
from lakebed.metastore import Commit as StoredCommit
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.delta import EXISTING
from lakebed.table.manifest.inline import file_paths
from lakebed.table.merge.files import FileMerge, merged_delta
from lakebed.table.schema.schema import Schema

_CONTAINERS = (pb.NAMESPACE, pb.TABLE, pb.EDITION)
"""What has other objects in it."""


@dataclass(frozen=True, slots=True)
class Triple:
    """What to merge: the base, theirs, the commits of both sides since the base, and the objects to compare.

    `seen_as` changes how the merge sees the files of ours. `at_base` are the merges that brought what the base has too.
    `bases` are all commits that both sides follow from, of which `base` is the newest; only a merge has them.
    """

    base: Head
    theirs: Head
    ours_commits: tuple[StoredCommit, ...]
    theirs_commits: tuple[StoredCommit, ...]
    objects: Collection[str]
    seen_as: SeenAs = as_it_is
    at_base: frozenset[Version] = frozenset()
    bases: Bases | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge would do: an outcome for each object, the conflicts, and the changes that lost to drops."""

    outcomes: Sequence[Outcome]
    conflicts: tuple[AnyConflict, ...]
    unsettled: tuple[AnyConflict, ...]
    reported: tuple[MergeConflict, ...]

    @property
    def rows_read(self) -> int:
        """How many rows of files that both sides changed were read."""
        return sum(outcome.rows[1].rows_read for outcome in self.outcomes if outcome.rows is not None)


def plan(work: Work, triple: Triple, settling: Settling) -> Plan:
    """Compare the three states of every object, and settle conflicts."""
    context = work.context
    base = Work(context, triple.base.ref, triple.base.version)
    their_work = Work(context, triple.theirs.ref, triple.theirs.version)
    given = _without_purged(their_work, list(triple.objects))
    wanted = _without_purged(their_work, _with_levels(base, work, their_work, given))
    objects = [*wanted, *_inside_new_namespaces(base, work, their_work, wanted)]
    common = frozenset() if triple.bases is None else triple.bases.common
    ours = MergeSide.of(work, triple.ours_commits, objects, triple.at_base, common)
    theirs = MergeSide.of(their_work, triple.theirs_commits, objects, triple.at_base, common)
    rely_on_states(work, ours.states)
    merging = ThreeWay(base, ours, theirs, settling, triple.seen_as, triple.bases)
    # An object that neither side has any more is not read at the base: it may have been purged.
    before = read_states(base, [id for id in objects if id in ours.states or id in theirs.states])
    merge_one = _merge_picked_object if triple.seen_as is not as_it_is else _merge_object
    editions = [id for id in objects if _is_edition(ours.states.get(id) or theirs.states.get(id))]
    merged = {id: merge_one(merging, id, before.get(id)) for id in objects if id not in editions}
    merging.tables = {id: outcome for id, outcome in merged.items() if outcome is not None}
    merging.shown.update(_shown(work, merging, editions))
    merged |= {id: merge_one(merging, id, before.get(id)) for id in editions}
    tree = MergedTree(merging, {id: outcome for id in objects if (outcome := merged[id]) is not None})
    tree.settle()
    _conflict_with_purges(work, their_work, tree.outcomes.values())
    return Plan(
        tuple(tree.outcomes.values()), tuple(merging.conflicts), tuple(merging.unsettled), tuple(merging.reported)
    )


def apply(work: Work, plan: Plan, operation: str) -> None:
    """Stage the plan on our side: first all lives, because the later steps ask whether objects are alive."""
    outcomes = [one for one in plan.outcomes if not one.skipped and (one.ours is not None or one.bring)]
    settled = {conflict.object_id for conflict in plan.conflicts}
    changes = [_bring_life(work, one) if one.ours is None else _change_life(work, one, one.ours) for one in outcomes]
    for outcome, life_changes in zip(outcomes, changes, strict=True):
        if outcome.ours is None:
            _bring_parts(work, outcome, operation)
        else:
            is_logged = _change_parts(work, outcome, operation, life_changes)
            if not is_logged and outcome.id in settled:  # so that a merge the other way round sees the decision
                work.note(Operation(operation, outcome.id, last_name(work, outcome.id), detail="kept"))


def _with_levels(base: Work, ours: Work, theirs: Work, objects: Sequence[str]) -> list[str]:
    """The objects, with the tables of first editions, which have their rows, and the editions that theirs activated."""
    states = read_states(theirs, objects)
    first = [state for state in (read_states(ours, objects) | states).values() if state.is_first_edition]
    tables = [state for state in states.values() if state.type == pb.TABLE]
    swapped = [state.shown for state in tables if state.active != _active(base, state.id)]
    return list(dict.fromkeys([*objects, *(state.place[0] for state in first), *swapped]))


def _active(work: Work, table: str) -> str:
    storage = work.attribute(table, Attribute.STORAGE)
    return storage.active_edition_id if isinstance(storage, pb.TableStorage) else ""


def _is_edition(state: ObjectState | None) -> bool:
    return state is not None and state.type == pb.EDITION


def _shown(work: Work, merging: ThreeWay, editions: Collection[str]) -> Iterator[str]:
    """The editions that tables show after the merge."""
    for outcome in merging.tables.values():
        state = outcome.theirs if outcome.bring or ACTIVE in outcome.take else outcome.ours
        if state is not None and state.type == pb.TABLE and not outcome.dropped:
            yield state.shown
    around = {state.place[0] for id in editions if (state := merging.ours.states.get(id)) is not None}
    for table in read_states(work, around - merging.tables.keys()).values():
        yield table.shown


def _without_purged(theirs: Work, objects: Sequence[str]) -> list[str]:
    """The objects that can still be merged; `Expired` if theirs, an older state, shows a purged object alive."""
    gone = purged_ids(theirs.context, objects)
    for object_id in gone:
        if theirs.is_alive(object_id):
            check_not_purged(theirs.context, theirs.ref, object_id)
    return [object_id for object_id in objects if object_id not in gone]


def _conflict_with_purges(work: Work, theirs: Work, outcomes: Iterable[Outcome]) -> None:
    """Conflict with a concurrent purge, on the source's lines, of an object that this merge brings or undrops."""
    lines = {theirs.ref.line.id, *(at.line for at in theirs.ref.line.ancestry)} - {work.ref.line.id}
    for outcome in outcomes:
        ours = outcome.ours
        if not outcome.skipped and (outcome.bring or (ours is not None and not ours.is_kept and not outcome.dropped)):
            for line in lines:
                work.read(AttributeRead(outcome.id, Attribute.LIFE, line))


def _inside_new_namespaces(base: Work, ours: Work, theirs: Work, objects: Collection[str]) -> list[str]:
    """Objects unknown to ours in namespaces that are created or undropped here, whenever theirs put them there.

    The same for partitions in tables.
    """
    arriving = [
        state.id
        for state in read_states(theirs, objects).values()
        if state.type in _CONTAINERS
        and theirs.is_alive(state.id)
        and not (ours.is_alive(state.id) and base.is_alive(state.id))
    ]
    inside = dict.fromkeys(child for namespace in arriving for child in _descendants(theirs, namespace))
    ours.load((object_id, Attribute.LIFE) for object_id in inside)
    return [object_id for object_id in inside if object_id not in objects and ours.life(object_id) is None]


def _descendants(work: Work, namespace: str) -> Iterator[str]:
    for child in work.children(namespace):
        yield child.id
        if child.type in _CONTAINERS:
            yield from _descendants(work, child.id)


def _merge_picked_object(merging: ThreeWay, object_id: str, base: ObjectState | None) -> Outcome | None:
    """The same for a picked or reverted commit: an object that it creates, and ours has dropped, is undropped."""
    ours = merging.ours.states.get(object_id)
    if base is None and ours is not None and not ours.is_kept and object_id in merging.theirs.states:
        return merging.merge(object_id, ours, merging.ours.work)
    return _merge_object(merging, object_id, base)


def _merge_object(merging: ThreeWay, object_id: str, base: ObjectState | None) -> Outcome | None:
    """Merge one object. If both sides got it only after the base, its state at the later arrival is its base."""
    ours = merging.ours.states.get(object_id)
    if base is not None or ours is None or object_id not in merging.theirs.states:
        return merging.merge(object_id, base, merging.base_work)
    ours_birth, theirs_birth = merging.ours.birth(object_id), merging.theirs.birth(object_id)
    if ours_birth is None and not ours.is_kept:  # dropped by a reset to before its birth: it becomes as theirs has it
        return merging.merge(object_id, ours, merging.ours.work)
    if ours_birth is None or theirs_birth is None:
        return merging.merge(object_id, None, merging.base_work)
    later = max(ours_birth, theirs_birth, key=lambda commit: commit.version)
    context, catalog = merging.base_work.context, merging.base_work.ref.catalog
    then = Work(context, open_line(context, catalog, later.line), later.version)
    return merging.merge(object_id, read_states(then, [object_id]).get(object_id), then)


def _take_level(work: Work, object_id: str, theirs: ObjectState, what: str) -> None:
    """Show the edition or the stream that theirs shows; the rest of the storage stays ours."""
    storage = copy.deepcopy(work.attribute(object_id, Attribute.STORAGE))
    assert isinstance(storage, pb.TableStorage)
    if what == STREAM:
        storage.stream_id = theirs.stream
    elif theirs.active:
        storage.active_edition_id = theirs.active
    else:
        storage.ClearField("active_edition_id")
    work.put_attribute(object_id, Attribute.STORAGE, storage)


def _bring_life(work: Work, outcome: Outcome) -> list[str]:
    """Create an object of theirs on our side, with the same id."""
    assert outcome.theirs is not None
    life = copy.deepcopy(outcome.theirs.life)
    assert life is not None
    for mark in ("create_version", "drop_version", "drop_type"):
        life.ClearField(mark)
    life.container_id, life.name = outcome.place
    life.dropped = outcome.dropped
    if outcome.dropped:
        life.drop_type = pb.MARKED
    work.put_brought_life(outcome.id, life)
    return ["created"]


def _bring_parts(work: Work, outcome: Outcome, operation: str) -> None:
    theirs = outcome.theirs
    assert theirs is not None
    for attribute, record in theirs.records.items():
        work.put_attribute(outcome.id, attribute, record)
    counts: dict[str, int] = {}
    if theirs.table is not None:
        added = () if outcome.files is None else outcome.files.added
        delta = replace(delta_of(theirs.table, operation), added=added, summary=outcome.summary)
        work.deltas[theirs.table.partition] = delta
        counts = delta.counts
    work.note(Operation(operation, outcome.id, last_name(work, outcome.id), counts, "created", outcome.summary))


def _change_life(work: Work, outcome: Outcome, ours: ObjectState) -> list[str]:
    if outcome.dropped is ours.is_kept or (not outcome.dropped and outcome.place != ours.place):
        return [_put_life(work, outcome, ours)]
    return []


def _change_parts(work: Work, outcome: Outcome, operation: str, life_changes: list[str]) -> bool:
    """Change the object's attributes and files, and log it; whether there was anything to log."""
    changes = life_changes if outcome.dropped else life_changes + _put_attributes(work, outcome)
    files: FileMerge | None = None
    if not outcome.dropped and (outcome.files is not None or outcome.rows is not None):
        assert outcome.ours is not None
        assert outcome.ours.table is not None
        state = table_state(work, outcome.ours.table.id)
        files = outcome.files or _written_rows(work, state, outcome)
    if not outcome.dropped and files is not None:
        delta = replace(
            delta_of(state, operation),
            added=files.added,
            removed=files.removed,
            changed=files.changed,
            rewrites=files.rewrites,
            overwritten=outcome.overwritten,
            summary=outcome.summary,
        )
        change_files(work, state, entering(work, state, delta), ", ".join([*changes, "data"]))
        return True
    if changes:
        work.note(Operation(operation, outcome.id, last_name(work, outcome.id), detail=", ".join(changes)))
    return bool(changes)


def _written_rows(work: Work, state: TableState, outcome: Outcome) -> FileMerge | None:
    """The files of a merge of rows, with the vectors and rows that it writes; None if ours stay as they are."""
    assert outcome.rows is not None
    compared, rows = outcome.rows
    store = work.context.files
    merged = rows.live(store).write(store, state.data_folder)
    work.wrote({file.dv_path for file in merged.values() if file.dv_path and file.status == EXISTING})
    written = Written() if rows.merged is None else rows.merged.write(target_of(work, state))
    work.wrote(file_paths(written.files))
    put_rows(work, state, written.bodies)
    files = merged_delta(compared, merged)
    files = replace(files, added=(*files.added, *written.files))
    return files if files.added or files.removed or files.changed or files.rewrites else None


def _put_life(work: Work, outcome: Outcome, ours: ObjectState) -> str:
    life = copy.deepcopy(ours.life)
    assert life is not None
    life.dropped = outcome.dropped
    if outcome.dropped:
        life.drop_type = pb.MARKED
        _rely_on_children(work, outcome.id, ours.type)
    else:
        life.ClearField("drop_type")
        life.container_id, life.name = outcome.place
    work.put_life(outcome.id, life)
    return "dropped" if outcome.dropped else "renamed" if ours.is_kept else "undropped"


def _rely_on_children(work: Work, object_id: str, kind: int) -> None:
    """Read all listings below a namespace that is dropped: an object created there meanwhile would be lost silently."""
    if kind in _CONTAINERS:
        for child in list(work.children(object_id)):
            _rely_on_children(work, child.id, child.type)


def _put_attributes(work: Work, outcome: Outcome) -> list[str]:
    done: list[str] = []
    if outcome.properties is not None:
        put_properties(work, bound_to(outcome.id), outcome.properties)
        done.append("properties")
    if outcome.fields is not None:
        _put_fields(work, outcome.id, outcome.fields)
        done.append(FIELDS)
    if outcome.schema is not None:
        _put_schema(work, outcome.id, outcome.schema)
        done.append("schema")
    for what in dict.fromkeys(outcome.take):
        _take_theirs(work, outcome, what)
        done.append(what)
    return done


def _put_fields(work: Work, object_id: str, fields: Mapping[str, str]) -> None:
    stored = work.attribute(object_id, Attribute.STORAGE) or work.attribute(object_id, Attribute.PROPERTIES)
    work.put_attribute(object_id, *with_fields(stored, fields))


def _put_schema(work: Work, table: str, schema: Schema) -> None:
    current = cast(pb.TableSchema, work.attribute(table, Attribute.SCHEMA))
    note_dropped(work, table, schema_of(work, table, current.schema_id), schema)
    if schema.id:  # it is theirs: every line can read its body
        work.put_attribute(table, Attribute.SCHEMA, pb.TableSchema(schema_id=schema.id))
        return
    number = work.context.metastore.allocate(table, SCHEMA)
    put_schema(work, table, Schema(schema.fields, number, schema.identifier_ids, schema.unknown))


def _take_theirs(work: Work, outcome: Outcome, what: str) -> None:
    theirs = outcome.theirs
    assert theirs is not None
    if what == "view":
        record = theirs.records.get(Attribute.VIEW, pb.ViewText())
        work.put_attribute(outcome.id, Attribute.VIEW, record)
    elif what in (ACTIVE, STREAM):
        _take_level(work, outcome.id, theirs, what)
    elif what == STATE:
        record = theirs.records.get(Attribute.PARTITION, pb.TablePartition())
        work.put_attribute(outcome.id, Attribute.PARTITION, record)
    elif what == "partition":
        work.put_attribute(outcome.id, Attribute.PARTITION, theirs.records[Attribute.PARTITION])
    elif theirs.table is not None and what == "spec":
        work.put_attribute(outcome.id, Attribute.SPEC, pb.TableSpec(spec_id=theirs.table.spec.id))
    elif theirs.table is not None:
        work.put_attribute(outcome.id, Attribute.SORT, pb.TableSortOrder(sort_order_id=theirs.table.sort_order.id))
