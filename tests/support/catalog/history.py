"""The model's lines and commits: what each line shows at each version, and where two of them came apart."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.support.catalog.merge_model import Sides
from tests.support.catalog.model import State

ROOT = 0


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its line, the one before it there, what it made, and what it follows from."""

    version: int
    line: str
    before: int
    parents: tuple[int, ...]
    state: State


@dataclass(frozen=True, slots=True)
class Line:
    """A trunk, or a branch that forked from its parent at a version."""

    name: str
    parent: str | None = None
    fork: int = ROOT


class History:
    """Commits by version. A line shows its own and, up to where it forked, its parent's."""

    def __init__(self, trunk: str, first: State) -> None:
        self.lines = {trunk: Line(trunk)}
        self._own: dict[str, list[int]] = {trunk: []}  # the versions of each line's own commits, ascending
        self.commits = {ROOT: Commit(ROOT, trunk, ROOT, (), first)}

    def add(self, line: str, version: int, state: State, parents: tuple[int, ...] | None = None) -> None:
        before = self.head(line)
        self._own[line].append(version)
        self.commits[version] = Commit(version, line, before, (before,) if parents is None else parents, state)

    def fork(self, name: str, parent: str, version: int) -> None:
        self.lines[name] = Line(name, parent, version)
        self._own[name] = []

    def log(self, line: str, version: int) -> Iterator[int]:
        """The versions of the commits that a line shows, newest first."""
        own, versions = self.lines[line], self._own[line]
        yield from reversed(versions[: bisect_right(versions, version)])
        if own.parent is not None:
            yield from self.log(own.parent, min(version, own.fork))

    def versions(self, line: str, first: int, last: int) -> list[int]:
        """The commits that a line showed one after another: the newest at `first`, and its own up to `last`."""
        own, first = self._own[line], max(first, self.lines[line].fork)
        return [self.head(line, first), *own[bisect_right(own, first) : bisect_right(own, last)]]

    def head(self, line: str, version: int | None = None) -> int:
        """The newest commit that a line shows."""
        at = next(reversed(self.commits)) if version is None else version  # they are added in order
        return next(self.log(line, at), ROOT)

    def state(self, line: str, version: int | None = None) -> State:
        return self.commits[self.head(line, version)].state

    def depth(self, line: str) -> int:
        parent = self.lines[line].parent
        return 0 if parent is None else 1 + self.depth(parent)

    def ancestors(self, version: int) -> set[int]:
        """A commit and all that it follows from."""
        found, waiting = set[int](), [version]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.commits[one].parents
        return found

    def sides(self, ours: int, theirs: int) -> Sides:
        """What a merge looks at: the newest common ancestor, and the two."""
        mine, other = self.ancestors(ours), self.ancestors(theirs)
        base = max(mine & other)
        common = self.ancestors(base)
        return self.since(base, ours, theirs, mine - common, other - common)

    def since(self, base: int, ours: int, theirs: int, mine: set[int], other: set[int]) -> Sides:
        """The three states; what both sides got on the way, each for itself, counts as there at the base."""
        before = self.commits[base].state
        both = self.commits[ours].state.things.keys() & self.commits[theirs].state.things.keys() - before.things.keys()
        for id in both:
            came = [self._first(side, id) for side in (mine, other)]
            if None not in came:
                before = before.put(self.commits[max(one for one in came if one is not None)].state.things[id])
        got, shared = self._got(mine), self._got(other)
        rows = {id: got.get(id, frozenset()) & shared.get(id, frozenset()) for id in got}
        return Sides(before, self.commits[ours].state, self.commits[theirs].state, rows)

    def _first(self, side: set[int], id: str) -> int | None:
        """The first commit of a side that did something to a thing."""
        return min((one for one in side if self._is_touched(self.commits[one], id)), default=None)

    def _is_touched(self, commit: Commit, id: str) -> bool:
        return commit.state.get(id) != self.commits[commit.before].state.get(id)

    def _got(self, side: set[int]) -> dict[str, frozenset[int]]:
        """The rows that the commits of a side brought to their lines, by table."""
        found: dict[str, frozenset[int]] = {}
        for version in side:
            commit = self.commits[version]
            for id, thing in commit.state.things.items():
                before = self.commits[commit.before].state.get(id)
                new = thing.rows - (before.rows if before else frozenset())
                found[id] = found.get(id, frozenset()) | new
        return found

    def picked(self, line: str, version: int) -> Sides:
        """To pick a commit is to merge it over the state before it; what was undone since comes again."""
        commit, head = self.commits[version], self.head(line)
        common = max(self.ancestors(head) & self.ancestors(commit.before))
        mine = self.ancestors(head) - self.ancestors(common)
        found = self.since(commit.before, head, version, mine, {version})
        made = commit.state.things.keys() - self.commits[commit.before].state.things.keys()
        # What it made, and ours had and dropped since, is made again.
        again = [one for one in found.ours.things.values() if one.id in made and one.dropped]
        return replace(found, base=found.base.put(*again), shared_rows={})

    def reverted(self, line: str, version: int) -> Sides:
        """To revert a commit is to merge the state before it over the one that it made."""
        commit = self.commits[version]
        return Sides(commit.state, self.state(line), self.commits[commit.before].state)
