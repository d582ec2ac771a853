"""Reset a branch, or restore one table, to an earlier version. Both are new commits; no history is lost."""

import copy
from collections.abc import Mapping
from dataclasses import replace

from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.levels import entering
from lakebed.catalog.data.live_files import committed_files
from lakebed.catalog.merge.merge_base import Head, divergence, touched
from lakebed.catalog.merge.states import ObjectState, read_states, rely_on_states
from lakebed.catalog.tables.editions import find_whole_table, first_edition
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import DEFINITION, exists, last_name, name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, NotFound
from lakebed.metastore import Operation
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.merge.sides import state as file_state

_EMPTY = {
    Attribute.SPEC: pb.TableSpec(spec_id=0),
    Attribute.SORT: pb.TableSortOrder(sort_order_id=0),
}
"""What to write for an attribute that had not been written yet."""


def reset(scope: Scope, version: Version, request: Request) -> Commit | None:
    """Make the line what it was at a version: objects created since are dropped, dropped objects are undropped."""

    def do(work: Work) -> None:
        target = Head(scope.ref, version)
        apart = divergence(work.context, Head(scope.ref, work.base), target)
        objects = dict.fromkeys([*touched(apart.ours), *touched(apart.theirs)])
        past = Work(work.context, scope.ref, version)
        work.parents = (LineAt(scope.ref.line.id, version),)
        work.note(Operation("reset", work.top, detail=str(version)))
        _restore_objects(work, past, list(objects), "reset")

    return scope.change(do, request)


def restore_table(scope: Scope, name: Name, version: Version, request: Request) -> Commit | None:
    """Make a table what it was at a version, its name included. `name` is looked up now, and else at that version."""

    def do(work: Work) -> None:
        past = Work(work.context, scope.ref, version)
        table = find_whole_table(work if exists(work, name, pb.TABLE) else past, name)
        _restore_table(work, past, table, spelled(parse_name(name)))

    return scope.change(do, request)


def restore_table_by_id(scope: Scope, table: str, version: Version, request: Request) -> Commit | None:
    """The same for a table by its id."""

    def do(work: Work) -> None:
        _restore_table(work, Work(work.context, scope.ref, version), table, last_name(work, table))

    return scope.change(do, request)


def _restore_table(work: Work, past: Work, table: str, name: str) -> None:
    if not past.is_alive(table):
        raise NotFound("the table did not exist at that version", subject=name, found=f"version {past.base}")
    _check_place(work, past, table)
    check_not_purged(work.context, work.ref, table)
    inside = dict.fromkeys([first_edition(past, table), *_inside(work, past, table)])
    _restore_objects(work, past, [table, *inside], "restore")
    if work.has_no_operations():  # the table was like that already
        work.note(Operation("restore", table, last_name(work, table)))


def _inside(work: Work, past: Work, table: str) -> list[str]:
    """The editions and staged streams of a table, now or then, the outer ones first."""
    found = dict.fromkeys(child.id for view in (past, work) for child in view.children(table))
    deeper = (inner for child in found for inner in _inside(work, past, child))
    return list(dict.fromkeys([*found, *deeper]))


def _check_place(work: Work, past: Work, table: str) -> None:
    life = past.life(table)
    assert life is not None
    if not work.is_alive(life.container_id):
        raise NotFound(
            "the namespace of the table was dropped",
            subject=spelled(name_of(past, table)),
            advice="Undrop the namespace first.",
        )
    holder = work.resolve(life.container_id, life.name)
    if holder not in (None, table):
        raise AlreadyExists(
            "the name that the table had is taken by another object",
            subject=spelled(name_of(past, table)),
            found=f"object {holder}",
            advice="Rename or drop that object, and restore again.",
        )


def _restore_objects(work: Work, past: Work, objects: list[str], operation: str) -> None:
    before, now = read_states(past, objects), read_states(work, objects)
    for object_id in before.keys() - now.keys():
        if past.is_alive(object_id):
            check_not_purged(work.context, work.ref, object_id)
    rely_on_states(work, now)
    changes = {id: _restore_life(work, past, before.get(id), state) for id, state in now.items()}
    for object_id, state in now.items():
        _restore_parts(work, past, before, state, operation, changes[object_id])


def _restore_life(work: Work, past: Work, before: ObjectState | None, now: ObjectState) -> list[str]:
    """Give an object the life that it had; drop it if it did not exist then.

    An object that was dead with its container can't return to that container, which is dead again: it stays where it
    is if it is still in there, and is dropped otherwise. A first edition has no life before there is a second, and was
    there as long as its table was.
    """
    if now.life is None or (before is None and now.is_first_edition and not past.is_alive(now.place[0])):
        return []
    then = None if before is None else before.life
    life = copy.deepcopy(now.life)
    life.dropped = then.dropped if then is not None else not now.is_first_edition
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


def _restore_parts(
    work: Work, past: Work, states: Mapping[str, ObjectState], now: ObjectState, operation: str, changes: list[str]
) -> None:
    """Restore the object's attributes and files, and log all of it; `changes` are those of its life."""
    before = states.get(now.id)
    if before is not None and before.is_kept and work.is_alive(now.id):
        for attribute in DEFINITION:
            if _restore_attribute(work, attribute, before, now):
                changes.append(attribute.name.lower())
        if before.table is not None and _restore_files(work, past, before, operation, changes):
            return
    if changes:
        work.note(Operation(operation, now.id, last_name(work, now.id), detail=", ".join(changes)))


def _restore_attribute(work: Work, attribute: Attribute, before: ObjectState, now: ObjectState) -> bool:
    if now.life is None and attribute is not Attribute.PROPERTIES:
        return False
    then, current = (state.records.get(attribute, _EMPTY.get(attribute)) for state in (before, now))
    if now.life is None:  # the catalog itself
        then, current = _catalog_properties(before), _catalog_properties(now)
    if then is None or then == current:
        return False
    work.put_attribute(now.id, attribute, then)
    return True


def _catalog_properties(state: ObjectState) -> pb.CatalogRecord:
    return pb.CatalogRecord(properties=dict(state.properties))


def _restore_files(work: Work, past: Work, before: ObjectState, operation: str, changes: list[str]) -> bool:
    assert before.table is not None
    state = table_state(work, before.table.id)
    then, now = committed_files(past, before.table), committed_files(work, state)
    added = tuple(file for path, file in then.items() if path not in now)
    removed = tuple(file for path, file in now.items() if path not in then)
    changed = tuple(file for path, file in then.items() if path in now and file_state(file) != file_state(now[path]))
    if not (added or removed or changed):
        return False
    delta = replace(delta_of(state, operation), added=added, removed=removed, changed=changed)
    change_files(work, state, entering(work, state, delta), ", ".join([*changes, "data"]))
    return True
