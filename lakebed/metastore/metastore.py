"""The versioned object tree: the interface that every metastore implements and all catalog logic uses."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.metastore.change import Change, Commit, State
from lakebed.metastore.line import Line
from lakebed.metastore.pages import Page
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

TOMBSTONE = "purged"
"""The kind of body that marks an object as purged, for good and on all lines: its text is the line's id."""


@dataclass(frozen=True, slots=True)
class Child:
    """A name in a parent, as written, and its object; `type` is one of `ObjectType`."""

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
class Retimed:
    """A commit with a time in the future, and the time that it should have; microseconds since 1970."""

    version: Version
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class UnfinishedCheckpoint:
    """A checkpoint that was begun but neither put nor ended: some of its files may exist."""

    intent: str
    line: str
    partition: str
    paths: tuple[str, ...]
    begun_ms: int
    abandoned: bool


class Reader(ABC):
    """A line at a version: its answers never change. Each call takes one or a few short store transactions.

    All pages show the version of the first, whatever commits in between. A token of another question is `Invalid`.
    """

    line: Line
    version: Version

    @abstractmethod
    def attributes(self, wanted: Sequence[tuple[str, Attribute]]) -> list[State | None]:
        """Attributes of objects, None where one was never written: one round trip for all, including all ancestors."""

    @abstractmethod
    def paths(self, ids: Sequence[str]) -> list[tuple[State, ...]]:
        """Each object's life after those of its containers, outermost first.

        Empty where there is no such object. An object is alive if none of these lives is dropped.
        """

    @abstractmethod
    def resolve(self, names: Sequence[tuple[str, str]]) -> list[str | None]:
        """The ids of the objects with these names in these parents; None where a name is free."""

    @abstractmethod
    def children(self, parent: str, *, prefix: str = "", limit: int = 1000, token: str | None = None) -> Page[Child]:
        """The names in a parent, ordered by their folded forms."""

    def shows_all_of(self, object_id: str) -> bool:
        """Whether it answers all that it is asked of an object, and not its name and its place alone."""
        return True

    def parents_of_names(self, parents: Sequence[str]) -> set[str]:
        """The objects among these that may have names in them, in one round trip: all others have no children."""
        return set(parents)

    @abstractmethod
    def dropped(
        self, parent: str, *, name: str | None = None, limit: int = 1000, token: str | None = None
    ) -> Page[Dropped]:
        """The objects that were dropped from a parent, all or those with one name."""

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
        """An attribute's states, newest first; only those after `since`."""

    @abstractmethod
    def histories(
        self, wanted: Sequence[tuple[str, Attribute, Version | None]], *, limit: int = 100
    ) -> list[Page[State]]:
        """The first page of `history` of each object, attribute and `since`: one round trip for all."""

    def checkpoint(self, partition: str) -> State | None:
        """The newest checkpoint (`TableCheckpoint`) of a partition's data: the line's own, else the nearest ancestor's.

        Its version is that of the delta that it represents, never later than this reader's. A checkpoint that is
        written later may be returned later: it represents the same data.
        """
        return self.checkpoints([partition])[0]

    @abstractmethod
    def checkpoints(self, partitions: Sequence[str]) -> list[State | None]:
        """The `checkpoint` of each partition, None where it has none: one round trip for all."""

    @abstractmethod
    def every_checkpoint(self, partitions: Sequence[str]) -> list[list[State]]:
        """All checkpoints of each partition that the line shows, oldest first: one round trip for all."""

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
        """The line at a version, by default the newest; a version later than the newest is `Invalid`."""

    @abstractmethod
    def heads(self, lines: Sequence[Line], version: Version) -> list[Version | None]:
        """The newest commit that each line shows at a version, its own or an ancestor's; None before the first.

        One round trip for any number of lines.
        """

    @abstractmethod
    def commit(self, change: Change) -> Commit:
        """Make the change, wholly or not at all.

        An event id that was used before returns its commit, or is `Invalid` if that was another change. `Conflict` if
        what was read has changed, `AlreadyExists` if a name is taken, `NotFound` if an object or parent is missing or
        dropped, `TooLarge` if the change does not fit into one transaction. Nothing is written in any of these cases.
        """

    @abstractmethod
    def find(self, event_id: str) -> Commit | None:
        """The commit with this event id, on any line."""

    @abstractmethod
    def allocate(self, table: str, kind: str, count: int = 1) -> int:
        """The first of `count` new ids of a table, shared by all lines and never reused; gaps are fine."""

    @abstractmethod
    def reserve(self, table: str, kind: str, body: bytes) -> bytes:
        """The body that was reserved first under a kind of a table: this one, or an earlier caller's on any line.

        It is kept at once, whatever becomes of the caller's commit.
        """

    @abstractmethod
    def bodies(self, wanted: Sequence[tuple[str, str, int]]) -> list[bytes | None]:
        """The immutable bodies of (table, kind, id), readable from every line."""

    @abstractmethod
    def forks(self, parent: str, *, project: str = "") -> list[str]:
        """The ids of the branches, tags and shares whose REF record names this parent."""

    @abstractmethod
    def begin_checkpoint(self, line: str, partition: str, paths: Sequence[str]) -> str:
        """Record which files a checkpoint will have, before they are written; returns the intent to put it with."""

    @abstractmethod
    def put_checkpoint(
        self, line: str, partition: str, version: Version, record: pb.TableCheckpoint, intent: str | None = None
    ) -> None:
        """Write a checkpoint of the data at a version, and remove its intent with it, wholly or not at all.

        It is not a commit, and conflicts with none. `Invalid` unless the line itself has a delta of exactly that
        version, with the record's snapshot and sequence number, and the intent, if given, is still valid. Writing the
        same checkpoint again is fine; another one of the same line, partition and version replaces it.
        """

    @abstractmethod
    def checkpoints(self, line: str, partition: str) -> list[State]:
        """The checkpoints of a partition on the line itself, newest first."""

    @abstractmethod
    def drop_checkpoint(self, line: str, partition: str, version: Version) -> None:
        """Remove a checkpoint, if it exists; its files and the deltas stay."""

    @abstractmethod
    def unfinished_checkpoints(self, older_than_seconds: float) -> list[UnfinishedCheckpoint]:
        """The checkpoints of all lines that were begun that long ago, but neither put nor ended."""

    @abstractmethod
    def abandon_checkpoint(self, intent: str) -> None:
        """Prevent a checkpoint from being put, so that its files can be deleted.

        `NotFound` if it was put or ended in the meantime: then the caller must not delete them.
        """

    @abstractmethod
    def end_checkpoint(self, intent: str) -> None:
        """Remove an intent, if it exists, after its files were deleted."""

    @abstractmethod
    def data_records(self) -> Iterator[tuple[str, State]]:
        """Every delta and every checkpoint of all lines, each with the id of its partition, in no particular order.

        It reads page by page: what is committed meanwhile may be among them. What was erased is not.
        """

    def wrong_times(self) -> list[Retimed]:
        """The commits with times after this machine's clock, and the times that they should have.

        `Invalid` if even the first commit is later: then the clock is wrong.
        """
        raise Invalid("this metastore can't tell wrong times")

    def repair_times(self) -> list[Retimed]:
        """Give those commits these times, all or none; other commits wait meanwhile."""
        raise Invalid("this metastore can't change the times of commits")

    @abstractmethod
    def copy_to(self, path: str) -> None:
        """Write a copy of all of it as of one moment to a new file, durably, while others go on writing.

        `Invalid` if the store is not in a file that could be copied.
        """

    @abstractmethod
    def erase(self, line: str, objects: Sequence[str], bodies_of: Sequence[str] = ()) -> None:
        """Erase the attributes of objects on a line, at all versions, and the bodies and allocators of some, for good.

        Lives, names and tombstones stay. It is not a commit and does not appear in the log; it works in steps, and is
        called again if interrupted. Only for objects that nobody can see alive any more. The checkpoints of a partition
        are erased with its data. Intents stay, since they name files that may exist.
        """

    @abstractmethod
    def erase_line(self, line: str) -> None:
        """Erase everything that a line has written, at all versions, except its commits; otherwise like `erase`."""

    @abstractmethod
    def check(self) -> list[str]:
        """Every disagreement in what is stored, one sentence each; an empty list proves that there is none."""

    @abstractmethod
    def close(self) -> None: ...
