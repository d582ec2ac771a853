"""Bringing back what was dropped, by its name, or by its id if several had the name.

An object is dead if it was dropped, itself or with its container. A dead object can be brought back until it is purged:
under its old name if it was dropped itself, under another name in any case. An object that was dropped before its
namespace stays dropped when the namespace comes back.
"""

from collections.abc import Sequence
from uuid import UUID

from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import (
    Slot,
    bring_back,
    check_free,
    container_of,
    free_place,
    name_of,
    plural,
    slot_of,
    type_of,
)
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Ambiguous, Candidate, Expired, Invalid, NotFound
from lakebed.metastore import Dropped, Operation
from lakebed.metastore.kinds import one_of_type, type_name
from lakebed.records import records_pb2 as pb
from lakebed.records.names import folded


def undrop(work: Work, kind: int, name: Name, object_id: str | None = None, as_name: Name | None = None) -> None:
    """Bring an object back under its old name, or another that is free; its id and all its past stay.

    It relies on the object's life, on the free name, and on the old name, which a drop of another object of that name
    changes. An object that a merge brings already dropped was not dropped here, and does not make the name ambiguous.
    """
    found = find_dead(work, kind, name, object_id)
    work.rely_on_no_purge(found)
    was = work.last_parts(found)
    if as_name is None:
        parent, own = _alive_container(work, kind, found, was), was[-1]
        check_free(work, Slot(parent, own, spelled(was)))
    else:
        parent, own = free_place(work, parse_name(as_name))
    bring_back(work, found, parent, own)
    now = name_of(work, found)
    work.note(Operation("undrop", found, spelled(was), detail="" if now == was else spelled(now)))


def find_dead(work: Work, kind: int, name: Name, object_id: str | None) -> str:
    """The id of the dead object with a name, and with an id if one is given, that is not purged."""
    parts = parse_name(name)
    if object_id is not None:
        return _find_by_id(work, kind, parts, check_id(object_id))
    return find_dropped(work, slot_of(work, parts), kind).id


def find_dropped(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> Dropped:
    """What was dropped from a slot and is not purged; `Ambiguous` for several, unless an id says which."""
    rows = dropped_rows(work, slot, kind, object_id)
    kept = not_purged(rows)
    if len(kept) == 1:
        return kept[0]
    if kept:
        raise Ambiguous(
            f"several dropped {plural(kind)} had this name",
            subject=slot.text,
            candidates=_candidates(work, kept),
            advice="Name one by its id: id=….",
        )
    if rows:
        raise Expired(f"the {type_name(kind)} was purged", subject=slot.text)
    alive = work.resolve(slot.parent, slot.name)
    raise NotFound(
        f"no {type_name(kind)} of this name was dropped",
        subject=slot.text,
        expected=object_id,
        found=None if alive is None else f"{one_of_type(type_of(work, alive))} that is alive",
    )


def dropped_rows(work: Work, slot: Slot, kind: int, object_id: str | None = None) -> list[Dropped]:
    """What was dropped from a slot, purged or not; all, or the object with an id."""
    work.resolve(slot.parent, slot.name)  # read the name: a drop of another object of this name changes it
    rows = work.dropped(slot.parent, slot.name)
    return [row for row in rows if row.type == kind and object_id in (None, row.id)]


def not_purged(rows: Sequence[Dropped]) -> list[Dropped]:
    return [row for row in rows if row.drop_type != pb.PURGED]


def check_id(given: str | UUID) -> str:
    """An object's id as it is stored, however the UUID is written."""
    try:
        return str(given if isinstance(given, UUID) else UUID(given))
    except (ValueError, AttributeError, TypeError):
        raise Invalid("this is not an id", expected="the text of a UUID", found=repr(given)) from None


def _find_by_id(work: Work, kind: int, parts: tuple[str, ...], object_id: str) -> str:
    life = work.life(object_id)
    if life is None or life.type != kind:
        found = None if life is None else one_of_type(life.type)
        raise NotFound(f"there is no {type_name(kind)} of this id", subject=object_id, found=found)
    was, casing = work.last_parts(object_id), work.ref.line.casing
    if [folded(part, casing) for part in was] != [folded(part, casing) for part in parts]:
        raise NotFound(
            f"the {type_name(kind)} of this id has another name",
            subject=object_id,
            expected=spelled(parts),
            found=spelled(was),
        )
    if work.is_alive(object_id):
        raise AlreadyExists(f"the {type_name(kind)} was not dropped", subject=spelled(was), advice="Open it.")
    return object_id


def _alive_container(work: Work, kind: int, object_id: str, was: tuple[str, ...]) -> str:
    """The container that an object was in, which has to be alive to take it back."""
    parent = container_of(work, object_id)
    if not work.is_alive(parent):
        raise NotFound(
            f"the namespace that the {type_name(kind)} was in was dropped",
            subject=spelled(was),
            advice="Undrop the namespace first, or choose another place: as_name=….",
        )
    return parent


def _candidates(work: Work, rows: Sequence[Dropped]) -> list[Candidate]:
    """Dropped objects as an error lists them: their ids and times tell them apart."""
    times = work.context.metastore.times([version for row in rows for version in (row.created, row.dropped)])
    moments = [datetime_of(time) for time in times]
    return [
        Candidate(row.id, row.name, created, dropped)
        for row, created, dropped in zip(rows, moments[::2], moments[1::2], strict=True)
    ]
