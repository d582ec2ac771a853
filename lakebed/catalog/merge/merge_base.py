"""The merge base: the newest commit that two states of a catalog follow from, and the commits of each side since.

A commit's parent is the previous commit on its line, or, at a fork, the newest commit of the parent line. A merge has
two parents; a reset has only its target. Versions grow along every edge, so the walk goes back from the newest.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, takewhile

from lakebed.catalog.refs.catalogs import first_version
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import open_line, trunk
from lakebed.metastore import Commit, Line
from lakebed.records.cells import LineAt
from lakebed.store import Version

_PAGE = 200
_OURS, _THEIRS, _BASE = 1, 2, 4

_Waiting = tuple[int, int, Commit, Iterator[Commit], int]


@dataclass(frozen=True, slots=True)
class Head:
    """A line at a version: one fixed state of a catalog."""

    ref: Ref
    version: Version


@dataclass(frozen=True, slots=True)
class Divergence:
    """`base` is the newest common ancestor; a side's commits lead to its head and not to the base.

    All of them can be read: a purged branch keeps its rows if others have merged it (`branches.purge_branch`).
    """

    base: Head
    ours: tuple[Commit, ...]
    theirs: tuple[Commit, ...]


class Logs:
    """The commits of a catalog's lines, newest first, each read once however many walks go through them."""

    def __init__(self, context: Context, catalog: str) -> None:
        self._context = context
        self._catalog = catalog
        self._lines: dict[str, Line] = {}
        self._logs: dict[str, list[_OwnLog]] = {}

    def from_place(self, place: LineAt) -> Iterator[Commit]:
        """The commits that a line shows at a version: its own, followed by those of its ancestors."""
        if place.line not in self._lines:
            self._lines[place.line] = open_line(self._context, self._catalog, place.line).line
        for at in self._lines[place.line].sight(place.version):
            yield from self._own(at).up_to(at.version)

    def _own(self, at: LineAt) -> "_OwnLog":
        """A line's own commits, from this version or a later one: a trunk has a merge for each of its branches' heads,
        and each of them is a place in the log of the branch."""
        known = self._logs.setdefault(at.line, [])
        for log in known:
            if log.start >= at.version:
                return log
        known.append(_OwnLog(at.version, _own_commits(self._context, Line(at.line, self._catalog), at.version)))
        return known[-1]


class _OwnLog:
    """A line's own commits from a version back, read as far as anybody asks; what was read is kept."""

    def __init__(self, start: Version, source: Iterator[Commit]) -> None:
        self.start = start
        self._source = source
        self._read: list[Commit] = []

    def up_to(self, version: Version) -> Iterator[Commit]:
        """The commits up to a version, newest first."""
        for place in count(bisect_left(self._read, -int(version), key=lambda commit: -int(commit.version))):
            if place == len(self._read):
                commit = next(self._source, None)
                if commit is None:
                    return
                self._read.append(commit)
            if self._read[place].version <= version:
                yield self._read[place]


class Reached:
    """The commits that a head leads to, walked back as far as anybody asks, and once for all who ask."""

    def __init__(self, logs: Logs, head: Head) -> None:
        self._walk = _Walk(logs)
        self._walk.begin(LineAt(head.ref.line.id, head.version), _OURS)
        self._versions: set[Version] = set()

    def has(self, version: Version) -> bool:
        """Whether the commit of this version is one of them."""
        while (newest := self._walk.next_version()) is not None and newest >= version:
            commit, colours, cursor = self._walk.newest()
            self._versions.add(commit.version)
            self._walk.follow(commit, colours, cursor)
        return version in self._versions


def divergence(context: Context, ours: Head, theirs: Head, logs: Logs | None = None) -> Divergence:
    """How two states of one catalog diverged. The cost grows with the commits since then.

    Whoever compares many heads gives the same `logs` each time.
    """
    walk = _Walk(logs or Logs(context, ours.ref.catalog))
    walk.begin(LineAt(ours.ref.line.id, ours.version), _OURS)
    walk.begin(LineAt(theirs.ref.line.id, theirs.version), _THEIRS)
    base: Commit | None = None
    sides: dict[int, list[Commit]] = {_OURS: [], _THEIRS: []}
    while not walk.is_over():
        commit, colours, cursor = walk.newest()
        if base is None and colours == _OURS | _THEIRS:
            base, colours = commit, _BASE
        if not colours & _BASE:
            for side in sides:
                if colours & side:
                    sides[side].append(commit)
        walk.follow(commit, colours, cursor)
    return Divergence(_head(context, ours.ref.catalog, base), tuple(sides[_OURS]), tuple(sides[_THEIRS]))


def touched(commits: Iterable[Commit]) -> list[str]:
    """The objects that commits changed, each once, in the order in which they were first touched."""
    ordered = sorted(commits, key=lambda commit: commit.version)
    return list(dict.fromkeys(operation.object_id for commit in ordered for operation in commit.operations))


def _head(context: Context, catalog: str, commit: Commit | None) -> Head:
    if commit is None:  # they diverged before anything was committed
        return Head(trunk(context, catalog), first_version(context, catalog))
    return Head(open_line(context, catalog, commit.line), commit.version)


class _Walk:
    """Visits commits from the newest back, each once, with the colours of the heads that it leads to."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._waiting: list[_Waiting] = []
        self._begun = count()

    def begin(self, place: LineAt, colours: int) -> None:
        """Start from the newest commit that a line shows at a version."""
        self._wait(self._logs.from_place(place), colours)

    def next_version(self) -> Version | None:
        """The version of the newest waiting commit; None if none is waiting."""
        return self._waiting[0][2].version if self._waiting else None

    def is_over(self) -> bool:
        """Whether every waiting commit leads to the base, or none is waiting."""
        return all(colours & _BASE for *_, colours in self._waiting)

    def newest(self) -> tuple[Commit, int, Iterator[Commit]]:
        """The newest waiting commit, with the colours of all paths that led to it, and the rest of its log."""
        _, _, commit, cursor, colours = heappop(self._waiting)
        while self._waiting and self._waiting[0][2].version == commit.version:
            colours |= heappop(self._waiting)[4]
        return commit, colours, cursor

    def follow(self, commit: Commit, colours: int, cursor: Iterator[Commit]) -> None:
        """Go on to the commit's parents.

        A merge's first parent is the previous commit on its line, as for any commit. A reset undid everything up to its
        base; commits between its base and itself stand.
        """
        if len(commit.parents) == 1:
            cursor = takewhile(lambda before: before.version > commit.base, cursor)
        for parent in commit.parents[-1:]:
            self.begin(parent, colours)
        self._wait(cursor, colours)

    def _wait(self, cursor: Iterator[Commit], colours: int) -> None:
        commit = next(cursor, None)
        if commit is not None:
            heappush(self._waiting, (-int(commit.version), next(self._begun), commit, cursor, colours))


def _own_commits(context: Context, line: Line, version: Version) -> Iterator[Commit]:
    """A line's own commits, newest first.

    The first page is small: the walk usually ends soon after it reaches another line, and a commit there may have
    created thousands of tables.
    """
    reader, token, size = context.metastore.reader(line, version), None, 1
    while True:
        page = reader.log(limit=size, token=token)
        yield from page.items
        token, size = page.token, min(2 * size, _PAGE)
        if token is None:
            break
