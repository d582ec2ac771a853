"""What `connect` opened, and the line of a catalog that a handle works on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from lakebed.caches import Recent, SingleFlight
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.entry_cache import EntryCache
from lakebed.errors import Forbidden, Invalid
from lakebed.files import Files
from lakebed.metastore import ROOT, Commit, Holder, Line, Metastore
from lakebed.records import records_pb2 as pb
from lakebed.store import Version

CACHE_SIZE = 10_000


class ParentCache:
    """Each object's container as last read, on any line and version.

    A right guess reads an object with all its containers in one round trip, instead of one per level. A wrong guess
    reads a record that is not needed.
    """

    def __init__(self) -> None:
        self._containers: dict[str, str] = {}
        self._alive: dict[str, Version] = {}

    def was_alive(self, line: str, version: Version) -> bool:
        """Whether a line is known to have been alive at exactly this version, which never changes."""
        return self._alive.get(line) == version

    def learn_alive(self, line: str, version: Version) -> None:
        if len(self._alive) >= CACHE_SIZE:
            self._alive.clear()
        self._alive[line] = version

    def learn(self, object_id: str, container: str) -> None:
        if len(self._containers) >= CACHE_SIZE:
            self._containers.clear()
        self._containers[object_id] = container

    def guess(self, object_id: str, top: str) -> Iterator[str]:
        """The object and what are probably its containers, up to the top of its line."""
        for _ in range(64):  # no lake nests that deep; guesses from several versions may form a cycle
            yield object_id
            container = self._containers.get(object_id, top)
            if container == top:
                return
            object_id = container


class NameCache:
    """Where objects were, and what they were called, on a line at the version at which they were last read.

    Handles of a listing show their names without a look-up each, as long as nothing was committed since.
    """

    def __init__(self) -> None:
        self._places: Recent[tuple[str, str], tuple[Version, str, str]] = Recent(NAMES)

    def learn(self, line: str, version: Version, object_id: str, container: str, name: str) -> None:
        self._places.put((line, object_id), (version, container, name))

    def parts(self, line: str, version: Version, object_id: str, top: str) -> tuple[str, ...] | None:
        """The parts of an object's name, outermost first; None unless all are known as of this version."""
        parts: list[str] = []
        while object_id != top:
            known = self._places.get((line, object_id))
            if known is None or known[0] != version:
                return None
            _, object_id, name = known
            parts.append(name)
        return tuple(reversed(parts))


NAMES = 20_000
"""How many objects are cached with their names."""

TABLES = 256
"""How many tables are cached as last read: line and partition -> `TableFiles`."""

COLUMNS = 16
"""For how many snapshots the files since the checkpoint are cached as columns: table and snapshot -> `FileColumns`."""

LINES = 4_096
"""How many lines that merges walked through are cached; what a line forked from never changes."""

LOGS = 1_024
"""Of how many lines the newest commits are cached, as merges walk through them: line -> commits up to a version."""

BLOOM_BYTES = 32 << 20
"""How many bytes of bloom filters are cached."""

TRUNK = "main"
"""The name of a catalog's first line, which has no record of its own."""


@dataclass(frozen=True, slots=True)
class MadeDelta:
    """The record that a commit made of a delta, the table's id as the delta has it, and the sequence number before."""

    table: str
    record: pb.TableHistory
    sequence_before: int


Watcher = Callable[["Context", "Ref", Mapping[str, MadeDelta]], None]
"""Called after a commit, with its line and its deltas by partition."""


@dataclass(frozen=True, slots=True)
class KnownLog:
    """A line's own commits up to a version, newest first; all of them, or the newest."""

    start: Version
    commits: Sequence[Commit]
    is_whole: bool


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Context:
    """What `connect` opened: the metastore, the files, the project and the author, with the caches of this process.

    `reopen` is what opens the same lake in another process, to which a handle was sent.
    """

    metastore: Metastore
    files: Files
    bodies: Bodies
    project: str
    author: str = ""
    read_only: bool = False
    trust_views: bool | None = None
    """Whether views may do all that their reader may; None leaves it to the property of their catalog."""
    parents: ParentCache = field(default_factory=ParentCache)
    names: NameCache = field(default_factory=NameCache, compare=False)
    memory: Recent[tuple[str, str], Any] = field(default_factory=lambda: Recent(TABLES), compare=False)
    columns: Recent[tuple[str, str], Any] = field(default_factory=lambda: Recent(COLUMNS), compare=False)
    lines: Recent[str, Line] = field(default_factory=lambda: Recent(LINES), compare=False)
    logs: Recent[str, KnownLog] = field(default_factory=lambda: Recent(LOGS), compare=False)
    blooms: SingleFlight[bytes] = field(default_factory=lambda: SingleFlight(BLOOM_BYTES, len), compare=False)
    watchers: list[Watcher] = field(default_factory=list, compare=False)
    reopen: Callable[[], "Context"] | None = field(default=None, compare=False)
    entries: EntryCache = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", EntryCache(self.files))

    def check_writable(self, operation: str) -> None:
        """Refuse a change if the lake was opened for reading only."""
        if self.read_only:
            raise Forbidden(
                f"{operation.replace('_', ' ')} can't change a lake that is open for reading only",
                subject=self.files.url,
                advice="Connect without read_only=True.",
            )

    def __reduce__(self) -> tuple[Callable[[], "Context"], tuple[()]]:
        if self.reopen is None:
            raise unpicklable("a lake that was not opened by connect")
        return self.reopen, ()


def unpicklable(what: str) -> Invalid:
    """The error for what can't be sent to another process."""
    return Invalid(f"{what} can't be pickled", advice="Open the lake in the other process: lakebed.connect(url).")


@dataclass(frozen=True, slots=True)
class Ref:
    """One line of a catalog, by ids: it stays the same when the catalog or the branch is renamed."""

    catalog: str
    line: Line

    @property
    def is_trunk(self) -> bool:
        return self.line.id == self.catalog

    @property
    def refs(self) -> Line:
        """The line of the catalog's branches, tags and shares: never forked, merged or reset."""
        return _refs(self.catalog)

    @property
    def holders(self) -> tuple[Holder, ...]:
        """What has to be alive to read and write the line: its catalog and, unless it is the trunk, its branch."""
        if self.line.id == ROOT.id:
            return ()
        return _holders(self.catalog, self.line.id)


@lru_cache(maxsize=1024)
def _refs(catalog: str) -> Line:
    """Cached, because every call on a handle needs it: 10 µs."""
    return Line(str(uuid5(UUID(catalog), "refs")), catalog)


@lru_cache(maxsize=1024)
def _holders(catalog: str, line: str) -> tuple[Holder, ...]:
    held, refs = Holder(ROOT.id, catalog), _refs(catalog).id
    return (held,) if line in (catalog, refs) else (held, Holder(refs, line))
