"""Streams: the data of an edition in one format, and staged ones that replace it whole.

    (line, stream, life)      -> the table or edition that it is staged for; its name is its id
    (line, stream, storage)   -> the partition of its deltas
    (line, stream, partition) -> staged or committed, the stream before it, the version whose rows it replaces
    (line, holder, storage)   -> `stream_id`, the stream that readers see

A staged stream has a partition of its own, with the schema, ids and folder of its edition. Its commit is one delta of
the edition's root partition, which removes all files and adds the staged ones: there is one chain of snapshots.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, cast

from lakebed.catalog.data.changes import COMMITTED, STAGED, change_files, check_staged, delta_of
from lakebed.catalog.data.deltas import histories, history, record_of
from lakebed.catalog.data.levels import entering
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.objects.claims import claimed_id
from lakebed.catalog.objects.undrop import check_id, not_purged
from lakebed.catalog.tables.editions import find_table, locator_of
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.bound import Bound, bound_to, subject_of
from lakebed.catalog.transaction.holders import holder_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import bring_back, children, drop, look_up, name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import AlreadyExists, Conflict, Expired, Invalid, NotFound
from lakebed.metastore import DataRead, Operation, State, life, new_id
from lakebed.metastore.kinds import operation_name
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.merge.sides import COMPACT, OVERWRITE

CheckKeys = Callable[[Work, TableState, Sequence[DataFileRef], Sequence[DataFileRef]], None]
"""`Invalid` if two rows would have one primary key, when some files are removed and others added: an engine looks."""

DEPRECATED: Final = "deprecated"
DROPPED: Final = "dropped"
FORMAT: Final = "parquet"
"""The format of a stream's files, which is also the alias of the committed stream."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of an edition: staged, committed (readers see it), deprecated (they saw it) or dropped (discarded)."""

    id: str
    holder: str
    state: str
    previous: str | None = None
    cell: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether its rows can be read by its id: those of a deprecated one are in the table's past."""
        return self.state not in (DEPRECATED, DROPPED)

    @property
    def bound(self) -> Bound:
        """The id of a handle that works on the stream's own rows."""
        return bound_to(self.holder) if self.cell is None else Bound(self.holder, None, self.id, self.cell)


def streams(work: Work, table: str) -> list[Stream]:
    """The streams of a table's edition: the committed one, those that are staged, and those that it had."""
    return streams_of(work, [table_state(work, table).id])[0]


def streams_of(work: Work, holders: Sequence[str]) -> list[list[Stream]]:
    """The same for many holders, in a few round trips for all that have nothing staged."""
    named = work.parents_of_names([str(holder) for holder in holders])
    staged = [_staged_ids(work, holder) if str(holder) in named else [] for holder in holders]
    pasts = histories(work, [(str(holder), None) for holder in holders], Attribute.STORAGE)
    ids = [
        dict.fromkeys([_storage(work, holder).stream_id, *own, *(_stream_id(state) for state in past)])
        for holder, own, past in zip(holders, staged, pasts, strict=True)
    ]
    attributes = (Attribute.LIFE, Attribute.STORAGE, Attribute.PARTITION)
    work.load((stream, attribute) for own in ids for stream in own for attribute in attributes)
    return [
        [_known(work, holder, stream) for stream in own if not _is_discarded(work, stream)]
        for holder, own in zip(holders, ids, strict=True)
    ]


def _staged_ids(work: Work, holder: str) -> list[str]:
    return [child.id for child in children(work, str(holder), pb.STREAM)]


def _is_discarded(work: Work, stream: str) -> bool:
    """Whether a stream was dropped while it was staged: one whose commit was reverted is staged again."""
    life = work.life(stream)
    return life is not None and life.dropped and _record(work, stream).state == STAGED


def _stream_id(state: State) -> str:
    return cast(pb.TableStorage, state.record).stream_id


