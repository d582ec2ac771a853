"""The records of a table, and of its commits."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from google.protobuf.message import Message

from lakebed.catalog.data.data_index import data_indexes
from lakebed.catalog.inspect.records.whole import Moments, Whole, as_history, newest_at
from lakebed.catalog.objects.walk import Named, NamedLevel
from lakebed.catalog.tables.storage import filled_storage
from lakebed.catalog.tables.tables import schema_of
from lakebed.catalog.transaction.bound import Bound, asked_id, subject_of
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.holders import unread_holder
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Operation, State
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.table.schema.schema import Schema

_PARTS = (Attribute.SCHEMA, Attribute.STORAGE, Attribute.PROPERTIES)
_DROPS = ("drop", "purge")
_OPERATIONS = {name.lower(): cast(pb.OperationType, number) for name, number in pb.OperationType.items()}


def table_records(work: Work, moments: Moments, named: Named, is_alive: bool) -> Iterator[Whole]:
    """A table's or view's name and current records, if it is alive, its histories, and its commits."""
    commits = moments.commits(named.id)
    place = _Place(work, moments, named, _history(work, named.id, Attribute.LIFE))
    pasts = place.pasts()
    if is_alive:
        yield from place.current(pasts)
    yield from place.histories(pasts)
    yield from (place.commit(commit) for commit in commits)


def level_records(work: Work, moments: Moments, level: NamedLevel) -> Iterator[Whole]:
    """What an edition is and was, as a table's records say it of the active one; of a staged stream its data."""
    moments.commits(level.table)  # which has the commits that wrote what follows
    place = _Place(work, moments, level, _history(work, level.table, Attribute.LIFE))
    pasts = place.pasts()
    yield from place.parts(pasts)
    yield from place.histories(pasts)
    yield from (place.commit(commit) for commit in moments.commits(subject_of(level.id)))


def _history(work: Work, object_id: str, attribute: Attribute) -> list[State]:
    """All that an attribute ever was, newest first."""
    return list(every(partial(work.reader.history, object_id, attribute)))


