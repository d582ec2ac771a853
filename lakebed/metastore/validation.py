"""Whether what a change read still holds, however long ago that was.

Every unit that can be read has a current row that carries the version of its last change: the commit compares it with
the change's base. Data that has changed since is judged by what the reader says about the deltas.
"""

from collections.abc import Iterator
from typing import NamedTuple

from lakebed.errors import Conflict
from lakebed.metastore.change import AttributeRead, Change, Clash, DataRead, ListingRead, NameRead, Read
from lakebed.metastore.records_reader import commits_at, state
from lakebed.records import cells, layout, names
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Transaction, Version


class _Unit(NamedTuple):
    what: str
    object_id: str
    line: str
    key: bytes
    read: Read | None


def validate(transaction: Transaction, change: Change) -> None:
    """Refuse the change with `Conflict` if anything that it relied on changed after its base."""
    units = list(dict.fromkeys(_units(change)))
    rows = transaction.get_many([unit.key for unit in units])
    late = [
        (unit, Version(row[:12]))
        for unit, row in zip(units, rows, strict=True)
        if row is not None and row[:12] > change.base
    ]
    clashes = [clash for unit, version in late if (clash := _clash(transaction, change, unit, version)) is not None]
    if clashes:
        raise _conflict(clashes)


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
        case AttributeRead(object_id, attribute, other):
            return _attribute(other or line, object_id, attribute)
        case NameRead(parent, name):
            folded = names.folded(names.normal_name(name, refused=""), change.line.casing)
            return _Unit(f"name {name!r}", parent, line, layout.name_cell(parent, folded).current_key(line), None)
        case ListingRead(parent):
            return _Unit("listing", parent, line, layout.listing_key(line, parent), None)
        case DataRead(partition):
            key = layout.attribute_cell(partition, Attribute.DATA).current_key(line)
            return _Unit("data", partition, line, key, read)


def _attribute(line: str, object_id: str, attribute: Attribute) -> _Unit:
    cell = layout.attribute_cell(object_id, attribute)
    return _Unit(attribute.name.lower(), object_id, line, cell.current_key(line), None)


def _clash(transaction: Transaction, change: Change, unit: _Unit, version: Version) -> Clash | None:
    reason = ""
    if isinstance(unit.read, DataRead) and unit.read.objection is not None:
        cell = layout.attribute_cell(unit.object_id, Attribute.DATA)
        rows = cells.since(transaction.snapshot, unit.line, cell, change.base)
        objection = unit.read.objection([state(row, unit.object_id, Attribute.DATA) for row in rows])
        if objection is None:
            return None
        reason = objection
    [commit] = commits_at(transaction, [LineAt(unit.line, version)])
    return Clash(unit.what, unit.object_id, change.base, version, commit, reason)


def _conflict(clashes: list[Clash]) -> Conflict:
    first = clashes[0]
    more = f", and {len(clashes) - 1} more" if len(clashes) > 1 else ""
    by = ""
    if first.commit is not None:
        by = f" by commit {first.commit.id} of {first.commit.author or 'nobody named'}: {first.commit.message!r}"
    return Conflict(
        f"the {first.what} was changed{by}{more}" + (f" ({first.reason})" if first.reason else ""),
        subject=first.object_id,
        expected=f"nothing after version {first.base}",
        found=f"version {first.found}",
        advice="Read again at the newest version and decide anew.",
        conflicts=clashes,
    )