def find_stream(work: Work, table: str, name: str) -> Stream:
    """The committed stream by its format or id, or a staged one by its id; else `NotFound`."""
    if not isinstance(name, str):
        raise Invalid("a stream is named by its id or its format", expected="text", found=repr(name))
    holder = table_state(work, table).id
    current = _storage(work, holder).stream_id
    if name.casefold() == FORMAT or name == current:
        return _known(work, holder, current)
    found = next((one for one in streams(work, table) if one.id == name), None)
    subject = f"{spelled(name_of(work, table))}, stream {name!r}"
    if found is None:
        advice = "streams() lists them. A staged one is found by its id alone, in the edition that it was staged for."
        raise NotFound("the table has no such stream", subject=subject, advice=advice)
    if found.state != STAGED:
        advice = "Its rows are in the table's past: at(…) shows them."
        raise NotFound("the stream was replaced by another", subject=subject, advice=advice)
    return found


def stream_named(work: Work, parts: tuple[str, ...]) -> Stream | None:
    """The staged stream of a name whose last part says that it is one: `sales.orders.stream_<id>`; None for others."""
    prefix, _, given = parts[-1].partition("_")
    if len(parts) < 2 or prefix.casefold() != "stream" or look_up(work, parts, pb.TABLE) is not None:
        return None
    with suppress(Invalid, NotFound):
        found = find_stream(work, find_table(work, parts[:-1]), check_id(given))
        return found if found.state == STAGED else None
    return None


def undrop_stream(work: Work, table: str, stream: str) -> None:
    """Bring back a staged stream that was discarded, with the rows that it had."""
    holder = str(table_state(work, table).id)
    known = work.life(stream)
    subject = f"{spelled(name_of(work, bound_to(holder)))}, stream {stream}"
    if known is None or known.type != pb.STREAM or known.container_id != holder:
        raise NotFound(
            "no stream of this id was discarded", subject=subject, advice='inspect("__streams") lists those that were.'
        )
    if known.drop_type == pb.PURGED:
        raise Expired("the stream was purged", subject=subject)
    if not known.dropped:
        raise AlreadyExists("the stream was not discarded", subject=subject, advice="Open it by stream(…).")
    if not _is_discarded(work, stream):
        advice = "Its rows are in the table's past: restore or reset the table to a version that showed them."
        raise Invalid("the stream was committed, not discarded", subject=subject, advice=advice)
    work.rely_on_no_purge(stream)
    bring_back(work, stream, holder, stream)
    work.note(Operation("undrop", stream, spelled(name_of(work, stream))))


def discarded_streams(work: Work, holder: str) -> list[Stream]:
    """The staged streams of an edition that were discarded, and can be undropped."""
    gone = [row.id for row in not_purged(list(work.dropped(str(holder)))) if row.type == pb.STREAM]
    return [
        Stream(one, str(holder), DROPPED, _record(work, one).previous_id or None)
        for one in gone
        if _is_discarded(work, one)
    ]


def stage_stream(work: Work, table: str, stream_id: str | None) -> Stream:
    """Stage an empty stream beside the one that readers of a table see."""
    if isinstance(table, Bound) and table.cell is not None:
        raise Invalid("what is staged has no streams", subject=spelled(name_of(work, table)))
    state = table_state(work, table)
    own = claimed_id(work, stream_id, f"{spelled(name_of(work, state.id))}, staged stream", state.own_ids)
    stream = Stream(own, str(state.id), STAGED, state.stream, new_id())
    work.put_new_life(stream.id, life(pb.STREAM, stream.holder, stream.id))
    storage = pb.TableStorage(stream_id=stream.id, partition_id=stream.cell, file_format=FORMAT)
    work.put_attribute(stream.id, Attribute.STORAGE, storage)
    record = pb.TablePartition(state=STAGED, previous_id=state.stream, based_on=bytes(work.base))
    work.put_attribute(stream.id, Attribute.PARTITION, record)
    assert stream.cell is not None
    work.deltas[stream.cell] = delta_of(replace(state, id=stream.bound, partition=stream.cell), "stage")
    work.note(Operation("stage", stream.id, spelled(name_of(work, stream.id))))
    return stream


