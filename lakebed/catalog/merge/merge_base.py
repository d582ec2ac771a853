"""The merge base: the newest commit that two states of a catalog follow from, and the commits of each side since.

A commit's parent is the previous commit on its line, or, at a fork, the newest commit of the parent line. A merge has
two parents; a reset has only its target. Versions grow along every edge, so the walk goes back from the newest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, takewhile

from lakebed.catalog.merge.logs import Logs
from lakebed.catalog.refs.catalogs import first_version
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import open_line, trunk
from lakebed.metastore import Commit
from lakebed.records.cells import LineAt
from lakebed.store import Version

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
    logs = logs or Logs(context, ours.ref.catalog)
    walk = _Walk(logs)
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
    logs.remember()
    return Divergence(_head(context, ours.ref.catalog, base), tuple(sides[_OURS]), tuple(sides[_THEIRS]))


def merges_of_base(apart: Divergence) -> frozenset[Version]:
    """The versions of the merges, on both sides, whose source the base has whole: what they brought is at the base."""
    commits, common = (*apart.ours, *apart.theirs), common_commits(apart)
    lines = {apart.base.ref.line.id, *(line for line, _ in common)}
    oldest: dict[str, Version] = {}
    for commit in commits:
        if (commit.line, commit.version) not in common:
            oldest[commit.line] = min(commit.version, oldest.get(commit.line, commit.version))

    def is_of_base(source: LineAt) -> bool:
        first = oldest.get(source.line)
        return source.line in lines and (first is None or first > source.version)

    return frozenset(one.version for one in commits if len(one.parents) == 2 and is_of_base(one.parents[1]))


def common_commits(apart: Divergence) -> frozenset[tuple[str, Version]]:
    """The commits that both sides have and the base does not lead to; there are some only if merges have crossed."""
    ours, theirs = ({(commit.line, commit.version) for commit in side} for side in (apart.ours, apart.theirs))
    return frozenset(ours & theirs)


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
