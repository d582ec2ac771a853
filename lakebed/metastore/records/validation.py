"""Whether what a change read is still valid, however long ago it was read.

Every unit that can be read has a current row with the version of its last change, which the commit compares with the
change's base. Where data has changed since, the reader's `objection` decides about the deltas.
"""

from collections.abc import Iterator
from typing import NamedTuple

from lakebed.errors import Conflict
from lakebed.metastore.change import AttributeRead, Change, Clash, DataRead, ListingRead, NameRead, Read
from lakebed.metastore.records.newest import NewestState
from lakebed.metastore.records.reader import commits_at, state
from lakebed.records import cells, layout, names
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute, Cell
from lakebed.store import Transaction, Version
from lakebed.store.version import ZERO


class _Unit(NamedTuple):
    """Something that a change relied on: a cell, or the listing of an object."""

    what: str
    object_id: str
    line: str
    cell: Cell | None
    read: Read | None


def cells_read(change: Change) -> list[Cell]:
    """The cells of the change's own line that `validate` reads."""
    return [unit.cell for unit in _units(change) if unit.cell is not None and unit.line == change.line.id]


def validate(transaction: Transaction, newest: NewestState, change: Change) -> None:
    """Refuse the change with `Conflict` if anything that it relied on changed after its base."""
    units = list(dict.fromkeys(_units(change)))
    if not units:
        return
    elsewhere = [unit for unit in units if unit.cell is None or unit.line != change.line.id]
    stored = transaction.get_many([_key(unit) for unit in elsewhere]) if elsewhere else []
    others = dict(zip(elsewhere, stored, strict=True))
    late = [(unit, version) for unit in units if (version := _version(newest, others, unit)) > change.base]
    found = (_clash(transaction, newest, change, unit, version) for unit, version in late)
    clashes = [clash for clash in found if clash is not None]
    if clashes:
        raise _conflict(clashes)


def _version(newest: NewestState, others: dict[_Unit, bytes | None], unit: _Unit) -> Version:
    """The version of a unit's last change on its line."""
    if unit in others:
        return Version((others[unit] or ZERO)[:12])
    assert unit.cell is not None
    row = newest.own(unit.cell)
    return ZERO if row is None else row.version


def _key(unit: _Unit) -> bytes:
    return layout.listing_key(unit.line, unit.object_id) if unit.cell is None else unit.cell.current_key(unit.line)


def _units(change: Change) -> Iterator[_Unit]:
    for read in change.reads:
        yield _unit(change, read)
    for object_id in change.lives:
        yield _attribute(change.line.id, object_id, Attribute.LIFE)
    for object_id, attribute in change.attributes:
        yield _attribute(change.line.id, object_id, attribute)


def _unit(change: Change, read: Read) -> _Unit:
    line = change.line.id
    match read:
        case AttributeRead(object_id, attribute, other, objection):
            return _attribute(other or line, object_id, attribute, None if objection is None else read)
        case NameRead(parent, name):
            folded = names.folded(names.normal_name(name, refused=""), change.line.casing)
            return _Unit(f"name {name!r}", parent, line, layout.name_cell(parent, folded), None)
        case ListingRead(parent, other):
            return _Unit("listing", parent, other or line, None, None)
        case DataRead(partition):
            return _Unit("data", partition, line, layout.attribute_cell(partition, Attribute.DATA), read)


def _attribute(line: str, object_id: str, attribute: Attribute, read: Read | None = None) -> _Unit:
    return _Unit(attribute.name.lower(), object_id, line, layout.attribute_cell(object_id, attribute), read)


def _clash(
    transaction: Transaction, newest: NewestState, change: Change, unit: _Unit, version: Version
) -> Clash | None:
    reason = _objection(transaction, newest, change, unit)
    if reason is None:
        return None
    [commit] = commits_at(transaction, [LineAt(unit.line, version)])
    return Clash(unit.what, unit.object_id, change.base, version, commit, reason)


def _objection(transaction: Transaction, newest: NewestState, change: Change, unit: _Unit) -> str | None:
    """Why a unit that has changed is a conflict, empty if any change is; None if it is not one."""
    match unit.read:
        case DataRead(_, objection) if objection is not None:
            cell = layout.attribute_cell(unit.object_id, Attribute.DATA)
            rows = cells.since(transaction.snapshot, unit.line, cell, change.base)
            return objection([state(row, unit.object_id, Attribute.DATA) for row in rows])
        case AttributeRead(object_id, attribute, _, objection) if objection is not None and unit.cell is not None:
            row = newest.own(unit.cell)
            return "" if row is None else objection(state(row, object_id, attribute))
        case _:
            return ""


def _conflict(clashes: list[Clash]) -> Conflict:
    first = clashes[0]
    more = f", and {len(clashes) - 1} more" if len(clashes) > 1 else ""
    by = ""
    if first.commit is not None:
        by = f" by commit {first.commit.id} of {first.commit.author or 'an unnamed author'}: {first.commit.message!r}"
    return Conflict(
        f"the {first.what} was changed{by}{more}" + (f" ({first.reason})" if first.reason else ""),
        subject=first.object_id,
        expected=f"nothing after version {first.base}",
        found=f"version {first.found}",
        advice="Read the newest version, and decide again.",
        conflicts=clashes,
    )
