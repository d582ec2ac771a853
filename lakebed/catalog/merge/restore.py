"""Going back: a branch as it was (reset), one table as it was (restore). Both are new commits; nothing is forgotten."""

import copy
from collections.abc import Mapping
from dataclasses import replace

from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.levels import entering
from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.merge_base import Head, divergence, touched
from lakebed.catalog.merge.states import ObjectState, read_states
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import DEFINITION, exists, find, last_name, name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, NotFound
from lakebed.metastore import AttributeRead, DataRead, Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import state as file_state

_EMPTY = {
    Attribute.SPEC: pb.TableSpec(spec_id=0),
    Attribute.SORT: pb.TableSortOrder(sort_order_id=0),
}
"""What stands for an attribute that was not written yet then."""


def reset(scope: Scope, version: Version, request: Request) -> Commit | None:
    """Make the line what it was at a version: what was made since is dropped, what was dropped is back."""

    def do(work: Work) -> None:
        target = Head(scope.ref, version)
        apart = divergence(work.context, Head(scope.ref, work.base), target)
        objects = dict.fromkeys([*touched(apart.ours), *touched(apart.theirs)])
        past = Work(work.context, scope.ref, version)
        work.parents = (LineAt(scope.ref.line.id, version),)
        work.note(Operation("reset", work.top, detail=str(version)))
        _take_back(work, past, list(objects), "reset")

    return scope.change(do, request)


def restore_table(scope: Scope, name: Name, version: Version, request: Request) -> Commit | None:
    """Make a table what it was at a version, its name included: the one of this name now, or else the one of then."""

    def do(work: Work) -> None:
        past = Work(work.context, scope.ref, version)
        table = find(work if exists(work, name, pb.TABLE) else past, parse_name(name), pb.TABLE)
        if not past.is_alive(table):
            raise NotFound(
                "the table was not there then", subject=spelled(parse_name(name)), found=f"version {version}"
            )
        _check_place(work, past, table)
        _take_back(work, past, [table], "restore")
        if work.has_no_operations():  # it was like that already
            work.note(Operation("restore", table, last_name(work, table)))

    return scope.change(do, request)


def _check_place(work: Work, past: Work, table: str) -> None:
    life = past.life(table)
    assert life is not None
    if not work.is_alive(life.container_id):
        raise NotFound(
            "the namespace that the table was in was dropped",
            subject=spelled(name_of(past, table)),
            advice="Undrop the namespace first.",
        )
    holder = work.resolve(life.container_id, life.name)
    if holder not in (None, table):
        raise AlreadyExists(
            "the name that the table had is taken",
            subject=spelled(name_of(past, table)),
            found=f"object {holder}",
            advice="Rename or drop what has it, and restore again.",
        )


def _take_back(work: Work, past: Work, objects: list[str], operation: str) -> None:
    before, now = read_states(past, objects), read_states(work, objects)
    for object_id in before.keys() - now.keys():
        if past.is_alive(object_id):
            check_not_purged(work.context, work.ref, object_id)
    for object_id, state in now.items():
        work.read(AttributeRead(object_id, Attribute.LIFE))
        if state.table is not None:
            work.read(DataRead(state.table.partition))
    lives = {one: _life(work, past, before.get(one), state) for one, state in now.items()}
    for object_id, state in now.items():
        _take_back_parts(work, past, before, state, operation, lives[object_id])


def _life(work: Work, past: Work, before: ObjectState | None, now: ObjectState) -> list[str]:
    """Give an object the life that it had; what was not there then is dropped.

    What was dead then with what it was in can't go back into that, which is dead again: it stays there, or is dropped.
    """
    if now.life is None:
        return []
    then = None if before is None else before.life
    life = copy.deepcopy(now.life)
    life.dropped = then is None or then.dropped
    if then is not None and past.is_alive(then.container_id):
        life.container_id, life.name = then.container_id, then.name
    elif then is not None and now.is_kept:
        life.dropped = life.dropped or then.container_id != life.container_id
    elif then is not None:
        life.dropped = True
    if life.dropped and now.is_kept:
        life.drop_type = pb.MARKED
    elif not life.dropped:
        life.ClearField("drop_type")
    if (life.dropped, life.container_id, life.name) == (now.life.dropped, *now.place) or (
        life.dropped and not now.is_kept
    ):
        return []
    work.put_life(now.id, life)
    return ["dropped" if life.dropped else "renamed" if now.is_kept else "undropped"]


def _take_back_parts(
    work: Work, past: Work, states: Mapping[str, ObjectState], now: ObjectState, operation: str, done: list[str]
) -> None:
    before = states.get(now.id)
    if before is not None and before.is_kept and work.is_alive(now.id):
        for attribute in DEFINITION:
            if _take_back_attribute(work, attribute, before, now):
                done.append(attribute.name.lower())
        if before.table is not None and _take_back_files(work, past, before, operation, done):
            return
    if done:
        work.note(Operation(operation, now.id, last_name(work, now.id), detail=", ".join(done)))


def _take_back_attribute(work: Work, attribute: Attribute, before: ObjectState, now: ObjectState) -> bool:
    if now.life is None and attribute is not Attribute.PROPERTIES:
        return False
    then, current = (one.records.get(attribute, _EMPTY.get(attribute)) for one in (before, now))
    if now.life is None:  # the catalog itself
        then, current = past_properties(before), past_properties(now)
    if then is None or then == current:
        return False
    work.put_attribute(now.id, attribute, then)
    return True


def past_properties(state: ObjectState) -> pb.CatalogRecord:
    """The catalog's own properties as a record."""
    return pb.CatalogRecord(properties=dict(state.properties))


def _take_back_files(work: Work, past: Work, before: ObjectState, operation: str, done: list[str]) -> bool:
    assert before.table is not None
    state = table_state(work, before.id)
    then, now = committed_files(past, before.table), committed_files(work, state)
    added = tuple(one for path, one in then.items() if path not in now)
    removed = tuple(one for path, one in now.items() if path not in then)
    changed = tuple(one for path, one in then.items() if path in now and _differ(one, now[path]))
    if not (added or removed or changed):
        return False
    delta = replace(delta_of(state, operation), added=added, removed=removed, changed=changed)
    change_files(work, state, entering(work, state, delta), ", ".join([*done, "data"]))
    return True


def _differ(one: DataFileRef, other: DataFileRef) -> bool:
    return file_state(one) != file_state(other)
