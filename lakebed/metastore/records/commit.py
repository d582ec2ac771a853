"""Committing to the records form: one store transaction that checks and writes a change.

It checks the event id, the base, the lives and names (`names`) and what was read (`validation`), in this order. Then it
writes, everything at the version of this commit. It touches nothing else, so unrelated commits share no key.
"""

from functools import lru_cache
from typing import cast

from google.protobuf.message import Message

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import Change, Commit, DataChange, LifeRecord, Operation
from lakebed.metastore.kinds import check_life, type_name
from lakebed.metastore.records.ancestors import Ancestors
from lakebed.metastore.records.names import Placement, cells_placed, place
from lakebed.metastore.records.newest import NewestState
from lakebed.metastore.records.reader import commit_of, state
from lakebed.metastore.records.validation import cells_read, validate
from lakebed.records import bodies, cells, codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.codec import ATTRIBUTE_TYPES
from lakebed.records.commits import load_commits, save_commit
from lakebed.records.layout import Attribute, Cell
from lakebed.store import Transaction, Version

_SOME_DATA = codec.encode(pb.TableReference())
"""The current row of a partition's data: only its version matters; the delta is in the history."""

_DERIVED = (Attribute.LIFE, Attribute.DATA)
"""Attributes that a change writes through `lives` and `data`."""

_OPERATION_TYPES = frozenset(name.lower() for name, number in pb.OperationType.items() if number)


def check_change(change: Change) -> None:
    """Refuse a change that is invalid whatever the state of the lake."""
    parents = (at.line for at in change.parents)
    holders = (text for holder in change.hangs_on for text in (holder.line, holder.object_id))
    for text in (change.event_id, change.line.id, change.line.top, *change.lives, *parents, *holders):
        layout.id_element(text)
    for object_id, life in change.lives.items():
        check_life(object_id, life)
        layout.id_element(life.container_id)
    for (object_id, attribute), record in change.attributes.items():
        layout.id_element(object_id)
        allowed = () if attribute in _DERIVED else ATTRIBUTE_TYPES.get(attribute, ())
        if type(record) not in allowed:
            expected = " or ".join(kind.DESCRIPTOR.name for kind in allowed) or "no record"
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
            raise Invalid(
                "a body has to be bytes", subject=f"{kind} {body_id} of table {table}", found=type(body).__name__
            )
    partitions = [data.partition for data in change.data]
    if len(set(partitions)) < len(partitions):
        raise Invalid("a change has two deltas for one partition", expected="one each", advice="Fold them into one.")


def attempt(
    transaction: Transaction, incarnation: int, ancestors: Ancestors, change: Change, clock: int | None = None
) -> Commit | None:
    """Write the change, or return the commit that already has its event id. `clock` is noted in it (`clocks`)."""
    newest = NewestState(transaction, change, ancestors)
    written = {*(object_id for object_id, _ in change.attributes), *(data.table for data in change.data)}
    wanted = [*cells_placed(change), *cells_read(change), *_cells_written(change, written)]
    holder_keys = [
        layout.attribute_cell(holder.object_id, Attribute.LIFE).current_key(holder.line) for holder in change.hangs_on
    ]
    known, *holders = newest.load_own(wanted, layout.commit_key(change.event_id), *holder_keys)
    if known is not None:
        return _replayed_commit(transaction, change)
    _check_base(transaction, incarnation, change)
    _check_holders(change, holders)
    placement = place(newest, change)
    for object_id in written:
        if not newest.is_born(object_id):  # a merge may bring a dropped object, with all its attributes
            newest.require_alive(object_id)
    validate(transaction, newest, change)
    # All remaining reads come before the stamped writes, which every later read would have to search.
    deltas = [_delta(transaction, newest, change, data) for data in change.data]
    for (table, kind, body_id), body in change.bodies.items():
        bodies.save_body(transaction, table, kind, body_id, body)
    _write_placement(transaction, incarnation, change, placement)
    _write_attributes(transaction, incarnation, newest, change)
    for data, delta in zip(change.data, deltas, strict=True):
        cell = layout.attribute_cell(data.partition, Attribute.DATA)
        cells.save(transaction, incarnation, change.line.id, cell, _SOME_DATA, codec.encode(delta))
    _write_commit(transaction, incarnation, change, clock)
    return None


def _cells_written(change: Change, objects: set[str]) -> list[Cell]:
    lives = (layout.attribute_cell(object_id, Attribute.LIFE) for object_id in objects)
    return [*lives, *(layout.attribute_cell(data.partition, Attribute.DATA) for data in change.data)]


