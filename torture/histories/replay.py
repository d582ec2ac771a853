"""The replay of a history: every commit done to the model, in the order of versions, and every read compared with it.

The model is the tests' own (tests/support/catalog): plain values, without versions, files or processes.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.catalog.history import History
from tests.support.catalog.merge_model import merge
from tests.support.catalog.model import TABLE, Refused, State, empty
from torture.attack import Finding
from torture.histories.deeds import Deed, after, given
from torture.histories.journal import COMMITTED, Entry, Read
from torture.histories.recorded import Done

Fork = tuple[str, int]
"""A line and the version of it that another ref stands for."""


@dataclass(slots=True)
class Replay:
    """The model's history of a lake. `forks` and `tags` say what only the lake knows: where refs point.

    `column` answers the id of a column that a commit added, by table, line, version and name.
    """

    trunk: str
    top: str
    forks: Mapping[str, Fork]
    tags: Mapping[str, Fork]
    column: Callable[[str, str, int, str], int]
    history: History = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _ended: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _begun: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = History(self.trunk, empty(self.top))

    def run(self, done: Sequence[Done]) -> None:
        """Do every commit to the model."""
        self._times(done)
        for one in done:
            try:
                self._do(one)
            except Refused:
                state = self.history.state(one.commit.line) if one.commit.line in self.history.lines else None
                self._found("unlawful", f"version {one.version}: the model refuses {one.entry.name} {one.entry.steps}")
                if state is not None:
                    self.history.add(one.commit.line, one.version, state)

    def _found(self, case: str, seen: str) -> None:
        self.findings.append(Finding(case, seen[:2000]))

    def _do(self, one: Done) -> None:
        self.counts[one.entry.verb] += 1
        match one.entry.verb:
            case "branch":
                branch = one.commit.operations[0].object_id
                self._check_fresh(one, *self.forks[branch])
                self.history.fork(branch, *self.forks[branch])
            case "merge":
                self._merge(one)
            case "change" | "transaction":
                self._change(one)

    def _change(self, one: Done) -> None:
        line = one.commit.line
        state = self.history.state(line)
        for step in one.entry.steps:
            if isinstance(step, Deed):
                state = after(state, step, self._ids(one, step))
                continue
            self.counts["reads"] += 1
            expected = seen_in(state, step)
            if expected != answered(step):
                self._found("not serializable", _difference(one.entry, step, expected, f"before version {one.version}"))
        self._check_keys(one, state)
        self.history.add(line, one.version, state)

    def _ids(self, one: Done, deed: Deed) -> dict[str, Any]:
        """The ids of what a deed made, from the lake's log."""
        if deed.kind in ("create", "create namespace"):
            made = [did for did in one.commit.operations if did.type.startswith("create") and did.name == deed.subject]
            return {"object": made[0].object_id} if made else {}
        if deed.kind == "add column":
            return {"column": self.column(deed.subject, one.commit.line, one.version, deed.rest[0])}
        return {}

    def _merge(self, one: Done) -> None:
        line, source = one.commit.line, one.commit.parents[1]
        ours, theirs = self.history.head(line), self.history.head(source.line, int(source.version))
        self._check_fresh(one, source.line, int(source.version))
        merged = merge(self.history.sides(ours, theirs))
        if not merged.is_fine:
            conflicts = f"{merged.conflicts} {merged.tangled}"
            self._found("merge", f"version {one.version} was merged although the model has conflicts: {conflicts}")
        self._check_keys(one, merged.state)
        self.history.add(line, one.version, merged.state, (ours, theirs))

    def _check_fresh(self, one: Done, line: str, version: int) -> None:
        """A merge or a fork takes all of the other line that was over before it began."""
        newest = self._newest_before(replace(one.entry, line=line))
        if version < newest:
            self._found("stale", f"version {one.version}: {one.entry.name} took version {version}, not {newest}")

    def _check_keys(self, one: Done, state: State) -> None:
        """A primary key is that of one row: a merge that would break it has to be refused."""
        for table in state.things.values():
            if table.kind == TABLE and len({id for id, _ in table.rows}) < len(table.rows):
                self._found("keys", f"version {one.version}: {one.entry.name} leaves a key twice in {table.id}")

    # Reads.

    def check_reads(self, entries: Iterable[Entry]) -> None:
        """Compare every read outside of commits with the states that it may have seen."""
        for entry in entries:
            if entry.outcome != COMMITTED or not entry.steps:
                continue
            reads = [step for step in entry.steps if isinstance(step, Read)]
            self.counts["reads"] += len(reads) if entry.verb in ("read", "look", "read at", "read tag") else 0
            if entry.verb == "read at" and entry.version is not None:
                self._check_at(entry, reads, entry.line, entry.version)
            elif entry.verb == "read tag" and entry.line in self.tags:
                self._check_at(entry, reads, *self.tags[entry.line])
            elif entry.verb in ("read", "look"):
                self._check_now(entry, reads)

    def _check_at(self, entry: Entry, reads: Sequence[Read], line: str, version: int) -> None:
        state = self.history.state(line, version)
        for read in reads:
            expected = seen_in(state, read)
            if expected != answered(read):
                self._found("version", _difference(entry, read, expected, f"at version {version}"))

    def _check_now(self, entry: Entry, reads: Sequence[Read]) -> None:
        """All reads are of one state: at least as new as what was over before, at most what had begun by the end."""
        assert entry.ended is not None
        versions = self.history.versions(entry.line, self._newest_before(entry), self._newest_begun(entry))
        states = [self.history.commits[version].state for version in versions]
        if not any(all(seen_in(state, read) == answered(read) for read in reads) for state in states):
            among = f"at none of the versions {versions[0]} to {versions[-1]}"
            wrong = next((one for one in reads if seen_in(states[-1], one) != answered(one)), reads[0])
            self._found("read", _difference(entry, wrong, seen_in(states[-1], wrong), among))

    def _times(self, done: Sequence[Done]) -> None:
        """For each line, the greatest version that was over, or had begun, by each moment."""
        for moment, times in (("ended", self._ended), ("began", self._begun)):
            found = [(getattr(one.entry, moment), one) for one in done]
            for time, one in sorted((pair for pair in found if pair[0] is not None), key=lambda pair: pair[0]):
                known = times.setdefault(one.commit.line, [])
                known.append((time, max(one.version, known[-1][1] if known else 0)))

    def _newest_before(self, entry: Entry) -> int:
        known = self._ended.get(entry.line, [])
        place = bisect_left(known, (entry.began, 0))
        return known[place - 1][1] if place else 0

    def _newest_begun(self, entry: Entry) -> int:
        known = self._begun.get(entry.line, [])
        place = bisect_right(known, (entry.ended, 1 << 62))
        return known[place - 1][1] if place else 0


def seen_in(state: State, read: Read) -> Any:
    """What a read has to see in a state; None if it has to be refused."""
    if read.kind == "tables":
        return sorted((one.id, state.name(one.id)) for one in state.alive(TABLE))
    if not state.is_alive(read.subject):
        return None
    rows = state.things[read.subject].rows
    if read.kind == "filter":
        modulus, rest, _ = read.values
        rows = frozenset(row for row in rows if row[0] % modulus == rest)
    return sorted(rows)


def answered(read: Read) -> Any:
    """What a read saw, as a journal has it."""
    return [tuple(one) for one in read.values[-1]]


def _difference(entry: Entry, read: Read, expected: Any, where: str) -> str:
    found = answered(read)
    subject = f"{entry.name} read {read.kind} {read.subject} {where}"
    if expected is None or read.kind == "tables":
        return f"{subject}: {found}, the model has {expected}"
    extra, lacking = given(found) - given(expected), given(expected) - given(found)
    return f"{subject}: too much {sorted(extra)[:5]}, too little {sorted(lacking)[:5]} of {len(expected)}"
