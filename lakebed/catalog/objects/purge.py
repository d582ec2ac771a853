"""Purging: what was dropped goes for good, with all its past and its files.

First one commit marks the object, and all that is in it, as purged and writes their tombstones: from then on none of
them can be brought back, on any line. Then the records go, then the files. Killed anywhere, the same call goes on.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from lakebed.catalog.objects import undrop
from lakebed.catalog.transaction import tombstones
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.names import Name, first_names, parse_name, spelled
from lakebed.catalog.transaction.objects import Slot, bury, holder, last_name, slot_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.visibility import visible_states
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Expired, Invalid, NotFound, Unavailable
from lakebed.metastore import AttributeRead, Dropped, Line, ListingRead, Operation, Reader
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def purge(scope: Scope, kind: int, name: Name, object_id: str | None, request: Request) -> Commit:
    """Purge a dropped object, or go on with a purge that was broken off; the commit that marked it."""
    if scope.is_transaction:
        raise Invalid(
            f"{request.operation.replace('_', ' ')} can't be a part of a transaction",
            advice="Purge when it is over: what is purged can't be taken back.",
        )
    commit = scope.replayed(request) or _find_purge(scope.read(), kind, name, object_id)
    if commit is None:
        commit = scope.change(lambda work: _mark(work, kind, name, object_id), request)
    assert commit is not None, "only a transaction answers nothing"
    _finish(scope.context, scope.ref, [one for one in commit.operations if one.type == "purge"])
    return commit


def _find_purge(work: Work, kind: int, name: Name, object_id: str | None) -> Commit | None:
    """The commit that purged what is asked for, if nothing is left to purge under the name."""
    if object_id is not None:
        return tombstones.find_purge(work.context, work.ref, _find_dead(work, kind, name, object_id))
    rows = purged_rows(work, slot_of(work, parse_name(name)), kind)
    found = [tombstones.find_purge(work.context, work.ref, row.id) for row in rows]
    return max((commit for commit in found if commit is not None), key=lambda commit: commit.version, default=None)


def purged_rows(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> list[Dropped]:
    """What was purged out of a slot; nothing while something is in it, or is left to purge."""
    rows = undrop.dropped_rows(work, slot, kind, object_id)
    return [] if undrop.not_purged(rows) or _is_there(work, slot, kind, object_id) else rows


# Marking


def _mark(work: Work, kind: int, name: Name, object_id: str | None) -> None:
    found = _find_dead(work, kind, name, object_id)
    objects = [one for one in (found, *_inside(work, found)) if _life(work, one).drop_type != pb.PURGED]
    _check_unseen(work, last_name(work, found), objects)
    work.load((one, Attribute.STORAGE) for one in objects)
    for one in objects:
        work.note(Operation("purge", one, last_name(work, one), detail=_location(work, one)))
        bury(work, one, pb.PURGED)
        work.put_body(*tombstones.key(one), work.ref.line.id.encode())


def find_to_purge(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> Dropped:
    """What was dropped out of a slot and is not purged; `Invalid` if what is meant is still there."""
    try:
        return undrop.find_dropped(work, slot, kind, object_id)
    except (Expired, NotFound):
        if not _is_there(work, slot, kind, object_id):
            raise
    raise _not_dropped(kind, slot.text)


def _find_dead(work: Work, kind: int, name: Name, object_id: str | None) -> str:
    if object_id is None:
        return find_to_purge(work, slot_of(work, parse_name(name)), kind).id
    try:
        return undrop.find_dead(work, kind, name, object_id)
    except (AlreadyExists, NotFound):
        if not work.is_alive(undrop.check_id(object_id)):
            raise
    raise _not_dropped(kind, spelled(parse_name(name)))


def _is_there(work: Work, slot: Slot, kind: int, object_id: str | None) -> bool:
    found = holder(work, slot, kind)
    return found is not None and object_id in (None, found)


def _not_dropped(kind: int, name: str) -> Invalid:
    return Invalid(f"the {type_name(kind)} was not dropped", subject=name, advice="Drop it first.")


def _inside(work: Work, object_id: str) -> Iterator[str]:
    """All that is in a namespace and below it, dropped before or not."""
    if _life(work, object_id).type != pb.NAMESPACE:
        return
    held = [one.id for one in work.children(object_id)] + [one.id for one in work.dropped(object_id)]
    for one in held:
        yield one
        yield from _inside(work, one)


def _location(work: Work, object_id: str) -> str:
    """Where a table's files are, kept in the log for whoever has to go on when its records are gone."""
    storage = cast("pb.TableStorage | None", work.attribute(object_id, Attribute.STORAGE))
    return "" if storage is None else storage.location