def _replayed_commit(transaction: Transaction, change: Change) -> Commit:
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
        raise Invalid("the base of a change is in the future", expected=f"at most {newest}", found=change.base)
    # A branch shows its ancestor as of the fork, and no row of the branch records what changed in the ancestor before.
    # A fork in the future would put state that can still change into the cache of ancestors.
    if change.line.ancestry and change.base < change.line.ancestry[0].version:
        fork = change.line.ancestry[0].version
        raise Invalid("the base of a change is older than its branch", expected=f"at least {fork}", found=change.base)


def _check_holders(change: Change, stored: list[bytes | None]) -> None:
    for holder, value in zip(change.hangs_on, stored, strict=True):
        if value is None:
            raise NotFound("the object that the line belongs to does not exist", subject=holder.object_id)
        life = _holder_life(value)
        if life.dropped:
            raise NotFound(f"the {type_name(life.type)} {life.name!r} was dropped", subject=holder.object_id)


@lru_cache(maxsize=1024)
def _holder_life(value: bytes) -> LifeRecord:
    """Cached, because every commit to a line decodes the same records, at 17 µs each. Do not modify the record."""
    return cast(LifeRecord, codec.decode_current(codec.split_current(value)[1]))


def _write_placement(transaction: Transaction, incarnation: int, change: Change, placement: Placement) -> None:
    line = change.line.id
    for object_id, life in placement.lives.items():
        _save(transaction, incarnation, line, object_id, Attribute.LIFE, life)
    for cell, value in placement.rows.items():
        cells.save(transaction, incarnation, line, cell, value, value)
    for parent in placement.parents:
        transaction.set_stamped_value(layout.listing_key(line, parent), *layout.pending_value(incarnation, b""))


def _write_attributes(transaction: Transaction, incarnation: int, newest: NewestState, change: Change) -> None:
    for (object_id, attribute), record in change.attributes.items():
        if attribute is Attribute.REF:
            _index_fork(transaction, newest, object_id, cast(pb.CatalogRecord, record))
        _save(transaction, incarnation, change.line.id, object_id, attribute, record)


def _index_fork(transaction: Transaction, newest: NewestState, object_id: str, new: pb.CatalogRecord) -> None:
    row = newest.row(layout.attribute_cell(object_id, Attribute.REF))
    old = None if row is None else cast(pb.CatalogRecord, codec.decode_current(row.value))
    if old is not None and old.parent_id:
        transaction.clear(layout.children_prefix(old.parent_project_id, old.parent_id) + layout.id_element(object_id))
    if new.parent_id:
        transaction.set(
            layout.children_prefix(new.parent_project_id, new.parent_id) + layout.id_element(object_id), b""
        )


def _delta(transaction: Transaction, newest: NewestState, change: Change, data: DataChange) -> pb.TableHistory:
    """The delta that follows the newest one, with newly allocated ids."""
    cell = layout.attribute_cell(data.partition, Attribute.DATA)
    row = newest.row(cell)
    if row is not None and row.line == change.line.id:
        # The current row only holds the version of the newest delta.
        key = cell.history_prefix(row.line) + layout.version_element(row.version)
        row = row._replace(value=transaction.snapshot.get(key) or b"")
    previous = None if row is None else state(row, data.partition, Attribute.DATA)
    ids = {kind: bodies.allocate(transaction, data.table, kind, count) for kind, count in data.allocate.items()}
    delta = data.fold(previous, ids)
    if not isinstance(delta, pb.TableHistory):
        raise Invalid(
            "a fold did not return a delta", subject=data.partition, expected="TableHistory", found=type(delta).__name__
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


def _write_commit(transaction: Transaction, incarnation: int, change: Change, clock: int | None) -> None:
    try:
        record = _commit_record(change, clock)
    except (ValueError, TypeError) as error:  # a lone surrogate, a count beyond 64 bits: protobuf accepts neither
        raise Invalid(f"a commit can't be stored: {error}", subject=change.event_id) from error
    save_commit(transaction, incarnation, change.event_id, record)


def _commit_record(change: Change, clock: int | None) -> pb.CatalogCommit:
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
        clock=clock,
    )


def _operation(operation: Operation) -> pb.Operation:
    return pb.Operation(
        type=operation.type.upper(),
        object_id=operation.object_id,
        name=operation.name or None,
        counts=operation.counts,
        detail=operation.detail or None,
        summary=operation.summary,
        table_id=operation.table or None,
    )
