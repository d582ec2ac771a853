"""Editions of a table: a breaking rebuild beside the table that readers see, swapped in by one commit.

    (line, edition, life)       -> its table, and its name: the version, such as 2
    (line, edition, partition)  -> its state, and the edition that was active when it was made
    (line, edition, storage …)  -> storage, schema, spec, sort order, properties: as a table's
    (line, table, storage)      -> `active_edition_id`, unset for the first edition

The first edition, 1, has its attributes at the table's own id, and gets a life when the table gets a second edition.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

from lakebed.catalog.objects.claims import claimed_id
from lakebed.catalog.objects.undrop import check_id, find_dropped
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import Layout, definition_of, put_definition, table_state
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.holders import holder_of
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.catalog.transaction.objects import (
    ATTRIBUTES,
    FIRST_EDITION,
    Slot,
    bring_back,
    check_free,
    children,
    drop,
    find,
    look_up,
    name_of,
    name_taken,
    what_became,
)
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import AttributeRead, Operation, life, new_id
from lakebed.metastore.kinds import part_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.records.names import normal_name
from lakebed.table.schema.schema import Schema

CREATED: Final = "created"
UNRELEASED: Final = "unreleased"
ACTIVE: Final = "active"
DEPRECATED: Final = "deprecated"
BETA: Final = "beta"
DELETED: Final = "deleted"

SETTABLE: Final = (CREATED, UNRELEASED, BETA, DEPRECATED)
"""The states that a caller sets; `activate` and `drop_edition` make the others."""

PREFIX: Final = "edition_"
"""How the last part of an edition's name begins: `sales.orders.edition_2`."""


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition of a table. `holder` has its attributes: the table itself for the first."""

    table: str
    name: str
    id: str

    def holder(self, birth: str) -> str:
        return self.table if self.id == birth else self.id


@dataclass(frozen=True, slots=True)
class NewEdition:
    """An edition to be created; without columns it gets those of the active one."""

    name: str
    columns: Schema | None
    layout: Layout | None
    properties: Mapping[str, str] | None
    id: str | None


# Finding


def table_around(work: Work, given: str) -> str:
    """The id of the table that a handle's id belongs to: its own, or that of its edition."""
    record = work.life(str(given))
    return record.container_id if record is not None and record.type == pb.EDITION else str(given)


def editions(work: Work, table: str) -> list[Edition]:
    """The editions of a table, by name; the first one is always there until it is dropped."""
    birth = first_edition(work, table)
    if work.life(birth) is None:  # which it gets with the second edition
        work.read(AttributeRead(birth, Attribute.LIFE))
        return [Edition(table, FIRST_EDITION, birth)]
    return [Edition(table, child.name, child.id) for child in children(work, table, pb.EDITION)]


def load_editions(work: Work, tables: Sequence[str]) -> None:
    """Read what `editions` needs of many tables, in one round trip for those with one edition."""
    births = [(table, first_edition(work, table)) for table in tables]
    attributes = (Attribute.LIFE, Attribute.PARTITION)
    work.load((birth, attribute) for _, birth in births for attribute in attributes)
    more = [table for table, birth in births if work.life(birth) is not None]
    found = (edition.id for table in more for edition in editions(work, table))
    work.load((edition, attribute) for edition in found for attribute in ATTRIBUTES)


def find_edition(work: Work, table: str, name: str) -> Edition:
    """The edition of this name or id, or `NotFound`."""
    found = work.resolve(table, check_name(name)) or name
    known = work.life(found) if found != name or _is_id(name) else None
    if known is not None and known.type == pb.EDITION and not known.dropped and known.container_id == table:
        return Edition(table, known.name, found)
    birth = first_edition(work, table)
    if name in (FIRST_EDITION, birth) and work.life(birth) is None:
        return Edition(table, FIRST_EDITION, birth)
    gone, advice = what_became(work, table, name, pb.EDITION)
    raise NotFound(
        "the table has no edition of this name",
        subject=spelled((*name_of(work, table), part_name(pb.EDITION, name))),
        found=gone,
        advice=advice or "editions() lists what is there.",
    )


def bound_edition(work: Work, edition: Edition) -> Bound:
    """The id of a handle of an edition, whatever edition is active."""
    return Bound(edition.holder(first_edition(work, edition.table)), object_id=edition.id)


def find_table(work: Work, name: Name) -> str:
    """The id of the table with this name, or of the edition: `sales.orders.edition_2`; else `NotFound`."""
    parts = parse_name(name)
    return edition_named(work, parts) or find(work, parts, pb.TABLE)


