"""A record of source document 002 with all its fields, whatever row or key they come from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from lakebed.catalog.objects.log import Asked, log
from lakebed.catalog.transaction.commits import Commit, datetime_of
from lakebed.catalog.transaction.versions import microseconds
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import State
from lakebed.records import codec
from lakebed.store import Version

DOCUMENTED = 100
"""Fields with lower numbers are the document's."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A record, the full name of its object, and the commit that wrote it."""

    record: Message
    name: str
    object_id: str
    version: Version

    @property
    def type(self) -> str:
        return self.record.DESCRIPTOR.name

    @property
    def fields(self) -> dict[str, Any]:
        """The document's fields that are set: versions as numbers in text, types of objects by name."""
        return dict(_fields(self.record, DOCUMENTED))


def _fields(record: Message, end: int) -> Iterator[tuple[str, Any]]:
    for described in cast(list[FieldDescriptor], record.DESCRIPTOR.fields):
        if described.number < end and _is_set(record, described):
            yield described.name, _value(described, getattr(record, described.name))


def _is_set(record: Message, described: FieldDescriptor) -> bool:
    return bool(getattr(record, described.name)) if described.is_repeated else record.HasField(described.name)


def _value(described: FieldDescriptor, value: Any) -> Any:
    if described.is_repeated and described.message_type is not None and described.message_type.GetOptions().map_entry:
        return dict(sorted(value.items()))
    if described.is_repeated:
        return [_single(described, one) for one in value]
    return _single(described, value)


def _single(described: FieldDescriptor, value: Any) -> Any:
    if described.enum_type is not None:
        known = described.enum_type.values_by_number.get(value)
        return value if known is None else known.name.lower()
    if described.message_type is not None:
        return dict(_fields(value, 1 << 29))
    return str(Version(value)) if isinstance(value, bytes) else value


@dataclass(slots=True)
class Moments:
    """The times and event ids of commits, each looked up once."""

    work: Work
    _times: dict[bytes, int] = field(default_factory=dict)
    _events: dict[bytes, str] = field(default_factory=dict)

    def commits(self, object_id: str | None, work: Work | None = None) -> list[Commit]:
        """The commits that changed an object, or all, newest first."""
        found = log(work or self.work, Asked(object_id))
        for commit in found:
            self._times[commit.version] = microseconds(commit.time)
            self._events[commit.version] = commit.id
        return found

    def time(self, version: bytes) -> int:
        """When a version was committed, in microseconds since 1970."""
        if version not in self._times:
            [self._times[version]] = self.work.context.metastore.times([Version(version)])
        return self._times[version]

    def text(self, version: bytes) -> str:
        """The same as text, for the records whose times are text."""
        return datetime_of(self.time(version)).isoformat()

    def event(self, version: bytes) -> str:
        """The event id of a commit that was listed."""
        return self._events.get(version, "")


def as_history(state: State, event: str) -> Message:
    """A state as the document's history record, with the version and the event id of its commit."""
    kind = codec.HISTORIES[type(state.record)]
    record = cast(Any, kind.FromString(state.record.SerializeToString()))
    record.version, record.event_id = bytes(state.version), event
    return cast(Message, record)


def newest_at(states: list[State], version: Version) -> State | None:
    """The newest of some states up to a version."""
    return max((state for state in states if state.version <= version), key=lambda one: one.version, default=None)
