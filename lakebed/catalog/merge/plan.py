"""Bringing what one state of a catalog has over another into a line: merge, cherry-pick and revert are all this.

The states are three: the base, ours (the line as it is) and theirs. A merge's base is the newest commit that both
follow from. To pick a commit is to merge it over the state before it; to revert one is to merge the state before it
over the one that it made.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.levels import entering
from lakebed.catalog.merge.merge_base import Head
from lakebed.catalog.merge.objects import Outcome, SeenAs, SharedKeys, ThreeWay, as_it_is
from lakebed.catalog.merge.sides import MergeSide
from lakebed.catalog.merge.states import ObjectState, read_states
from lakebed.catalog.merge.tree import MergedTree
from lakebed.catalog.objects.properties import put_properties
from lakebed.catalog.tables.tables import put_schema, table_state
from lakebed.catalog.transaction.bodies import SCHEMA
from lakebed.catalog.transaction.conflicts import MergeConflict
from lakebed.catalog.transaction.lines import open_line
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.tombstones import check_not_purged, purged_ids
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import AttributeRead, DataRead, Operation
from lakebed.metastore import Commit as StoredCommit
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.merge.strategy import Settle
from lakebed.table.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Triple:
    """What is merged: the base, theirs, the commits of both sides since the base, the objects that are looked at.

    `seen_as` says how the merge is to see the files of ours.
    """

    base: Head
    theirs: Head
    ours_commits: tuple[StoredCommit, ...]
    theirs_commits: tuple[StoredCommit, ...]
    objects: Collection[str]
    seen_as: SeenAs = as_it_is


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge would do: outcomes by object, conflicts, and what drops won over."""

    outcomes: Sequence[Outcome]
    conflicts: tuple[MergeConflict, ...]
    reported: tuple[MergeConflict, ...]


def plan(work: Work, triple: Triple, settle: Settle, shared: SharedKeys) -> Plan:
    """Compare the three states of every object, and settle what can be settled."""
    context = work.context
    base = Work(context, triple.base.ref, triple.base.version)
    their_work = Work(context, triple.theirs.ref, triple.theirs.version)
    wanted = _not_purged(their_work, list(triple.objects))
    objects = [*wanted, *_inside_of_what_comes(base, work, their_work, wanted)]
    ours = MergeSide.of(work, triple.ours_commits, objects)
    theirs = MergeSide.of(their_work, triple.theirs_commits, objects)
    _remember(work, ours)
    merging = ThreeWay(base, ours, theirs, settle, shared, triple.seen_as)
    # What neither side has any more need not be known as it was: it may have been purged.
    before = read_states(base, [one for one in objects if one in ours.states or one in theirs.states])
    merged = _picked if triple.seen_as is not as_it_is else _merged
    found = {one: merged(merging, one, before.get(one)) for one in objects}
    tree = MergedTree(merging, {one: outcome for one, outcome in found.items() if outcome is not None})
    tree.settle()
    _rely_on_no_purge(work, their_work, tree.outcomes.values())
    return Plan(tuple(tree.outcomes.values()), tuple(merging.conflicts), tuple(merging.reported))


def apply(work: Work, plan: Plan, operation: str) -> None:
    """Do what was planned to our side: first all lives, since what comes then asks whether objects are alive."""
    done = [one for one in plan.outcomes if not one.skipped and (one.ours is not None or one.bring)]
    settled = {one.object_id for one in plan.conflicts}
    details = [_bring_life(work, one) if one.ours is None else _change_life(work, one, one.ours) for one in done]
    for outcome, detail in zip(done, details, strict=True):
        if outcome.ours is None:
            _bring_parts(work, outcome, operation)
        else:
            told = _change_parts(work, outcome, operation, detail)
            if not told and outcome.id in settled:  # so that merging the other way round knows that it was decided
                work.note(Operation(operation, outcome.id, last_name(work, outcome.id), detail="kept"))


def _not_purged(theirs: Work, objects: Sequence[str]) -> list[str]:
    """What can still be merged. What was purged is dead on every line; `Expired` if theirs is from before."""
    gone = purged_ids(theirs.context, objects)
    for one in gone:
        if theirs.is_alive(one):
            check_not_purged(theirs.context, theirs.ref, one)
    return [one for one in objects if one not in gone]


def _rely_on_no_purge(work: Work, theirs: Work, outcomes: Iterable[Outcome]) -> None:
    """Conflict with whoever purges, where it comes from, what this merge brings or brings back."""
    lines = {theirs.ref.line.id, *(at.line for at in theirs.ref.line.ancestry)} - {work.ref.line.id}
    for one in outcomes:
        if not one.skipped and (one.bring or (one.ours is not None and not one.ours.is_kept and not one.dropped)):
            for line in lines:
                work.read(AttributeRead(one.id, Attribute.LIFE, line))


def _inside_of_what_comes(base: Work, ours: Work, theirs: Work, objects: Collection[str]) -> list[str]:
    """What is in a namespace that comes, or came back, and ours never had, whenever theirs put it there."""
    coming = [
        one.id
        for one in read_states(theirs, objects).values()
        if one.type == pb.NAMESPACE
        and theirs.is_alive(one.id)
        and not (ours.is_alive(one.id) and base.is_alive(one.id))
    ]
    inside = dict.fromkeys(child for namespace in coming for child in _descendants(theirs, namespace))
    ours.load((one, Attribute.LIFE) for one in inside)
    return [one for one in inside if one not in objects and ours.life(one) is None]