class _Place:
    """A table, or a level of one, and where the table was at each version: what records' keys say."""

    def __init__(self, work: Work, moments: Moments, named: Named, lives: list[State]) -> None:
        self._work = work
        self._moments = moments
        self._named = named
        self._table = named.uuid
        self._holder = unread_holder(work, named.id)
        self._lives = lives

    def pasts(self) -> "_Pasts":
        """All that is stored of its state, newest first. What is staged has the state of its edition."""
        if isinstance(self._holder, Bound) and self._holder.cell is not None:
            return _Pasts([], {self._holder.cell: _history(self._work, self._holder.cell, Attribute.DATA)})
        parts = [_history(self._work, str(self._holder), attribute) for attribute in _PARTS]
        storages = [state.record for past in parts for state in past if isinstance(state.record, pb.TableStorage)]
        shown = [storage.partition_id for storage in storages[:1]]
        data = {partition: _history(self._work, partition, Attribute.DATA) for partition in shown}
        return _Pasts([past for past in parts if past], data)

    def current(self, pasts: "_Pasts") -> Iterator[Whole]:
        """What is valid now: the name, the reference with the last changes, each part."""
        life = self._lives[0]
        own = cast(pb.TableReference, life.record)
        name = pb.TableObjectName(
            catalog_id=life.line, database_id=own.container_id, name=own.name, object_id=self._named.id
        )
        yield self._whole(name, life)
        reference = pb.TableReference()
        reference.CopyFrom(own)
        reference.latest_meta = str(max(state.version for state in (life, *(past[0] for past in pasts.parts))))
        for deltas in pasts.data.values():
            reference.latest_data = str(deltas[0].version)
        yield self._whole(self._placed(reference, life), life)
        yield from self.parts(pasts)

    def parts(self, pasts: "_Pasts") -> Iterator[Whole]:
        """What is valid now of each part."""
        for state, *_ in pasts.parts:
            yield self._whole(self._placed(self._filled(state), state), state)

    def histories(self, pasts: "_Pasts") -> Iterator[Whole]:
        """What the parts and the data were."""
        for state in (state for past in pasts.parts for state in past):
            filled = State(self._filled(state), state.version, state.line)
            yield self._whole(self._placed(as_history(filled, self._moments.event(state.version)), state), state)
        for partition, deltas in pasts.data.items():
            yield from self._data(partition, deltas)

    def _data(self, partition: str, deltas: list[State]) -> Iterator[Whole]:
        """What the data was, with the index of each version."""
        [indexes] = data_indexes(self._work, [(partition, deltas)])
        for state, index in zip(deltas, indexes, strict=True):
            record = pb.TableHistory()
            record.CopyFrom(cast(pb.TableHistory, state.record))
            record.segment_type = index.segment_type
            record.cur_set_id, record.table_index_url = index.cur_set_id, index.table_index_url
            record.set_ids.extend(index.set_ids)
            record.event_id, record.version = self._moments.event(state.version), bytes(state.version)
            yield self._whole(self._placed(record, state), state)

    def commit(self, commit: Commit) -> Whole:
        """What a commit did to the table, and to its editions, streams and partitions."""
        own = [one for one in commit.operations if one.object_id == self._table]
        done = [one for one in commit.operations if self._table in (one.object_id, one.table)]
        record = pb.TableCommit(
            event_id=commit.id,
            table_name=own[0].name if own else self._name_then(commit.version),
            create_time=self._moments.time(cast(pb.TableReference, self._lives[0].record).create_version),
            commit_time=microseconds(commit.time),
            operation=[_operation(one) for one in done],
            version=bytes(commit.version),
        )
        if any(one.type in _DROPS for one in own):
            record.dropped_time = microseconds(commit.time)
        state = State(record, commit.version, commit.line)
        return self._whole(self._placed(record, state), state)

    def _filled(self, state: State) -> Message:
        """A part with what it leaves out: the columns of a schema, what follows from the format of files."""
        if isinstance(state.record, pb.TableStorage):
            record = filled_storage(state.record)
            record.location = self._work.context.files.location(record.location)
            return record
        if isinstance(state.record, pb.TableSchema):
            return _with_columns(state.record, schema_of(self._work, str(self._holder), state.record.schema_id))
        return state.record

    def _placed(self, record: Message, state: State) -> Message:
        """A record with the ids of its line, namespace and table."""
        known = cast(Any, record)
        life = newest_at(self._lives, state.version)
        known.catalog_id, known.table_id = state.line, self._table
        if life is not None:
            known.database_id = cast(pb.TableReference, life.record).container_id
        return record

    def _whole(self, record: Message, state: State) -> Whole:
        return Whole(record, self._named.name, asked_id(self._named.id), state.version)

    def _name_then(self, version: Version) -> str:
        """The table's full name at a version."""
        return last_name(Work(self._work.context, self._work.ref, version), self._table)


@dataclass(frozen=True, slots=True)
class _Pasts:
    """What is stored of a state, newest first: each part that was ever set, and by partition its deltas."""

    parts: list[list[State]]
    data: dict[str, list[State]]


def _operation(done: Operation) -> pb.Operation:
    return pb.Operation(
        type=_OPERATIONS.get(done.type),
        object_id=done.object_id,
        name=done.name,
        counts=done.counts,
        detail=done.detail or None,
        summary=done.summary,
    )


def _with_columns(record: pb.TableSchema, schema: Schema) -> pb.TableSchema:
    whole = pb.TableSchema()
    whole.CopyFrom(record)
    for one in schema.fields:
        whole.column.add(
            field_id=one.id,
            name=one.name,
            type=str(one.type),
            required=one.required,
            comment=one.comment or None,
            physical_name=one.physical_name,
        )
    return whole