def find_whole_table(work: Work, name: Name) -> str:
    """The id of the table with this name; `Invalid` for an edition, which is not renamed, dropped or restored alone."""
    parts = parse_name(name)
    if edition_named(work, parts) is not None:
        raise Invalid(
            "this is an edition of a table",
            subject=spelled(parts),
            expected="the name of a table",
            advice=f"Make the call on {spelled(parts[:-1])}; drop_edition(…) drops one of its editions.",
        )
    return find(work, parts, pb.TABLE)


def table_exists(work: Work, name: Name) -> bool:
    """Whether there is a table or an edition of this name."""
    parts = parse_name(name)
    try:
        return look_up(work, parts, pb.TABLE) is not None or edition_named(work, parts) is not None
    except NotFound:
        return False


def edition_named(work: Work, parts: tuple[str, ...]) -> str | None:
    """The edition of a name whose last part says that it is one; None if it is a table's, or nothing's."""
    if len(parts) < 2 or not parts[-1].casefold().startswith(PREFIX) or parts[-1].casefold() == PREFIX:
        return None
    if look_up(work, parts, pb.TABLE) is not None:
        return None
    table = look_up(work, parts[:-1], pb.TABLE)
    return None if table is None else bound_edition(work, find_edition(work, table, parts[-1][len(PREFIX) :]))


def first_edition(work: Work, table: str) -> str:
    """The id of the edition that a table was born with."""
    return _storage(work, table).edition_id


def active_edition(work: Work, table: str) -> str:
    """The id of the edition that readers of a table see; another one that is activated meanwhile is a conflict."""
    storage = _storage(work, table)
    return storage.active_edition_id or storage.edition_id


def state_of(work: Work, edition: Edition) -> str:
    """An edition's state: what it was set to, but active as long as the table shows it, and deprecated after that."""
    if edition.id == active_edition(work, edition.table):
        return ACTIVE
    stored = _record(work, edition.id).state or ACTIVE
    return DEPRECATED if stored == ACTIVE else stored


def previous_of(work: Work, edition: Edition) -> str | None:
    """The id of the edition that was active when this one was made; None for the first."""
    return _record(work, edition.id).previous_id or None


def edition_name(work: Work, edition_id: str, table: str) -> str:
    """The name of an edition by its id, dropped or not."""
    known = work.life(edition_id)
    return FIRST_EDITION if known is None and edition_id == first_edition(work, table) else known.name if known else ""


def locator_of(work: Work, given: str) -> Locator:
    """Where a table is, or the edition that a handle's id is bound to."""
    table = table_around(work, given)
    *namespace, name = name_of(work, table)
    here = Locator(tuple(namespace), name)
    if not isinstance(given, Bound) or given.via is not None:
        return here
    edition = given.object_id if given.cell is None else str(given)
    own = edition if edition != table else first_edition(work, table)
    return Locator(here.namespace, name, edition_name(work, own, table))


# Changing


def create_edition(work: Work, given: str, new: NewEdition) -> str:
    """Create an unreleased edition of a table, and return its id; readers of the table don't see it."""
    table = table_around(work, given)
    active = table_state(work, table)
    text = spelled((*name_of(work, table), part_name(pb.EDITION, check_name(new.name))))
    _check_new(work, table, new, text)
    edition = claimed_id(work, new.id, text, {first_edition(work, table), *active.own_ids})
    definition = definition_of(text, *_given_or_active(work, active.id, new))
    is_second = _put_first(work, table)
    work.put_new_life(edition, life(pb.EDITION, table, new.name))
    put_definition(work, edition, _new_storage(work, table, active.id, edition), definition)
    record = pb.TablePartition(state=UNRELEASED, previous_id=active_edition(work, table))
    work.put_attribute(edition, Attribute.PARTITION, record)
    work.note(Operation("create", edition, text))
    if is_second:
        birth = first_edition(work, table)
        work.note(Operation("create", birth, spelled(name_of(work, birth)), detail="the table's first edition"))
    return edition


def activate(work: Work, given: str, name: str) -> None:
    """Let readers of a table see another edition from this commit on; the one that they saw is deprecated."""
    table = table_around(work, given)
    edition, before = find_edition(work, table, name), active_edition(work, table)
    if edition.id == before:
        return
    storage = copy.deepcopy(_storage(work, table))
    if edition.id == storage.edition_id:
        storage.ClearField("active_edition_id")
    else:
        storage.active_edition_id = edition.id
    work.put_attribute(table, Attribute.STORAGE, storage)
    _put_state(work, edition.id, ACTIVE)
    text = spelled(name_of(work, table))
    change = f"edition {edition_name(work, before, table)} to {edition.name}"
    work.note(Operation("activate", table, text, detail=change))
    work.note(Operation("activate", edition.id, spelled(name_of(work, edition.id))))


