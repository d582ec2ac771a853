"""The commits of a catalog's lines, newest first, as walks for a merge base read them."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

from lakebed.catalog.transaction.context import Context, KnownLog
from lakebed.catalog.transaction.lines import open_line
from lakebed.metastore import Commit, Line
from lakebed.metastore.pages import every
from lakebed.records.cells import LineAt
from lakebed.store import Version
from lakebed.store.version import ZERO

_PAGE = 200

_NOTHING = KnownLog(ZERO, (), is_whole=False)

REMEMBERED = 2_000
"""How many commits and operations of a line are remembered for the next walk."""


class Logs:
    """Each commit is read once, however many walks go through it; the newest of each line are remembered for others."""

    def __init__(self, context: Context, catalog: str) -> None:
        self._context = context
        self._catalog = catalog
        self._logs: dict[str, list[_OwnLog]] = {}

    def from_place(self, place: LineAt) -> Iterator[Commit]:
        """The commits that a line shows at a version: its own, followed by those of its ancestors."""
        for at in self._line(place.line).sight(place.version):
            yield from self._own(at).up_to(at.version)

    def remember(self) -> None:
        """Keep what was read of each line in the context: commits never change."""
        for line, logs in self._logs.items():
            newest = max(logs, key=lambda log: log.start)
            known = self._context.logs.get(line) or _NOTHING
            if newest.start > known.start or len(newest.read) > len(known.commits):
                kept = _first_of(newest.read)
                is_whole = newest.is_whole and len(kept) == len(newest.read)
                self._context.logs.put(line, KnownLog(newest.start, kept, is_whole))

    def _line(self, line: str) -> Line:
        known = self._context.lines.get(line)
        if known is None:
            known = open_line(self._context, self._catalog, line).line
            self._context.lines.put(line, known)
        return known

    def _own(self, at: LineAt) -> "_OwnLog":
        """A line's own commits, from this version or a later one.

        A trunk has a merge for each head that its branches had, and each of them is a place in the log of a branch.
        """
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
        self.read: list[Commit] = []
        self.is_whole = False
        self._source = source

    def up_to(self, version: Version) -> Iterator[Commit]:
        """The commits up to a version, newest first."""
        for place in count(_place_of(self.read, version)):
            if place == len(self.read):
                commit = next(self._source, None)
                if commit is None:
                    self.is_whole = True
                    return
                self.read.append(commit)
            if self.read[place].version <= version:
                yield self.read[place]


def _own_commits(context: Context, line: Line, version: Version) -> Iterator[Commit]:
    """A line's own commits, newest first: from the store, until a remembered one is met.

    The first page is small: the walk usually ends soon after it reaches another line, and a commit there may have
    created thousands of tables.
    """
    known = context.logs.get(line.id) or _NOTHING
    if version <= known.start:
        yield from _known_commits(context, line, known, version)
        return
    reader, token, size = context.metastore.reader(line, version), None, 1
    while True:
        page = reader.log(limit=size, token=token)
        for commit in page.items:
            if commit.version <= known.start:
                yield from _known_commits(context, line, known, commit.version)
                return
            yield commit
        token, size = page.token, min(2 * size, _PAGE)
        if token is None:
            return


def _known_commits(context: Context, line: Line, known: KnownLog, version: Version) -> Iterator[Commit]:
    """A line's own commits up to a version that is remembered; what is not remembered is read."""
    yield from known.commits[_place_of(known.commits, version) :]
    if known.is_whole:
        return
    last = known.commits[-1].version if known.commits else known.start.next()
    reader = context.metastore.reader(line, min(version, last.previous()))
    yield from every(partial(reader.log, limit=_PAGE))


def _place_of(commits: Sequence[Commit], version: Version) -> int:
    """The place of the first commit up to a version, in a log that begins with the newest."""
    return bisect_left(commits, -int(version), key=lambda commit: -int(commit.version))


def _first_of(commits: Sequence[Commit]) -> tuple[Commit, ...]:
    """The newest commits, as many as are remembered."""
    size = 0
    for place, commit in enumerate(commits):
        size += 1 + len(commit.operations)
        if size > REMEMBERED:
            return tuple(commits[:place])
    return tuple(commits)
