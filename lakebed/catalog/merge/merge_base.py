"""How two states of a catalog came apart: the newest commit that both follow from, and what each did since.

A commit's parent is the one before it on its line, at a fork the newest one of the parent line. A merge has two, a
reset has its target alone. Versions grow along every such edge, so that the walk goes from the newest back.
"""

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
    """`base` is the newest common ancestor; a side's commits are those that follow to its head and not to the base.

    All of them can be read: of a purged branch that others have merged, the rows stay (`branches.purge_branch`).
    """

    base: Head
    ours: tuple[Commit, ...]
    theirs: tuple[Commit, ...]


def divergence(context: Context, ours: Head, theirs: Head) -> Divergence:
    """What lies between two states of one catalog. Its cost follows the commits since they came apart."""
    walk = _Walk(context, ours.ref.catalog)
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
    """The objects that commits did something to, each once, in the order in which they were first touched."""
    ordered = sorted(commits, key=lambda one: one.version)
    return list(dict.fromkeys(one.object_id for commit in ordered for one in commit.operations))


def _head(context: Context, catalog: str, commit: Commit | None) -> Head:
    if commit is None:  # they came apart before anything was committed
        return Head(trunk(context, catalog), first_version(context, catalog))
    return Head(open_line(context, catalog, commit.line), commit.version)


class _Walk:
    """Commits from the newest back, each once, with the colours of the heads that it leads to."""

    def __init__(self, context: Context, catalog: str) -> None:
        self._home = context
        self._catalog = catalog
        self._waiting: list[_Waiting] = []
        self._begun = count()

    def begin(self, place: LineAt, colours: int) -> None:
        """Go back from the newest commit that a line shows at a version."""
        ref = open_line(self._home, self._catalog, place.line)
        self._wait(_log(self._home, ref, place.version), colours)

    def is_over(self) -> bool:
        """Whether all that is left follows to the base, or nothing is."""
        return all(colours & _BASE for *_, colours in self._waiting)

    def newest(self) -> tuple[Commit, int, Iterator[Commit]]:
        """The newest commit that is waiting, with the colours of all ways that led to it, and the way on."""
        _, _, commit, cursor, colours = heappop(self._waiting)
        while self._waiting and self._waiting[0][2].version == commit.version:
            colours |= heappop(self._waiting)[4]
        return commit, colours, cursor

    def follow(self, commit: Commit, colours: int, cursor: Iterator[Commit]) -> None:
        """Go on to the commit's parents.

        A merge's first parent is what came before it on its line, as of any commit. A reset undid what was there at its
        base: what came between that and its own commit stands.
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


def _log(context: Context, ref: Ref, version: Version) -> Iterator[Commit]:
    """A line's commits, newest first, its ancestors' after its own.

    Each line is asked for little at first: where the walk comes to another line it most often ends, and a commit there
    may have made thousands of tables.
    """
    for at in ref.line.sight(version):
        reader, token, size = context.metastore.reader(Line(at.line, ref.line.top), at.version), None, 1
        while True:
            page = reader.log(limit=size, token=token)
            yield from page.items
            token, size = page.token, min(2 * size, _PAGE)
            if token is None:
                break
