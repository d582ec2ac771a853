"""Objects by name: how a name leads to an object, and the verbs that all kinds of objects share."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.metastore import Child, Operation
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import one_of_type, part_name, type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

FIRST_EDITION = "1"
"""The name of the edition that a table is born with. It has no life of its own until the table gets another."""

DEFINITION = (
    Attribute.PROPERTIES,
    Attribute.SCHEMA,
    Attribute.STORAGE,
    Attribute.SPEC,
    Attribute.SORT,
    Attribute.VIEW,
    Attribute.PARTITION,
)
"""What defines an object, besides its life and its data."""

ATTRIBUTES = (Attribute.LIFE, *DEFINITION)


@dataclass(frozen=True, slots=True)
class Slot:
    """A name in a container, taken or free; `text` is how messages and the log spell it."""

    parent: str
    name: str
    text: str


def slot_of(work: Work, parts: tuple[str, ...]) -> Slot:
    """The slot of a name, or `NotFound` if its namespace is missing."""
    return Slot(container(work, parts[:-1]), parts[-1], spelled(parts))


def name_of(work: Work, object_id: str) -> tuple[str, ...]:
    """The parts of an object's name, outermost first; `NotFound` if it is not alive."""
    if not isinstance(object_id, Bound) or object_id.object_id == object_id:
        return work.name_parts(str(object_id))
    if work.life(object_id.object_id) is not None:
        return work.name_parts(object_id.object_id)
    return *work.name_parts(str(object_id)), part_name(pb.EDITION, FIRST_EDITION)


def last_name(work: Work, object_id: str) -> str:
    """The name that an object has, or had when it was dropped; "" if the line does not know it."""
    return spelled(work.last_parts(object_id))


def find(work: Work, parts: tuple[str, ...], kind: int) -> str:
    """The id of the object of a kind with this name, or `NotFound`, which says if it was dropped."""
    found = look_up(work, parts, kind)
    if found is not None:
        return found
    parent = work.top
    for depth, wanted in enumerate([*(pb.NAMESPACE for _ in parts[1:]), kind]):
        parent = find_in(work, Slot(parent, parts[depth], spelled(parts[: depth + 1])), wanted)
    raise AssertionError("a name that leads somewhere is not absent")


def find_in(work: Work, slot: Slot, kind: int) -> str:
    """The id of the object of a kind in a slot, or `NotFound`, which says what else is in it, or what became of it."""
    found = work.resolve(slot.parent, slot.name)
    if found is not None and type_of(work, found) == kind:
        return found
    problem = f"there is no {type_name(kind)} of this name"
    if found is not None:
        raise NotFound(problem, subject=slot.text, found=one_of_type(type_of(work, found)))
    gone, advice = what_became(work, slot.parent, slot.name, kind)
    advice = advice or f"{plural(kind)}(…) lists what is there."
    raise NotFound(problem, subject=slot.text, found=gone, advice=advice)


def holder(work: Work, slot: Slot, kind: int) -> str | None:
    """The id of the object of a kind in a slot."""
    found = work.resolve(slot.parent, slot.name)
    return found if found is not None and type_of(work, found) == kind else None


def find_any(work: Work, parts: tuple[str, ...]) -> str:
    """The id of the table, view or namespace with this name, or `NotFound`, which says if it was dropped."""
    parent = container(work, parts[:-1])
    found = work.resolve(parent, parts[-1])
    if found is None:
        became = (what_became(work, parent, parts[-1], kind) for kind in (pb.TABLE, pb.VIEW, pb.NAMESPACE))
        listings = "tables(…), views(…) and namespaces(…) list what is there."
        gone, advice = next(((found, advice) for found, advice in became if found), (None, listings))
        raise NotFound("there is no object of this name", subject=spelled(parts), found=gone, advice=advice)
    return found


def look_up(work: Work, parts: tuple[str, ...], kind: int) -> str | None:
    """The id of the object of a kind with this name; None if there is none."""
    # Of another kind, the object that is found has another kind too: what is on the way need not be read.
    found: str | None = work.top
    for part in parts:
        found = None if found is None else work.resolve(found, part)
    return found if found is not None and type_of(work, found) == kind else None


def what_became(work: Work, parent: str, name: str, kind: int) -> tuple[str | None, str]:
    """What became of the last object of a kind that had a name, which is free now, and what can be done about it."""
    gone = [row for row in work.dropped(parent, name) if row.type == kind]
    if not gone:
        return None, ""
    last = max(gone, key=lambda row: row.dropped)
    if last.drop_type == pb.PURGED:
        return f"one that was purged, dropped at {work.moment(last.dropped)}", ""
    return f"one that was dropped at {work.moment(last.dropped)}", f"undrop_{type_name(kind)} brings it back."