def _descendants(work: Work, namespace: str) -> Iterator[str]:
    for child in work.children(namespace):
        yield child.id
        if child.type == pb.NAMESPACE:
            yield from _descendants(work, child.id)


def _picked(merging: ThreeWay, object_id: str, base: ObjectState | None) -> Outcome | None:
    """The same of a picked commit: what it made, and ours had and dropped since, is made again."""
    mine = merging.ours.states.get(object_id)
    if base is None and mine is not None and not mine.is_kept and object_id in merging.theirs.states:
        return merging.merge(object_id, mine, merging.ours.work)
    return _merged(merging, object_id, base)


def _merged(merging: ThreeWay, object_id: str, base: ObjectState | None) -> Outcome | None:
    """The outcome of one object. What both sides got since the base was there, as the later of them got it."""
    mine = merging.ours.states.get(object_id)
    if base is not None or mine is None or object_id not in merging.theirs.states:
        return merging.merge(object_id, base, merging.base_work)
    ours, theirs = merging.ours.birth(object_id), merging.theirs.birth(object_id)
    if ours is None and not mine.is_kept:  # a reset to before its birth left it dropped: it comes as theirs has it
        return merging.merge(object_id, mine, merging.ours.work)
    if ours is None or theirs is None:
        return merging.merge(object_id, None, merging.base_work)
    later = max(ours, theirs, key=lambda one: one.version)
    context, catalog = merging.base_work.context, merging.base_work.ref.catalog
    then = Work(context, open_line(context, catalog, later.line), later.version)
    return merging.merge(object_id, read_states(then, [object_id]).get(object_id), then)


def _remember(work: Work, ours: MergeSide) -> None:
    """What a merge decides rests on all of this: if any of it changes before the commit, it is decided anew."""
    for object_id, state in ours.states.items():
        work.read(AttributeRead(object_id, Attribute.LIFE))
        if state.table is not None:
            work.read(DataRead(state.table.partition))


def _bring_life(work: Work, outcome: Outcome) -> list[str]:
    """Give our side an object of theirs, with its id."""
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
        work.deltas[outcome.id] = replace(delta_of(theirs.table, operation), added=added)
        counts = work.deltas[outcome.id].counts
    work.note(Operation(operation, outcome.id, last_name(work, outcome.id), counts, "created"))


def _change_life(work: Work, outcome: Outcome, ours: ObjectState) -> list[str]:
    if outcome.dropped is ours.is_kept or (not outcome.dropped and outcome.place != ours.place):
        return [_put_life(work, outcome, ours)]
    return []


def _change_parts(work: Work, outcome: Outcome, operation: str, done: list[str]) -> bool:
    """Change what the object is, and say so in the log; whether there was anything to say."""
    if not outcome.dropped:
        done = done + _put_parts(work, outcome)
    if not outcome.dropped and outcome.files is not None:
        state, files = table_state(work, outcome.id), outcome.files
        delta = replace(
            delta_of(state, operation),
            added=files.added,
            removed=files.removed,
            changed=files.changed,
            rewrites=files.rewrites,
            overwritten=outcome.overwritten,
        )
        change_files(work, state, entering(work, state, delta), ", ".join([*done, "data"]))
        return True
    if done:
        work.note(Operation(operation, outcome.id, last_name(work, outcome.id), detail=", ".join(done)))
    return bool(done)


def _put_life(work: Work, outcome: Outcome, ours: ObjectState) -> str:
    life = copy.deepcopy(ours.life)
    assert life is not None
    life.dropped = outcome.dropped
    if outcome.dropped:
        life.drop_type = pb.MARKED
        _read_inside(work, outcome.id, ours.type)
    else:
        life.ClearField("drop_type")
        life.container_id, life.name = outcome.place
    work.put_life(outcome.id, life)
    return "dropped" if outcome.dropped else "renamed" if ours.is_kept else "undropped"


def _read_inside(work: Work, namespace: str, kind: int) -> None:
    """What is put into a namespace before it is dropped would be lost without a word."""
    if kind == pb.NAMESPACE:
        for child in list(work.children(namespace)):
            _read_inside(work, child.id, child.type)


def _put_parts(work: Work, outcome: Outcome) -> list[str]:
    done: list[str] = []
    if outcome.properties is not None:
        put_properties(work, outcome.id, outcome.properties)
        done.append("properties")
    if outcome.schema is not None:
        _put_schema(work, outcome.id, outcome.schema)
        done.append("schema")
    for what in dict.fromkeys(outcome.take):
        _take(work, outcome, what)
        done.append(what)
    return done


def _put_schema(work: Work, table: str, schema: Schema) -> None:
    if schema.id:  # theirs: its body is there for every line
        work.put_attribute(table, Attribute.SCHEMA, pb.TableSchema(schema_id=schema.id))
        return
    number = work.context.metastore.allocate(table, SCHEMA)
    put_schema(work, table, Schema(schema.fields, number, schema.identifier_ids))


def _take(work: Work, outcome: Outcome, what: str) -> None:
    theirs = outcome.theirs
    assert theirs is not None
    if what == "view":
        record = theirs.records.get(Attribute.VIEW, pb.ViewText())
        work.put_attribute(outcome.id, Attribute.VIEW, record)
    elif theirs.table is not None and what == "spec":
        work.put_attribute(outcome.id, Attribute.SPEC, pb.TableSpec(spec_id=theirs.table.spec.id))
    elif theirs.table is not None:
        work.put_attribute(outcome.id, Attribute.SORT, pb.TableSortOrder(sort_order_id=theirs.table.sort_order.id))
