"""Proving what a table has outside its attributes: ids, bodies, checkpoints. A part of `check`."""

from collections.abc import Iterator

from lakebed.records import bodies, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.check.rows import past_of, record_of, says, value_at
from lakebed.records.layout import Attribute
from lakebed.store import Reads
from lakebed.store.tuples import pack_element, unpack


def judge_allocator(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    yield from says(bodies.next_id(value) < 2, "it has never given out an id")


def judge_body(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    _, table, kind, body_id, part = unpack(key)
    prefix = layout.body_prefix(str(table), kind, body_id)
    following, _ = bodies.part_of(value)
    if part > 0:
        yield from says(reads.get(prefix + pack_element(part - 1)) is None, f"part {part - 1} is missing")
    after = reads.get(prefix + pack_element(part + 1))
    if after is None:
        yield from says(following > 0, f"part {part + 1} is missing")
    else:
        yield from says(bodies.part_of(after)[0] != following - 1, f"part {part + 1} is of another body")


def judge_checkpoint(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    """A checkpoint stands for a delta of its line, at its version, of its snapshot."""
    past = past_of(key, value)
    checkpoint = record_of(value, (pb.TableCheckpoint,))
    data = layout.attribute_cell(layout.id_text(past.rest), Attribute.DATA)
    stored = value_at(reads, data, past.line, past.version)
    if stored is None:
        yield "its partition has no data of its version"
        return
    delta = record_of(stored, (pb.TableHistory,))
    same = (delta.snapshot_id, delta.sequence_number) == (checkpoint.snapshot_id, checkpoint.sequence_number)
    yield from says(not same, f"it is of snapshot {checkpoint.snapshot_id}, the data of snapshot {delta.snapshot_id}")


def judge_intent(reads: Reads, key: bytes, value: bytes) -> Iterator[str]:
    record_of(value, (pb.CheckpointIntent,))
    yield from ()
