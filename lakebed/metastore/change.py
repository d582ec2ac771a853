"""What a commit is asked to do: the state that it starts from, what it read, what it writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.message import Message

from lakebed.metastore.line import Line
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version

LifeRecord = pb.CatalogRecord | pb.DatabaseRecord | pb.TableReference | pb.TablePartition
"""Where an object is: its type, container and name, and whether it was dropped."""


@dataclass(frozen=True, slots=True)
class State:
    """A record as it was written at a version of a line."""

    record: Message
    version: Version
    line: str


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """An attribute of an object was read, existing or not; on the change's line unless `line` names another.

    `objection` gets the newest state, if it is later than the base, and returns why it conflicts, or None. Without it
    every later state conflicts. It is for attributes of the change's own line.
    """

    object_id: str
    attribute: Attribute
    line: str | None = None
    objection: "Callable[[State], str | None] | None" = None


@dataclass(frozen=True, slots=True)
class NameRead:
    """A name in a parent was looked up, whether it is taken or free."""

    parent: str
    name: str


@dataclass(frozen=True, slots=True)
class ListingRead:
    """The names in a parent were listed; on the change's line unless `line` names another."""

    parent: str
    line: str | None = None


@dataclass(frozen=True, slots=True)
class DataRead:
    """A partition's data was read.

    `objection` gets the deltas since the base, oldest first, and returns why one of them conflicts, or None. Without it
    every delta conflicts.
    """

    partition: str
    objection: Callable[[Sequence[State]], str | None] | None = None


Read = AttributeRead | NameRead | ListingRead | DataRead


@dataclass(frozen=True, slots=True)
class DataChange:
    """A partition's next delta: `fold` makes it from the newest delta and the ids that the commit allocated.

    It runs inside the commit, perhaps more than once, and must depend on nothing else. `allocate` holds how many ids of
    each kind are needed; `fold` gets the first of each.
    """

    table: str
    partition: str
    fold: Callable[[State | None, Mapping[str, int]], pb.TableHistory]
    allocate: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a commit did to one object, for the log: a type of `OperationType` in lower case, and counts.

    `summary` is what the caller said of the snapshot that it made. `table` is that of an edition, stream or partition:
    the table's log has the operation too.
    """

    type: str
    object_id: str
    name: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""
    summary: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """An object of another line that a line belongs to."""

    line: str
    object_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One commit's worth of writes to one line.

    `lives` are complete new life records by object id: to create, rename, move, drop or undrop an object is to write a
    new life, and names follow from lives. `attributes` are complete new records. A life or attribute that is written
    counts as read: if another commit changed it after `base`, this commit is a `Conflict`. Data does not: `fold`
    rebases it. `hangs_on` are objects of other lines that must not be dropped at any time: the branch and the catalog
    that the line belongs to.
    """

    event_id: str
    line: Line
    base: Version
    message: str = ""
    author: str = ""
    project: str = ""
    operations: tuple[Operation, ...] = ()
    reads: tuple[Read, ...] = ()
    hangs_on: tuple[Holder, ...] = ()
    lives: Mapping[str, LifeRecord] = field(default_factory=dict)
    attributes: Mapping[tuple[str, Attribute], Message] = field(default_factory=dict)
    data: tuple[DataChange, ...] = ()
    bodies: Mapping[tuple[str, str, int], bytes] = field(default_factory=dict)
    parents: tuple[LineAt, ...] = ()
    fingerprint: bytes = b""


@dataclass(frozen=True, slots=True)
class Commit:
    """A change that took effect: `time` is microseconds since 1970 (UTC)."""

    id: str
    line: str
    version: Version
    time: int
    message: str
    author: str
    project: str
    operations: tuple[Operation, ...]
    parents: tuple[LineAt, ...]
    base: Version
    fingerprint: bytes = b""


@dataclass(frozen=True, slots=True)
class Clash:
    """Something that a change relied on and another commit changed after its base: what, when, and which commit."""

    what: str
    object_id: str
    base: Version
    found: Version
    commit: Commit | None
    reason: str = ""
