"""Lives and names inside a commit: which objects may be where, and the name rows that follow."""

import copy
from dataclasses import dataclass, field

from lakebed.errors import AlreadyExists, Invalid, NotFound
from lakebed.metastore.change import Change, LifeRecord
from lakebed.metastore.kinds import CONTAINERS, is_table, one_of_type, type_name
from lakebed.metastore.records.newest import NewestState
from lakebed.metastore.records.reader import name_record
from lakebed.records import codec, layout, names
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute, Cell

NOTHING = codec.encode(pb.ObjectName())
"""The name row of a free name."""


@dataclass(slots=True)
class Placement:
    """The rows that follow from new lives, each written once: names, dropped names, and the listings of parents."""

    lives: dict[str, LifeRecord] = field(default_factory=dict)
    rows: dict[Cell, bytes] = field(default_factory=dict)
    parents: set[str] = field(default_factory=set)


def place(newest: NewestState, change: Change) -> Placement:
    """Check every new life against the newest state of the line, and derive the names.

    A name that this change frees is free, so two objects can swap names. A life that can't be placed raises `NotFound`,
    `AlreadyExists` or `Invalid`.
    """
    newest.load(cells_placed(change))
    placement = Placement()
    freed: dict[Cell, str] = {}
    taken: dict[Cell, str] = {}
    for object_id, new in change.lives.items():
        old = newest.stored_life(object_id)
        placement.lives[object_id] = _checked_life(newest, change, object_id, old, new)
        if not _keeps_name(old, new):
            if old is not None and not old.dropped:
                freed[_name_cell(change, old)] = object_id
                placement.parents.add(old.container_id)
            if not new.dropped:
                _take(taken, change, object_id, new)
                placement.parents.add(new.container_id)
        _place_dropped(placement, change, object_id, old)
    _place_names(newest, change, placement, freed, taken)
    return placement


def cells_placed(change: Change) -> list[Cell]:
    """The cells that `place` needs in any case."""
    top = change.line.top
    objects = [*change.lives, *(life.container_id for life in change.lives.values() if life.container_id != top)]
    return [
        *(layout.attribute_cell(object_id, Attribute.LIFE) for object_id in objects),
        *(_name_cell(change, life) for life in change.lives.values() if not life.dropped),
    ]


def _checked_life(
    newest: NewestState, change: Change, object_id: str, old: LifeRecord | None, new: LifeRecord
) -> LifeRecord:
    """The life to store: the new one, with the version of the object's first life."""
    subject = f"{type_name(new.type)} {new.name!r} ({object_id})"
    if object_id == change.line.top:
        raise Invalid("the top of a line is not an object on that line", subject=subject)
    if old is not None and old.type != new.type:
        raise Invalid(
            "an object can't change its type", subject=subject, expected=type_name(old.type), found=type_name(new.type)
        )
    if not new.dropped:
        _check_container(newest, change, subject, new)
        newest.require_alive(object_id)
    elif old is None or old.container_id != new.container_id:
        _check_container(newest, change, subject, new)
        newest.require_outside_itself(object_id)
    stored = copy.deepcopy(new)
    if old is None:
        stored.ClearField("create_version")
    else:
        stored.create_version = old.create_version
    if old is not None and old.dropped and new.dropped:
        stored.drop_version = old.drop_version
    else:
        stored.ClearField("drop_version")
    return stored


def _check_container(newest: NewestState, change: Change, subject: str, new: LifeRecord) -> None:
    kind: int | None = None
    if new.container_id != change.line.top:
        container = newest.life(new.container_id)
        if container is None:
            raise NotFound("its container does not exist", subject=subject, expected=f"an object {new.container_id}")
        kind = container.type
    if kind not in CONTAINERS[new.type]:
        allowed = CONTAINERS[new.type]
        places = " or ".join("the top" if place is None else one_of_type(place) for place in allowed)
        found = "the top" if kind is None else one_of_type(kind)
        raise Invalid(
            f"this can't contain a {type_name(new.type)}", subject=subject, expected=f"in {places}", found=f"in {found}"
        )


def _take(taken: dict[Cell, str], change: Change, object_id: str, life: LifeRecord) -> None:
    cell = _name_cell(change, life)
    if cell in taken:
        raise AlreadyExists(
            "a change gives one name to two objects", subject=repr(life.name), found=f"{taken[cell]} and {object_id}"
        )
    taken[cell] = object_id


def _place_names(
    newest: NewestState, change: Change, placement: Placement, freed: dict[Cell, str], taken: dict[Cell, str]
) -> None:
    for cell, object_id in taken.items():
        life = change.lives[object_id]
        row = newest.row(cell)
        holder = name_record(row.value) if row is not None else None
        if holder is not None and holder.object_id not in ("", object_id, freed.get(cell)):
            raise AlreadyExists(
                f"the name {life.name!r} is taken",
                subject=f"{type_name(life.type)} {object_id}",
                found=f"{type_name(holder.type)} {holder.name!r} ({holder.object_id})",
                advice="Choose another name, or open what has it.",
            )
        placement.rows[cell] = _name_value(object_id, life)
    for cell in freed.keys() - taken.keys():
        placement.rows[cell] = NOTHING


def _keeps_name(old: LifeRecord | None, new: LifeRecord) -> bool:
    """Whether no name row changes: then this life does not conflict with reads of the name or the listing."""
    if old is None or old.dropped or new.dropped:
        return False
    return (old.container_id, old.name) == (new.container_id, new.name)


def _place_dropped(placement: Placement, change: Change, object_id: str, old: LifeRecord | None) -> None:
    new = placement.lives[object_id]
    if old is not None and old.dropped:
        placement.rows[_dropped_cell(change, object_id, old)] = NOTHING
    if new.dropped:
        placement.rows[_dropped_cell(change, object_id, new)] = _dropped_value(new)


def _name_cell(change: Change, life: LifeRecord) -> Cell:
    return layout.name_cell(life.container_id, names.folded(life.name, change.line.casing))


def _dropped_cell(change: Change, object_id: str, life: LifeRecord) -> Cell:
    return layout.dropped_cell(life.container_id, names.folded(life.name, change.line.casing), object_id)


def _name_value(object_id: str, life: LifeRecord) -> bytes:
    if is_table(life.type):
        return codec.encode(pb.TableObjectName(name=life.name, object_id=object_id, type=life.type))
    return codec.encode(pb.ObjectName(name=life.name, object_id=object_id, type=life.type))


def _dropped_value(life: LifeRecord) -> bytes:
    record = (pb.DroppedTableObjectName if is_table(life.type) else pb.DroppedObjectName)(
        name=life.name,
        create_version=life.create_version or None,
        dropped_version=life.drop_version or None,
        drop_type=life.drop_type or pb.MARKED,
    )
    record.type = life.type
    return codec.encode(record)
