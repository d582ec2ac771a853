"""Committing to the records form: one store transaction that checks and writes a change.

In this order: the event id, the base, where objects are (`placement`), what was read (`validation`), and then the
writes, all at the version of this commit. Nothing else in the store is touched, so unrelated commits share no key.
"""

from functools import lru_cache
from typing import cast

from google.protobuf.message import Message

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import Change, Commit, DataChange, LifeRecord, Operation
from lakebed.metastore.kinds import check_life, type_name
from lakebed.metastore.records.ancestors import Ancestors
from lakebed.metastore.records.names import Placement, cells_placed, place
from lakebed.metastore.records.newest import Heads
from lakebed.metastore.records.reader import commit_of, state
from lakebed.metastore.records.validation import cells_read, validate
from lakebed.records import bodies, cells, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.codec import ATTRIBUTE_TYPES
from lakebed.records.commits import load_commits, save_commit
from lakebed.records.layout import Attribute, Cell
from lakebed.store import Transaction, Version

_SOME_DATA = codec.encode(pb.TableReference())
"""The current row of a partition's data: its version is all that it says; the delta is in the history."""

_DERIVED = (Attribute.LIFE, Attribute.DATA)
"""Attributes that a change has places of their own for."""

_OPERATION_TYPES = frozenset(name.lower() for name, number in pb.OperationType.items() if number)


def check_change(change: Change) -> None:
    """Refuse a change that no state of the lake could take."""
    parents = (at.line for at in change.parents)
    holders = (text for one in change.hangs_on for text in (one.line, one.object_id))
    for text in (change.event_id, change.line.id, change.line.top, *change.lives, *parents, *holders):
        layout.id_element(text)
    for object_id, life in change.lives.items():
        check_life(object_id, life)
        layout.id_element(life.container_id)
    for (object_id, attribute), record in change.attributes.items():
        layout.id_element(object_id)
        known = () if attribute in _DERIVED else ATTRIBUTE_TYPES.get(attribute, ())
        if type(record) not in known:
            expected = " or ".join(one.DESCRIPTOR.name for one in known) or "no record"
            raise Invalid(
                f"a record does not fit attribute {attribute.name}",
                subject=object_id,
                expected=expected,
                found=type(record).__name__,
            )
    for operation in change.operations:
        if operation.type not in _OPERATION_TYPES:
            raise Invalid("there is no such type of operation", subject=operation.object_id, found=repr(operation.type))
    for (table, kind, body_id), body in change.bodies.items():
        layout.body_prefix(table, kind, body_id)
        if not isinstance(body, bytes):
            raise Invalid("a body is bytes", subject=f"{kind} {body_id} of table {table}", found=type(body).__name__)
    partitions = [one.partition for one in change.data]
    if len(set(partitions)) < len(partitions):
        raise Invalid("a change has two deltas for one partition", expected="one each", advice="Fold them into one.")


def attempt(transaction: Transaction, incarnation: int, ancestors: Ancestors, change: Change) -> Commit | None:
    """Write the change, or answer the commit that already has its event id."""
    heads = Heads(transaction, change, ancestors)
    written = {*(one for one, _ in change.attributes), *(one.table for one in change.data)}
    looked_at = [*cells_placed(change), *cells_read(change), *_cells_written(change, written)]
    held = [layout.attribute_cell(one.object_id, Attribute.LIFE).current_key(one.line) for one in change.hangs_on]
    known, *holders = heads.load_own(looked_at, layout.commit_key(change.event_id), *held)
    if known is not None:
        return _replayed(transaction, change)
    _check_base(transaction, incarnation, change)
    _check_holders(change, holders)
    placement = place(heads, change)
    for object_id in written:
        if not heads.is_born(object_id):  # what a merge brings may be dropped at once, and has all its attributes then
            heads.require_alive(object_id)
    validate(transaction, heads, change)
    # All that still reads comes before the stamped writes, which every later read would have to look through.
    deltas = [_delta(transaction, heads, change, data) for data in change.data]
    for (table, kind, body_id), body in change.bodies.items():
        bodies.save_body(transaction, table, kind, body_id, body)
    _write_placement(transaction, incarnation, change, placement)
    _write_attributes(transaction, incarnation, heads, change)
    for data, delta in zip(change.data, deltas, strict=True):
        cell = layout.attribute_cell(data.partition, Attribute.DATA)
        cells.save(transaction, incarnation, change.line.id, cell, _SOME_DATA, codec.encode(delta))
    _write_commit(transaction, incarnation, change)
    return None


def _cells_written(change: Change, objects: set[str]) -> list[Cell]:
    lives = (layout.attribute_cell(object_id, Attribute.LIFE) for object_id in objects)
    return [*lives, *(layout.attribute_cell(data.partition, Attribute.DATA) for data in change.data)]


def _replayed(transaction: Transaction, change: Change) -> Commit:
    [known] = load_commits(transaction, [change.event_id])
    assert known is not None
    if known.record.fingerprint != change.fingerprint or known.record.catalog_id != change.line.id:
        raise Invalid(
            "this event id belongs to another change",
            subject=change.event_id,
            expected=f"the change that made version {known.version}",
            advice="Give each change an event id of its own.",
        )
    return commit_of(change.event_id, known, transaction.times_of([known.version.stamp])[0])