def commit_stream(work: Work, stream: Bound, seen: Version | None, check_keys: CheckKeys) -> None:
    """Replace all rows of the edition by those of a staged stream; it is the edition's stream from then on.

    `Conflict` if the rows that it replaces were changed after the stream was staged, or after the version `seen`.
    `Invalid` if two of its rows have one primary key.
    """
    staged, shown = table_state(work, stream), table_state(work, bound_to(str(stream)))
    check_staged(work, stream)
    record = copy.deepcopy(_record(work, stream.object_id))
    _check_unchanged(work, shown, seen or Version(record.based_on))
    work.read(DataRead(shown.partition))
    work.read(DataRead(staged.partition))
    gone = live_files(work, shown)
    check_keys(work, shown, list(gone.values()), list(live_files(work, staged).values()))
    replace_files(work, shown, staged, gone)
    storage = copy.deepcopy(_storage(work, str(shown.id)))
    storage.stream_id = stream.object_id
    work.put_attribute(str(shown.id), Attribute.STORAGE, storage)
    record.state = COMMITTED
    work.put_attribute(stream.object_id, Attribute.PARTITION, record)
    work.note(Operation("activate", stream.object_id, spelled(name_of(work, stream)), detail=COMMITTED))


def discard_stream(work: Work, stream: Bound) -> None:
    """Drop a staged stream; the table stays as it is."""
    table_state(work, stream)
    check_staged(work, stream)
    drop(work, stream.object_id)


def replace_files(work: Work, shown: TableState, staged: TableState, gone: Mapping[str, DataFileRef]) -> None:
    """One delta that removes files of the shown partition and adds all files that are staged, with their row ids."""
    new = live_files(work, staged)
    work.deltas.pop(staged.partition, None)  # what the work itself has staged is in this delta alone
    delta = replace(delta_of(shown, OVERWRITE), removed=tuple(gone.values()), added=tuple(new.values()))
    change_files(work, shown, entering(work, shown, delta), f"{subject_of(staged.id)} replaces them")


def _check_unchanged(work: Work, shown: TableState, seen: Version) -> None:
    """`Conflict` if rows came or went after a version: the staged stream can't know them."""
    for delta in history(work, shown.partition, seen):
        record = record_of(delta)
        if operation_name(record.operation) != COMPACT and record.counts:
            raise Conflict(
                "rows of the table were changed after the stream was staged, and would be lost",
                subject=spelled(name_of(work, shown.id)),
                expected=f"nothing after version {seen}",
                found=f"version {delta.version}",
                advice="Bring these rows into the stream, and commit it with the table's version as seen=….",
            )


def _known(work: Work, holder: str, stream: str) -> Stream:
    """A stream by its id; the one that an edition was born with has no records of its own."""
    storage = cast("pb.TableStorage | None", work.attribute(stream, Attribute.STORAGE))
    record = _record(work, stream)
    if stream == _storage(work, holder).stream_id:
        return Stream(stream, holder, COMMITTED, record.previous_id or None)
    if record.state != STAGED:
        return Stream(stream, holder, DEPRECATED, record.previous_id or None)
    return Stream(stream, str(holder), STAGED, record.previous_id or None, storage.partition_id if storage else None)


def _record(work: Work, stream: str) -> pb.TablePartition:
    found = cast("pb.TablePartition | None", work.attribute(stream, Attribute.PARTITION))
    return pb.TablePartition() if found is None else found


def _storage(work: Work, holder: str) -> pb.TableStorage:
    return cast(pb.TableStorage, work.attribute(holder, Attribute.STORAGE))


def state_of(work: Work, table: str, stream: str) -> str:
    """The state of a stream, by the id of its handle and its own; `NotFound` if it was discarded."""
    return _known(work, table_state(work, table).id, stream).state


def stream_locator(work: Work, table: str, stream: str) -> Locator:
    """Where a stream is, by the id of its handle and its own."""
    return replace(locator_of(work, Bound(str(holder_of(work, table)))), stream=stream)
