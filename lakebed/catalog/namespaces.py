"""Namespaces, and how a name leads to what has it."""

import copy
from collections.abc import Iterator, Mapping

from lakebed.catalog.names import Name, parse_name, spelled
from lakebed.catalog.properties import check_properties
from lakebed.catalog.work import Work
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.metastore import Child, Operation, life, new_id
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.objects import type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


def create_namespace(work: Work, name: Name, properties: Mapping[str, str] | None = None) -> str:
    """Make a namespace in one that is there, and answer its id."""
    given = check_properties(properties or {})
    parent, own = free_place(work, parse_name(name))
    namespace = new_id()
    work.put_new_life(namespace, life(pb.NAMESPACE, parent, own))
    work.put_attribute(namespace, Attribute.PROPERTIES, pb.DatabaseRecord(properties=given))
    work.note(Operation("create", namespace, spelled(parse_name(name))))
    return namespace


def find_namespace(work: Work, name: Name) -> str:
    """The id of the namespace with this name, or `NotFound`."""
    return find(work, parse_name(name), pb.NAMESPACE)


def rename_namespace(work: Work, namespace: str, new_name: Name) -> None:
    """Give a namespace another name, in another one too; all that is in it goes with it."""
    old = name_of(work, namespace)
    parent, own = free_place(work, parse_name(new_name), but=namespace)
    if namespace in _containers(work, parent):
        raise Invalid("a namespace can't be in itself", subject=spelled(old), found=spelled(parse_name(new_name)))
    record = copied(work, namespace)
    record.container_id, record.name = parent, own
    work.put_life(namespace, record)
    work.note(Operation("rename", namespace, spelled(old), detail=spelled(parse_name(new_name))))


def drop_namespace(work: Work, namespace: str) -> None:
    """Drop a namespace that holds nothing; `Invalid` if it holds something."""
    inside = [child.name for child in work.children(namespace)]
    if inside:
        raise Invalid(
            "the namespace is not empty",
            subject=spelled(name_of(work, namespace)),
            found=", ".join(inside[:5]) + (f" and {len(inside) - 5} more" if len(inside) > 5 else ""),
            advice="Drop what it holds, or pass cascade=True.",
        )
    drop_namespace_and_all(work, namespace)


def drop_namespace_and_all(work: Work, namespace: str) -> None:
    """Drop a namespace with all that it holds: one record, whatever that is."""
    name = name_of(work, namespace)
    record = copied(work, namespace)
    record.dropped, record.drop_type = True, pb.MARKED
    work.put_life(namespace, record)
    work.note(Operation("drop", namespace, spelled(name)))


def name_of(work: Work, object_id: str) -> tuple[str, ...]:
    """The parts of an object's name, outermost first; `NotFound` if it is not alive."""
    return tuple(one.name for one in work.path(object_id))


def container(work: Work, parts: tuple[str, ...]) -> str:
    """The id of the namespace with these parts: the top for none; `NotFound` naming the first part that lacks."""
    return find(work, parts, pb.NAMESPACE) if parts else work.top


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