def _check_base(transaction: Transaction, incarnation: int, change: Change) -> None:
    newest = Version.of(incarnation, transaction.read_stamp)
    if change.base > newest:
        raise Invalid("a change has a base that is not there yet", expected=f"at most {newest}", found=change.base)
    # Through a branch one sees its ancestor as it was then, and what changed in it up to the fork is in no row of the
    # branch. A fork that is yet to come would let what is not settled into the memory of ancestors.
    if change.line.ancestry and change.base < change.line.ancestry[0].version:
        fork = change.line.ancestry[0].version
        raise Invalid("a change has a base from before its branch", expected=f"at least {fork}", found=change.base)


def _check_holders(change: Change, stored: list[bytes | None]) -> None:
    for holder, value in zip(change.hangs_on, stored, strict=True):
        if value is None:
            raise NotFound("what the line belongs to is not there", subject=holder.object_id)
        life = _holder(value)
        if life.dropped:
            raise NotFound(f"the {type_name(life.type)} {life.name!r} was dropped", subject=holder.object_id)


@lru_cache(maxsize=1024)
def _holder(value: bytes) -> LifeRecord:
    """Remembered, because every commit to a line meets the same ones: 17 µs each. Only to be read."""
    return cast(LifeRecord, codec.decode_current(codec.split_current(value)[1]))


def _write_placement(transaction: Transaction, incarnation: int, change: Change, placement: Placement) -> None:
    line = change.line.id
    for object_id, life in placement.lives.items():
        _save(transaction, incarnation, line, object_id, Attribute.LIFE, life)
    for cell, value in placement.rows.items():
        cells.save(transaction, incarnation, line, cell, value, value)
    for parent in placement.parents:
        transaction.set_stamped_value(layout.listing_key(line, parent), *layout.pending_value(incarnation, b""))


def _write_attributes(transaction: Transaction, incarnation: int, heads: Heads, change: Change) -> None:
    for (object_id, attribute), record in change.attributes.items():
        if attribute is Attribute.REF:
            _index_fork(transaction, heads, object_id, cast(pb.CatalogRecord, record))
        _save(transaction, incarnation, change.line.id, object_id, attribute, record)


def _index_fork(transaction: Transaction, heads: Heads, object_id: str, new: pb.CatalogRecord) -> None:
    row = heads.row(layout.attribute_cell(object_id, Attribute.REF))
    old = None if row is None else cast(pb.CatalogRecord, codec.decode_current(row.value))
    if old is not None and old.parent_id:
        transaction.clear(layout.children_prefix(old.parent_project_id, old.parent_id) + layout.id_element(object_id))
    if new.parent_id:
        transaction.set(
            layout.children_prefix(new.parent_project_id, new.parent_id) + layout.id_element(object_id), b""
        )


def _delta(transaction: Transaction, heads: Heads, change: Change, data: DataChange) -> pb.TableHistory:
    """The delta that follows the newest one, with ids that nobody else has."""
    cell = layout.attribute_cell(data.partition, Attribute.DATA)
    newest = heads.row(cell)
    if newest is not None and newest.line == change.line.id:
        # The current row only says which delta is the newest one.
        key = cell.history_prefix(newest.line) + layout.version_element(newest.version)
        newest = newest._replace(value=transaction.snapshot.get(key) or b"")
    previous = None if newest is None else state(newest, data.partition, Attribute.DATA)
    ids = {kind: bodies.allocate(transaction, data.table, kind, count) for kind, count in data.allocate.items()}
    delta = data.fold(previous, ids)
    if not isinstance(delta, pb.TableHistory):
        raise Invalid(
            "a fold answers a delta", subject=data.partition, expected="TableHistory", found=type(delta).__name__
        )
    return delta


def _save(
    transaction: Transaction,
    incarnation: int,
    line: str,
    object_id: str,
    attribute: Attribute,
    record: Message | LifeRecord,
) -> None:
    cell = layout.attribute_cell(object_id, attribute)
    cells.save(transaction, incarnation, line, cell, *codec.encode_both(record))


def _write_commit(transaction: Transaction, incarnation: int, change: Change) -> None:
    try:
        record = _commit_record(change)
    except (ValueError, TypeError) as error:  # a lone surrogate, a count beyond 64 bits: protobuf takes neither
        raise Invalid(f"a commit can't be written down: {error}", subject=change.event_id) from error
    save_commit(transaction, incarnation, change.event_id, record)


def _commit_record(change: Change) -> pb.CatalogCommit:
    return pb.CatalogCommit(
        catalog_id=change.line.id,
        operation=change.operations[0].type if change.operations else "",
        detail=change.message,
        author=change.author,
        project_id=change.project,
        fingerprint=change.fingerprint,
        base_version=change.base,
        operations=[_operation(operation) for operation in change.operations],
        parents=[pb.LineVersion(line_id=at.line, version=at.version) for at in change.parents],
    )


def _operation(operation: Operation) -> pb.Operation:
    return pb.Operation(
        type=operation.type.upper(),
        object_id=operation.object_id,
        name=operation.name or None,
        counts=operation.counts,
        detail=operation.detail or None,
    )