def _check_unseen(work: Work, name: str, objects: Sequence[str]) -> None:
    """Refuse what another ref can see alive, and conflict with whoever makes it seen before the commit."""
    own, purged = work.ref.line.id, set(objects)
    work.read(ListingRead(work.top, work.ref.refs.id))
    viewers: list[str] = []
    for visible in visible_states(work.context, work.ref, work.base):
        if visible.kind == pb.BRANCH and visible.line.id == own:
            continue
        for one, path in zip(objects, visible.lives(work.context, objects), strict=True):
            if visible.version == work.base:
                _rely_on_lives(work, visible.line.id, one, path)
            if visible.version == work.base and _can_come_back(one, path, purged):
                viewers.append(f"{visible}, in a namespace that was dropped")
            elif path and not any(life.dropped for life in path):
                viewers.append(str(visible))
    viewers = list(dict.fromkeys(viewers))
    if viewers:
        raise Invalid(
            "other refs can still see it",
            subject=name,
            found=first_names(viewers),
            advice="Drop it there too, or drop and purge what forked or was tagged when it was alive.",
        )


def _can_come_back(object_id: str, path: Sequence[LifeRecord], purged: set[str]) -> bool:
    """Whether an object is dead with a namespace that stays: who undrops that would meet a name with nothing behind."""
    ids = [*(life.container_id for life in path[1:]), object_id]
    undrop = {one for one, life in zip(ids, path, strict=True) if life.dropped} if path else set()
    return bool(undrop) and undrop.isdisjoint(purged)


def _rely_on_lives(work: Work, line: str, object_id: str, path: Sequence[LifeRecord]) -> None:
    for one in {object_id, *(life.container_id for life in path)} - {work.top}:
        work.read(AttributeRead(one, Attribute.LIFE, line))


def _life(work: Work, object_id: str) -> LifeRecord:
    return cast(LifeRecord, work.life(object_id))


# Taking away


def _finish(context: Context, ref: Ref, done: Sequence[Operation]) -> None:
    """Take away the records of all lines that have some, and then the files. Each step may have been done before.

    A line goes before those that it forked from: it may have data of which only they know the partition.
    """
    objects = [one.object_id for one in done]
    branches = {
        one.line.id: one.line
        for one in visible_states(context, ref, context.metastore.newest())
        if one.kind == pb.BRANCH
    }
    lines = sorted({ref.line.id: ref.line, **branches}.values(), key=lambda one: -len(one.ancestry))
    readers = [context.metastore.reader(Line(one.id, one.top)) for one in lines]
    partitions = dict.fromkeys(one for reader in readers for one in _partitions(reader, objects))
    for reader in readers:
        here = objects if reader.line.id == ref.line.id else _own(reader, objects)
        if here:
            context.metastore.erase(reader.line.id, [*here, *partitions])
    context.metastore.erase(ref.line.id, [], bodies_of=objects)
    for location in [one.detail for one in done if one.detail]:
        _delete_files(context, location)


def _own(reader: Reader, objects: Sequence[str]) -> list[str]:
    """The objects that a line has lives of."""
    states = reader.attributes([(one, Attribute.LIFE) for one in objects])
    return [one for one, state in zip(objects, states, strict=True) if state is not None]


def _partitions(reader: Reader, objects: Sequence[str]) -> Iterator[str]:
    """The partitions that the storage of tables names on a line, now or earlier."""
    for one in objects:
        for state in reader.history(one, Attribute.STORAGE).items:
            yield cast(pb.TableStorage, state.record).partition_id


def _delete_files(context: Context, location: str) -> None:
    failures = context.files.delete_many(one.path for one in context.files.list(f"{location}/"))
    if failures:
        raise Unavailable(
            f"{len(failures)} files of a purged table could not be deleted",
            subject=failures[0].path,
            found=str(failures[0].error),
            advice="Make the same call again when they can be.",
        ) from failures[0].error