def container(work: Work, parts: tuple[str, ...]) -> str:
    """The id of the namespace with these parts, the top for none; `NotFound` names the first part that is missing."""
    return find(work, parts, pb.NAMESPACE) if parts else work.top


def exists(work: Work, name: Name, kind: int) -> bool:
    """Whether an object of a kind has this name."""
    return look_up(work, parse_name(name), kind) is not None


def free_place(work: Work, parts: tuple[str, ...], but: str | None = None) -> tuple[str, str]:
    """The parent and the last part of a name that is free or held by `but`; else `AlreadyExists`."""
    slot = slot_of(work, parts)
    check_free(work, slot, but)
    return slot.parent, slot.name


def check_free(work: Work, slot: Slot, but: str | None = None) -> None:
    """Refuse a slot that an object other than `but` holds."""
    taken = work.resolve(slot.parent, slot.name)
    if taken is not None and taken != but:
        kind = type_of(work, taken)
        raise name_taken(slot, one_of_type(kind), _A_TAG_STAYS if kind == pb.TAG else ANOTHER_NAME)


ANOTHER_NAME = "Choose another name, or open, rename or drop the object that has it."
_A_TAG_STAYS = "A tag never moves: choose another name, or drop or rename the existing tag."


def name_taken(slot: Slot, holder: str, advice: str = ANOTHER_NAME) -> AlreadyExists:
    return AlreadyExists("the name is taken", subject=slot.text, found=holder, advice=advice)


def children(work: Work, parent: str, kind: int, prefix: str = "") -> Iterator[Child]:
    """The objects of a kind in a parent, by name."""
    return (child for child in work.children(parent, prefix) if child.type == kind)


def descendants(work: Work, parent: str, kind: int, prefix: str = "") -> Iterator[Child]:
    """The objects of a kind in a parent and in all namespaces below it, whose own names begin with `prefix`."""
    yield from children(work, parent, kind, prefix)
    for namespace in children(work, parent, pb.NAMESPACE):
        yield from descendants(work, namespace.id, kind, prefix)


def rename(work: Work, object_id: str, new_name: Name) -> None:
    """Give an object another name, perhaps in another namespace; what is in it moves with it."""
    old, new = name_of(work, object_id), parse_name(new_name)
    parent, own = free_place(work, new, but=object_id)
    if object_id in _containers(work, parent):
        raise Invalid("a namespace can't be in itself", subject=spelled(old), found=spelled(new))
    move(work, object_id, parent, own)
    work.note(Operation("rename", object_id, spelled(old), detail=spelled(new)))


def drop(work: Work, object_id: str) -> None:
    """Free an object's name, with all that is in it, by one record however much that is. Its past stays."""
    name = name_of(work, object_id)
    mark_dropped(work, object_id, pb.MARKED)
    work.note(Operation("drop", object_id, spelled(name)))


def move(work: Work, object_id: str, parent: str, name: str) -> None:
    """Put an object where the name is free."""
    record = _copied_life(work, object_id)
    record.container_id, record.name = parent, name
    work.put_life(object_id, record)


def mark_dropped(work: Work, object_id: str, drop_type: pb.ObjectDropType) -> None:
    """Mark an object as dropped, or as purged."""
    record = _copied_life(work, object_id)
    record.dropped, record.drop_type = True, drop_type
    work.put_life(object_id, record)


def bring_back(work: Work, object_id: str, parent: str, name: str) -> None:
    """Put an object that was dropped where the name is free."""
    record = _copied_life(work, object_id)
    record.container_id, record.name, record.dropped = parent, name, False
    record.ClearField("drop_type")
    work.put_life(object_id, record)


def container_of(work: Work, object_id: str) -> str:
    """The id of what an object is in, or was when it was dropped."""
    return _life(work, object_id).container_id


def _copied_life(work: Work, object_id: str) -> LifeRecord:
    """An object's life, to be changed, with the fields that this version of Lakebed does not know."""
    return copy.deepcopy(_life(work, object_id))


def _containers(work: Work, namespace: str) -> list[str]:
    """A namespace and what it is in."""
    containers = [namespace]
    while containers[-1] != work.top:
        containers.append(container_of(work, containers[-1]))
    return containers


def plural(kind: int) -> str:
    """The word for several of a kind, which is also the name of their listing."""
    return f"{type_name(kind)}es" if kind == pb.BRANCH else f"{type_name(kind)}s"


def type_of(work: Work, object_id: str) -> int:
    return _life(work, object_id).type


def _life(work: Work, object_id: str) -> LifeRecord:
    found = work.life(object_id)
    if found is None:
        raise NotFound("there is no such object", subject=object_id)
    return found
