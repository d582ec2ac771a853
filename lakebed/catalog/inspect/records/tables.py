"""The records of a table, and of its commits."""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from google.protobuf.message import Message

from lakebed.catalog.data.data_index import data_indexes
from lakebed.catalog.inspect.records.whole import Moments, Whole, as_history, newest_at
from lakebed.catalog.objects.walk import Named
from lakebed.catalog.tables.storage import filled_storage
from lakebed.catalog.tables.tables import schema_of
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.holders import unread_holder
from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Operation, State
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.schema.schema import Schema

_PARTS = (Attribute.SCHEMA, Attribute.STORAGE, Attribute.PROPERTIES)
_DROPS = ("drop", "purge")
_OPERATIONS = {name.lower(): cast(pb.OperationType, number) for name, number in pb.OperationType.items()}


def table_records(work: Work, moments: Moments, named: Named, is_alive: bool) -> Iterator[Whole]:
    """A table's or view's name and current records, if it is alive, its histories, and its commits."""
    holder = str(unread_holder(work, named.id))
    commits = moments.commits(named.id)
    lives = _history(work, named.id, Attribute.LIFE)
    pasts = {attribute: _history(work, holder, attribute) for attribute in _PARTS}
    stored = [cast(pb.TableStorage, state.record).partition_id for state in pasts[Attribute.STORAGE][:1]]
    place = _Place(work, moments, named, lives)
    if is_alive:
        newest = [_history(work, partition, Attribute.DATA)[0] for partition in stored]
        yield from place.current(lives[0], [past[0] for past in pasts.values() if past], newest)
    yield from place.histories([state for past in pasts.values() for state in past])
    for partition in stored:
        yield from place.data(partition, _history(work, partition, Attribute.DATA))
    yield from (place.commit(commit) for commit in commits)


def _history(work: Work, object_id: str, attribute: Attribute) -> list[State]:
    """All that an attribute ever was, newest first."""
    return list(every(partial(work.reader.history, object_id, attribute)))


class _Place:
    """A table, and where it was at each version: what its records' keys say."""

    def __init__(self, work: Work, moments: Moments, named: Named, lives: list[State]) -> None:
        self._work = work
        self._moments = moments
        self._named = named
        self._lives = lives

    def current(self, life: State, parts: list[State], newest: list[State]) -> Iterator[Whole]:
        """What is valid now: the name, the reference with the last changes, each part."""
        own = cast(pb.TableReference, life.record)
        name = pb.TableObjectName(
            catalog_id=life.line, database_id=own.container_id, name=own.name, object_id=self._named.id
        )
        yield self._whole(name, life)
        reference = pb.TableReference()
        reference.CopyFrom(own)
        reference.latest_meta = str(max(state.version for state in (life, *parts)))
        if newest:
            reference.latest_data = str(newest[0].version)
        yield self._whole(self._placed(reference, life), life)
        for state in parts:
            yield self._whole(self._placed(self._filled(state), state), state)

    def histories(self, states: list[State]) -> Iterator[Whole]:
        """What the parts were."""
        for state in states:
            filled = State(self._filled(state), state.version, state.line)
            yield self._whole(self._placed(as_history(filled, self._moments.event(state.version)), state), state)

    def data(self, partition: str, deltas: list[State]) -> Iterator[Whole]:
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
        """What a commit did to the table."""
        done = [one for one in commit.operations if one.object_id == self._named.id]
        record = pb.TableCommit(
            event_id=commit.id,
            table_name=done[0].name if done else "",
            create_time=self._moments.time(cast(pb.TableReference, self._lives[0].record).create_version),
            commit_time=microseconds(commit.time),
            operation=[_operation(one) for one in done],
            version=bytes(commit.version),
        )
        if any(one.type in _DROPS for one in done):
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
            holder = str(unread_holder(self._work, self._named.id))
            return _with_columns(state.record, schema_of(self._work, holder, state.record.schema_id))
        return state.record

    def _placed(self, record: Message, state: State) -> Message:
        """A record with the ids of its line, namespace and table."""
        known = cast(Any, record)
        life = newest_at(self._lives, state.version)
        known.catalog_id, known.table_id = state.line, self._named.id
        if life is not None:
            known.database_id = cast(pb.TableReference, life.record).container_id
        return record

    def _whole(self, record: Message, state: State) -> Whole:
        return Whole(record, self._named.name, self._named.id, state.version)


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