def set_state(work: Work, given: str, name: str, state: str) -> None:
    """Mark an edition that is not active as created, unreleased, beta or deprecated."""
    table = table_around(work, given)
    edition = find_edition(work, table, name)
    text = spelled((*name_of(work, table), part_name(pb.EDITION, edition.name)))
    if state not in SETTABLE:
        advice = {ACTIVE: "activate(…) makes it active.", DELETED: "drop_edition(…) deletes it."}.get(str(state), "")
        raise Invalid(
            "an edition can't be set to this state",
            subject=text,
            expected=", ".join(SETTABLE),
            found=repr(state),
            advice=advice,
        )
    if edition.id == active_edition(work, table):
        raise Invalid("the active edition has no other state", subject=text, advice="Activate another edition first.")
    if state == state_of(work, edition):
        return
    _put_state(work, edition.id, state)
    work.note(Operation("alter_edition", edition.id, text, detail=state))


def drop_edition(work: Work, given: str, name: str) -> None:
    """Drop an edition that is not active: its name is free, its past stays."""
    table = table_around(work, given)
    edition = find_edition(work, table, name)
    if edition.id == active_edition(work, table):
        raise Invalid(
            "the active edition can't be dropped",
            subject=spelled((*name_of(work, table), part_name(pb.EDITION, edition.name))),
            advice="Activate another edition first, or drop the table.",
        )
    drop(work, edition.id)


def undrop_edition(work: Work, given: str, name: str, edition_id: str | None) -> None:
    """Bring a dropped edition back, with its rows and its state."""
    table = table_around(work, given)
    work.path(table)
    slot = Slot(table, check_name(name), spelled((*name_of(work, table), part_name(pb.EDITION, name))))
    found = find_dropped(work, slot, pb.EDITION, None if edition_id is None else check_id(edition_id))
    work.rely_on_no_purge(found.id)
    check_free(work, slot)
    bring_back(work, found.id, table, found.name)
    work.note(Operation("undrop", found.id, slot.text))


def check_name(name: str) -> str:
    """The name of an edition, or `Invalid`."""
    if not isinstance(name, str):
        raise Invalid("an edition is named by text", expected='for example "2"', found=repr(name))
    return normal_name(name)


def holders(work: Work, table: str) -> Iterator[tuple[Edition, Bound]]:
    """The editions of a table, each with what holds its state."""
    for edition in editions(work, table):
        yield edition, bound_edition(work, edition)


def _check_new(work: Work, table: str, new: NewEdition, text: str) -> None:
    slot = Slot(table, new.name, text)
    is_first = new.name == FIRST_EDITION and work.life(first_edition(work, table)) is None
    if is_first or work.resolve(table, new.name) is not None:
        raise name_taken(slot, "an edition", "Choose another name, or drop that edition.")


def _new_storage(work: Work, table: str, active: str, edition: str) -> pb.TableStorage:
    """The storage of a new edition: as the active one's, but in a folder of its own below the table's."""
    storage = copy.deepcopy(_storage(work, active))
    storage.ClearField("active_edition_id")
    storage.location = f"{_storage(work, table).location}/editions/{edition}"
    storage.edition_id, storage.stream_id, storage.partition_id = edition, new_id(), new_id()
    return storage


def _given_or_active(work: Work, active: str, new: NewEdition) -> tuple[Schema, Mapping[str, str], Layout]:
    """The columns, properties and layout of a new edition: those that are given, others as the active one has them."""
    state = table_state(work, active)
    stored = cast("pb.TableProperties | None", work.attribute(holder_of(work, active), Attribute.PROPERTIES))
    kept = {} if stored is None else dict(stored.properties)
    properties = kept if new.properties is None else new.properties
    layout = new.layout or Layout()
    return state.schema if new.columns is None else new.columns, properties, layout


def _put_first(work: Work, table: str) -> bool:
    """Give the first edition a life, if it has none yet; whether it had none."""
    birth = first_edition(work, table)
    if work.life(birth) is not None:
        return False
    work.put_new_life(birth, life(pb.EDITION, table, FIRST_EDITION))
    return True


def _is_id(name: str) -> bool:
    with suppress(Invalid):
        return check_id(name) == name
    return False


def _put_state(work: Work, edition: str, state: str) -> None:
    record = copy.deepcopy(_record(work, edition))
    record.state = state
    work.put_attribute(edition, Attribute.PARTITION, record)


def _record(work: Work, edition: str) -> pb.TablePartition:
    found = cast("pb.TablePartition | None", work.attribute(edition, Attribute.PARTITION))
    return pb.TablePartition() if found is None else found


def _storage(work: Work, table: str) -> pb.TableStorage:
    found = cast("pb.TableStorage | None", work.attribute(table, Attribute.STORAGE))
    if found is None:
        work.path(table)
        raise NotFound("there is no such table", subject=table)
    return found
