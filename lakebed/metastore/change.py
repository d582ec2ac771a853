"""What a commit is asked to do: the state it was made against, what it read, what it writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.message import Message

from lakebed.metastore.line import Line
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version

LifeRecord = pb.CatalogRecord | pb.DatabaseRecord | pb.TableReference | pb.TablePartition
"""What says where an object is: its type, container, name, and whether it was dropped."""


@dataclass(frozen=True, slots=True)
class State:
    """A record as it was written at a version of a line."""

    record: Message
    version: Version
    line: str


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """An attribute of an object was read, there or not. Of another line than the change's if `line` names one."""

    object_id: str
    attribute: Attribute
    line: str | None = None


@dataclass(frozen=True, slots=True)
class NameRead:
    """A name in a parent was looked up, taken or free."""

    parent: str
    name: str


@dataclass(frozen=True, slots=True)
class ListingRead:
    """The names in a parent were listed. On another line than the change's if `line` names one."""

    parent: str
    line: str | None = None


@dataclass(frozen=True, slots=True)
class DataRead:
    """A partition's data was read.

    `objection` gets the deltas since the base, oldest first, and says why one can't stand, if so. Without it any delta
    is one too many.
    """

    partition: str
    objection: Callable[[Sequence[State]], str | None] | None = None


Read = AttributeRead | NameRead | ListingRead | DataRead


@dataclass(frozen=True, slots=True)
class DataChange:
    """A partition's next delta: `fold` makes it from the newest one and from the ids that the commit gave out.

    It runs inside the commit, perhaps more than once, and must depend on nothing else. `allocate` says how many ids of
    each kind are wanted; `fold` gets the first of each.
    """

    table: str
    partition: str
    fold: Callable[[State | None, Mapping[str, int]], pb.TableHistory]
    allocate: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a commit did to one object, for the log: a type of `OperationType` in lower case, and counts."""

    type: str
    object_id: str
    name: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """What a line hangs on: an object of another line."""

    line: str
    object_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One commit's worth of writes to one line.

    `lives` are whole new life records by object id: creating, renaming, moving, dropping and undropping are all a new
    life, and names follow from lives. `attributes` are whole new records. A life or attribute that is written counts as
    read: if somebody changed it after `base`, the commit is a `Conflict`. Data is not: `fold` rebases it.
    `hangs_on` are objects of other lines that must not be dropped, whenever that was: the branch and the catalog that
    the line belongs to.
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
    """One thing that a change relied on and somebody else changed after its base: what, when, and in which commit."""

    what: str
    object_id: str
    base: Version
    found: Version
    commit: Commit | None
    reason: str = ""
