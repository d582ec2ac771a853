"""The versioned object tree: the interface that every form of metastore implements, and all catalog logic stands on."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.metastore.change import Change, Commit, State
from lakebed.metastore.line import Line
from lakebed.metastore.pages import Page
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

TOMBSTONE = "purged"
"""The kind of body that says, for good and to all lines, that an object was purged: its text is the line's id."""


@dataclass(frozen=True, slots=True)
class Child:
    """A name in a parent, as written, and the object that has it; `type` is one of `ObjectType`."""

    name: str
    id: str
    type: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """An object that was dropped, under the name that it had."""

    name: str
    id: str
    type: int
    created: Version
    dropped: Version
    drop_type: int


@dataclass(frozen=True, slots=True)
class UnfinishedCheckpoint:
    """A checkpoint that was begun and neither put nor ended: the files that it meant to write may be there."""

    intent: str
    line: str
    partition: str
    paths: tuple[str, ...]
    begun_ms: int
    abandoned: bool


class Reader(ABC):
    """A line at a version: what it answers never changes. Each call is one short store transaction or a few.

    Pages are as of the first page's version, whatever commits in between; a token of another question is `Invalid`.
    """

    line: Line
    version: Version

    @abstractmethod
    def attributes(self, wanted: Sequence[tuple[str, Attribute]]) -> list[State | None]:
        """Attributes of objects, None where one was never written; one round trip for all, through all ancestors."""

    @abstractmethod
    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        """Each object's life and those of all it is in, from the outermost to its own.

        Empty where there is no such object. An object is alive if none of them is dropped.
        """

    @abstractmethod
    def resolve(self, names: Sequence[tuple[str, str]]) -> list[str | None]:
        """The ids of the objects that have these names in these parents; None where a name is free."""

    @abstractmethod
    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        """The names in a parent in folded order."""

    @abstractmethod
    def dropped(
        self, parent: str, *, name: str | None = None, limit: int = 1000, token: str | None = None
    ) -> Page[Dropped]:
        """The objects that were dropped out of a parent, all or those of one name."""

    @abstractmethod
    def history(
        self,
        object_id: str,
        attribute: Attribute,
        *,
        since: Version | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[State]:
        """An attribute's states, newest first, those after `since` only."""

    @abstractmethod
    def checkpoint(self, partition: str) -> State | None:
        """The newest checkpoint (`TableCheckpoint`) of a partition's data: the line's own, else the nearest ancestor's.

        Its version is that of the delta that it stands for, never a later one than this reader's. One that is written
        later may be answered later: it stands for the same data.
        """

    @abstractmethod
    def log(
        self,
        *,
        object_id: str | None = None,
        author: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 1000,
        token: str | None = None,
    ) -> Page[Commit]:
        """The commits of the line and of its ancestors before the fork, newest first; times are inclusive."""


class Metastore(ABC):
    """Objects, their attributes and names on every line at every version; the log of commits."""

    lake_id: str
    format_version: int

    @abstractmethod
    def newest(self) -> Version:
        """The lake's newest version; it only grows."""

    @abstractmethod
    def version_at(self, time: int) -> Version:
        """The last version whose time is not after `time`; `NotFound` before the first."""

    @abstractmethod
    def times(self, versions: Sequence[Version]) -> list[int]:
        """When versions were committed, in microseconds since 1970."""

    @abstractmethod
    def reader(self, line: Line, version: Version | None = None) -> Reader:
        """The line at a version, the newest unless one is named; a later one than the newest is `Invalid`."""

    @abstractmethod
    def commit(self, change: Change) -> Commit:
        """Make the change, wholly or not at all.

        An event id that was used before answers its commit, or is `Invalid` if that was another change. What was read
        and has changed: `Conflict`. A name that is taken: `AlreadyExists`. An object or parent that is not there or was
        dropped: `NotFound`. Beyond one transaction: `TooLarge`. Nothing is written in any of these.
        """

    @abstractmethod
    def find(self, event_id: str) -> Commit | None:
        """The commit with this event id, on whatever line."""

    @abstractmethod
    def allocate(self, table: str, kind: str, count: int = 1) -> int:
        """The first of `count` fresh ids of a table, shared by all lines, never given out again; gaps are fine."""

    @abstractmethod
    def bodies(self, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
        """The immutable bodies of (table, kind, id), readable from every line."""

    @abstractmethod
    def forks(self, parent: str, *, project: str = "") -> list[str]:
        """The ids of the branches, tags and shares whose REF record names this parent."""

    @abstractmethod
    def begin_checkpoint(self, line: str, partition: str, paths: Sequence[str]) -> str:
        """Note which files a checkpoint will have, before they are written; answers the intent to put it with."""

    @abstractmethod
    def put_checkpoint(
        self, line: str, partition: str, version: Version, record: pb.TableCheckpoint, intent: str | None = None
    ) -> None:
        """Write a checkpoint of the data at a version, and take its intent away with it, wholly or not at all.

        It is no commit, and conflicts with none. `Invalid` unless the line itself has a delta of exactly that version,
        of the record's snapshot and sequence number, and the intent, if one is named, stands. The same again is fine;
        another one of the same place takes the place of the first.
        """

    @abstractmethod
    def checkpoints(self, line: str, partition: str) -> list[State]:
        """The checkpoints of a partition on the line itself, newest first."""

    @abstractmethod
    def drop_checkpoint(self, line: str, partition: str, version: Version) -> None:
        """Take a checkpoint away, if it is there; its files stay, and so do the deltas."""

    @abstractmethod
    def unfinished_checkpoints(self, older_than_seconds: float) -> list[UnfinishedCheckpoint]:
        """The checkpoints of all lines that were begun so long ago and neither put nor ended."""

    @abstractmethod
    def abandon_checkpoint(self, intent: str) -> None:
        """See to it that a checkpoint can't be put any more, so that its files can be deleted.

        `NotFound` if it was put or ended meanwhile: then they are not the caller's to delete.
        """

    @abstractmethod
    def end_checkpoint(self, intent: str) -> None:
        """Take an intent away, if it is there, once its files are deleted."""

    @abstractmethod
    def erase(self, line: str, objects: Sequence[str], bodies_of: Sequence[str] = ()) -> None:
        """Take away what objects were on a line, at all versions, and the bodies and allocators of some, for good.

        Their lives, names and tombstones stay. It is no commit: nobody is told of it, and it works in steps. Broken
        off, it is called again. Only for objects that nobody can see alive any more. The checkpoints of a partition go
        with its data; intents stay, since they name files that may be there.
        """

    @abstractmethod
    def erase_line(self, line: str) -> None:
        """Take away all that a line has written, at all versions, but its commits; in the same way as `erase`."""

    @abstractmethod
    def close(self) -> None: ...
