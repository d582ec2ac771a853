"""Purging: a dropped object is deleted for good, with all its past and its files.

First one commit marks the object, and all that is in it, as purged and writes their tombstones: from then on none of
them can be brought back, on any line. Then the records are deleted, then the files. If the process is killed anywhere,
the same call continues.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

from lakebed.catalog.objects import undrop
from lakebed.catalog.transaction import tombstones
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.names import Name, first_names, parse_name, spelled
from lakebed.catalog.transaction.objects import Slot, holder, last_name, mark_dropped, slot_of
from lakebed.catalog.transaction.scopes import Scope, once
from lakebed.catalog.transaction.visibility import visible_states
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Expired, Invalid, NotFound, Unavailable
from lakebed.metastore import AttributeRead, Dropped, Line, ListingRead, Operation, Reader
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def purge(scope: Scope, kind: int, name: Name, object_id: str | None, request: Request) -> Commit:
    """Purge a dropped object, or continue an interrupted purge; return the commit that marked it."""
    if scope.is_transaction:
        raise Invalid(
            f"{request.operation.replace('_', ' ')} can't be a part of a transaction",
            advice="Purge after it has ended: a purge can't be undone.",
        )

    def find_or_mark() -> Commit | None:
        found = _find_purge(scope.read(), kind, name, object_id)
        return found or scope.change(lambda work: _mark(work, kind, name, object_id), request)

    commit = once(scope, request, find_or_mark)
    assert commit is not None, "only a transaction returns None"
    _finish(scope.context, scope.ref, [operation for operation in commit.operations if operation.type == "purge"])
    return commit


def _find_purge(work: Work, kind: int, name: Name, object_id: str | None) -> Commit | None:
    """The commit that purged the object, if nothing is left to purge under the name."""
    if object_id is not None:
        return tombstones.find_purge(work.context, work.ref, _find_dead(work, kind, name, object_id))
    rows = purged_rows(work, slot_of(work, parse_name(name)), kind)
    found = [tombstones.find_purge(work.context, work.ref, row.id) for row in rows]
    return max((commit for commit in found if commit is not None), key=lambda commit: commit.version, default=None)


def purged_rows(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> list[Dropped]:
    """What was purged from a slot; nothing while the slot is taken, or something is left to purge."""
    rows = undrop.dropped_rows(work, slot, kind, object_id)
    return [] if undrop.not_purged(rows) or _is_there(work, slot, kind, object_id) else rows


# Marking


def _mark(work: Work, kind: int, name: Name, object_id: str | None) -> None:
    found = _find_dead(work, kind, name, object_id)
    inside = _inside(work, found)
    objects = [object_id for object_id in (found, *inside) if _life(work, object_id).drop_type != pb.PURGED]
    _check_unseen(work, last_name(work, found), objects)
    folders = _locations(work, objects)
    for object_id in objects:
        work.note(Operation("purge", object_id, last_name(work, object_id), detail="\n".join(folders[object_id])))
        mark_dropped(work, object_id, pb.PURGED)
        work.put_body(*tombstones.key(object_id), work.ref.line.id.encode())


def find_to_purge(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> Dropped:
    """What was dropped from a slot and is not purged; `Invalid` if it was not dropped."""
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
    """All that is in a namespace, a table or an edition, and below it, dropped before or not."""
    if _life(work, object_id).type not in (pb.NAMESPACE, pb.TABLE, pb.EDITION):
        return
    held = [child.id for child in work.children(object_id)] + [row.id for row in work.dropped(object_id)]
    for inner in held:
        yield inner
        yield from _inside(work, inner)


def _locations(work: Work, objects: Sequence[str]) -> dict[str, list[str]]:
    """Every folder that tables have or had, on any line: their storage may have been changed.

    The log keeps them, so that a purge can continue after the records are deleted.
    """
    visible = visible_states(work.context, work.ref, work.base)
    branches = {state.line.id: state.line for state in visible if state.kind == pb.BRANCH}
    lines = {**branches, work.ref.line.id: work.ref.line}
    found: dict[str, list[str]] = {object_id: [] for object_id in objects}
    for line in lines.values():
        reader = work.context.metastore.reader(line, work.base)
        pages = reader.histories([(object_id, Attribute.STORAGE, None) for object_id in objects])
        for object_id, page in zip(objects, pages, strict=True):
            long = page.token is not None
            states = every(partial(reader.history, object_id, Attribute.STORAGE)) if long else page.items
            found[object_id] += [cast(pb.TableStorage, state.record).location for state in states]
    return {object_id: list(dict.fromkeys(own)) for object_id, own in found.items()}


def _check_unseen(work: Work, name: str, objects: Sequence[str]) -> None:
    """Refuse objects that another ref sees alive, and conflict with a concurrent commit that makes them visible."""
    own, purged = work.ref.line.id, set(objects)
    work.read(ListingRead(work.top, work.ref.refs.id))
    viewers: list[str] = []
    for visible in visible_states(work.context, work.ref, work.base):
        if visible.kind == pb.BRANCH and visible.line.id == own:
            continue
        for object_id, path in zip(objects, visible.lives(work.context, objects), strict=True):
            if visible.version == work.base:
                _rely_on_lives(work, visible.line.id, object_id, path)
            if visible.version == work.base and _can_come_back(object_id, path, purged):
                viewers.append(f"{visible}, in a namespace that was dropped")
            elif path and not any(life.dropped for life in path):
                viewers.append(str(visible))
    viewers = list(dict.fromkeys(viewers))
    if viewers:
        raise Invalid(
            "other refs can still see it",
            subject=name,
            found=first_names(viewers),
            advice="Drop it there too, or drop and purge the branches and tags that were made while it was alive.",
        )


def _can_come_back(object_id: str, path: Sequence[LifeRecord], purged: set[str]) -> bool:
    """Whether an object was dropped with a namespace that stays: undropping it would show a name without an object."""
    ids = [*(life.container_id for life in path[1:]), object_id]
    dropped = {inner for inner, life in zip(ids, path, strict=True) if life.dropped} if path else set()
    return bool(dropped) and dropped.isdisjoint(purged)


def _rely_on_lives(work: Work, line: str, object_id: str, path: Sequence[LifeRecord]) -> None:
    for inner in {object_id, *(life.container_id for life in path)} - {work.top}:
        work.read(AttributeRead(inner, Attribute.LIFE, line))


def _life(work: Work, object_id: str) -> LifeRecord:
    return cast(LifeRecord, work.life(object_id))


# Deleting


def _finish(context: Context, ref: Ref, done: Sequence[Operation]) -> None:
    """Delete the records on all lines that have some, and then the files. Each step may have been done before.

    A line comes before the lines that it forked from: only they may know the partition of its data.
    """
    objects = [operation.object_id for operation in done]
    states = visible_states(context, ref, context.metastore.newest())
    branches = {state.line.id: state.line for state in states if state.kind == pb.BRANCH}
    lines = sorted({ref.line.id: ref.line, **branches}.values(), key=lambda line: -len(line.ancestry))
    readers = [context.metastore.reader(Line(line.id, line.top)) for line in lines]
    partitions = dict.fromkeys(partition for reader in readers for partition in _partitions(reader, objects))
    for reader in readers:
        here = objects if reader.line.id == ref.line.id else _objects_on_line(reader, objects)
        if here:
            context.metastore.erase(reader.line.id, [*here, *partitions])
    context.metastore.erase(ref.line.id, [], bodies_of=objects)
    for location in [folder for operation in done for folder in operation.detail.splitlines()]:
        _delete_files(context, location)


def _objects_on_line(reader: Reader, objects: Sequence[str]) -> list[str]:
    """The objects whose lives a line has."""
    states = reader.attributes([(object_id, Attribute.LIFE) for object_id in objects])
    return [object_id for object_id, state in zip(objects, states, strict=True) if state is not None]


def _partitions(reader: Reader, objects: Sequence[str]) -> Iterator[str]:
    """The partitions that tables have or had on a line."""
    for object_id in objects:
        for state in reader.history(object_id, Attribute.STORAGE).items:
            yield cast(pb.TableStorage, state.record).partition_id


def _delete_files(context: Context, location: str) -> None:
    failures = context.files.delete_many(file.path for file in context.files.list(f"{location}/"))
    if failures:
        raise Unavailable(
            f"{len(failures)} files of a purged table could not be deleted",
            subject=failures[0].path,
            found=str(failures[0].error),
            advice="Make the same call again when they can be deleted.",
        ) from failures[0].error
