"""Objects by name: how a name leads to what has it, and what all kinds of objects can have done to them."""

import copy
from collections.abc import Iterator

from lakebed.catalog.names import Name, parse_name, spelled
from lakebed.catalog.work import Work
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.metastore import Child, Operation
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.objects import type_name
from lakebed.records import records_pb2 as pb


def name_of(work: Work, object_id: str) -> tuple[str, ...]:
    """The parts of an object's name, outermost first; `NotFound` if it is not alive."""
    return tuple(one.name for one in work.path(object_id))


def find(work: Work, parts: tuple[str, ...], kind: int) -> str:
    """The id of the object of a kind with this name, or `NotFound`."""
    parent = work.top
    for depth, part in enumerate(parts):
        last = depth + 1 == len(parts)
        found = work.resolve(parent, part)
        wanted = kind if last else pb.NAMESPACE
        if found is None or not _is(work, found, wanted):
            raise NotFound(
                f"there is no {type_name(wanted)} of this name",
                subject=spelled(parts[: depth + 1]),
                found=None if found is None else f"a {type_name(_life(work, found).type)}",
            )
        parent = found
    return parent


def container(work: Work, parts: tuple[str, ...]) -> str:
    """The id of the namespace with these parts: the top for none; `NotFound` naming the first part that lacks."""
    return find(work, parts, pb.NAMESPACE) if parts else work.top


def exists(work: Work, name: Name, kind: int) -> bool:
    """Whether an object of a kind has this name."""
    try:
        find(work, parse_name(name), kind)
    except NotFound:
        return False
    return True


def free_place(work: Work, parts: tuple[str, ...], but: str | None = None) -> tuple[str, str]:
    """The parent and the last part of a name that is free, or that `but` has; else `AlreadyExists`."""
    parent = container(work, parts[:-1])
    taken = work.resolve(parent, parts[-1])
    if taken is not None and taken != but:
        raise AlreadyExists(
            "the name is taken",
            subject=spelled(parts),
            found=f"a {type_name(_life(work, taken).type)}",
            advice="Choose another name, or open, rename or drop what has it.",
        )
    return parent, parts[-1]


def children(work: Work, parent: str, kind: int, prefix: str = "") -> Iterator[Child]:
    """The objects of a kind in a parent, by name."""
    return (child for child in work.children(parent, prefix) if child.type == kind)


def descendants(work: Work, parent: str, kind: int, prefix: str = "") -> Iterator[Child]:
    """The objects of a kind in a parent and in all namespaces below it; `prefix` is of their own names."""
    yield from children(work, parent, kind, prefix)
    for namespace in children(work, parent, pb.NAMESPACE):
        yield from descendants(work, namespace.id, kind, prefix)


def rename(work: Work, object_id: str, new_name: Name) -> None:
    """Give an object another name, in another namespace too; what is in it goes with it."""
    old, new = name_of(work, object_id), parse_name(new_name)
    parent, own = free_place(work, new, but=object_id)
    if object_id in _containers(work, parent):
        raise Invalid("a namespace can't be in itself", subject=spelled(old), found=spelled(new))
    record = copied(work, object_id)
    record.container_id, record.name = parent, own
    work.put_life(object_id, record)
    work.note(Operation("rename", object_id, spelled(old), detail=spelled(new)))


def drop(work: Work, object_id: str) -> None:
    """Free an object's name at once, with all that is in it: one record, whatever that is. Its past stays."""
    name = name_of(work, object_id)
    record = copied(work, object_id)
    record.dropped, record.drop_type = True, pb.MARKED
    work.put_life(object_id, record)
    work.note(Operation("drop", object_id, spelled(name)))


def copied(work: Work, object_id: str) -> LifeRecord:
    """An object's life to be changed, with all that this Lakebed does not know of it."""
    return copy.deepcopy(_life(work, object_id))


def _containers(work: Work, namespace: str) -> list[str]:
    found = [namespace]
    while found[-1] != work.top:
        found.append(_life(work, found[-1]).container_id)
    return found


def _is(work: Work, object_id: str, kind: int) -> bool:
    return _life(work, object_id).type == kind


def _life(work: Work, object_id: str) -> LifeRecord:
    found = work.life(object_id)
    if found is None:
        raise NotFound("there is no such object", subject=object_id)
    return found
