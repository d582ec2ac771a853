"""Commits in the store: the record itself, its place in the log, and each object's own part of it.

(8, event)                  -> version ‖ catalog commit, with the first operations
(14, event, part)           -> catalog commit with further operations only, where they do not fit into one value
(9, line, version)          -> event
(10, line, object, version) -> table commit
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lakebed.errors import Corrupt
from lakebed.records import codec, layout
from lakebed.records import records_pb2 as pb
from lakebed.store import RangeRead, Reads, Transaction, Version
from lakebed.store.tuples import pack_element

OPERATION_BYTES = 50_000  # in one value; the rest is for the message and the other fields of a commit


class Stored(NamedTuple):
    """A commit as it is stored: its version, and the record with all its operations."""

    version: Version
    record: pb.CatalogCommit


def save_commit(transaction: Transaction, incarnation: int, event: str, record: pb.CatalogCommit) -> None:
    """Write a commit and all its indexes, on the line that the record names."""
    head, more = record, _groups(record.operations)[1:]
    if more:
        head = copy.deepcopy(record)
        del head.operations[len(record.operations) - sum(map(len, more)) :]
        head.operation_parts = len(more)
    value, offset = layout.pending_value(incarnation, codec.encode(head))
    transaction.set_stamped_value(layout.commit_key(event), value, offset)
    for part, operations in enumerate(more):
        rest = pb.CatalogCommit(operations=operations)
        transaction.set(layout.operations_prefix(event) + pack_element(part), codec.encode(rest))
    log = layout.pending(layout.log_prefix(record.catalog_id), incarnation)
    transaction.set_stamped_key(*log, layout.id_element(event)[1:])
    for object_id, operations in by_object(record.operations).items():
        key, offset = layout.pending(layout.table_commit_prefix(record.catalog_id, object_id), incarnation)
        transaction.set_stamped_key(key, offset, codec.encode(pb.TableCommit(operation=operations)))


def load_commits(reads: Reads, events: Sequence[str]) -> list[Stored | None]:
    """The commits with these event ids, None where there is none: one round trip, two if a commit is very long."""
    rows = reads.get_many([layout.commit_key(event) for event in events])
    commits = [None if row is None else stored_commit(row) for row in rows]
    long = [
        (event, commit.record)
        for event, commit in zip(events, commits, strict=True)
        if commit and commit.record.operation_parts
    ]
    ranges = [RangeRead(layout.prefix_range(layout.operations_prefix(event))) for event, _ in long]
    for (event, record), page in zip(long, reads.get_ranges(ranges), strict=True):
        if len(page.entries) != record.operation_parts:
            raise Corrupt(
                "some operations of a commit are missing",
                subject=event,
                expected=f"{record.operation_parts} parts",
                found=len(page.entries),
                advice="Run lake.check().",
            )
        for _, value in page.entries:
            record.operations.extend(operations_part(value).operations)
        record.ClearField("operation_parts")
    return commits


def stored_commit(row: bytes) -> Stored:
    """The commit in a row, with the operations that are in it."""
    version, value = codec.split_current(row)
    return Stored(version, operations_part(value))


def operations_part(value: bytes) -> pb.CatalogCommit:
    record = codec.decode(value)
    if not isinstance(record, pb.CatalogCommit):
        raise Corrupt("a commit has the wrong record", expected="CatalogCommit", found=type(record).__name__)
    return record


def by_object(operations: Iterable[pb.Operation]) -> dict[str, list[pb.Operation]]:
    """The operations on each object. Those on a table's editions, streams and partitions are the table's too."""
    grouped: dict[str, list[pb.Operation]] = defaultdict(list)
    for operation in operations:
        grouped[operation.object_id].append(operation)
        if operation.table_id and operation.table_id != operation.object_id:
            grouped[operation.table_id].append(operation)
    return grouped


def _groups(operations: Iterable[pb.Operation]) -> list[list[pb.Operation]]:
    """The operations in groups that each fit into a value."""
    groups: list[list[pb.Operation]] = []
    size = OPERATION_BYTES
    for operation in operations:
        needed = operation.ByteSize() + 5
        if size + needed > OPERATION_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(operation)
        size += needed
    return groups
