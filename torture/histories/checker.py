"""The check of a history, by a process that took no part in it: what was answered, beside what the lake shows."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lakebed
from lakebed.errors import LakebedError
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from tests.support.catalog.model import TABLE, State
from torture.attack import Finding, Plan, Result
from torture.histories.deeds import LocalEngine, table_of
from torture.histories.journal import Entry, Read, read_journals
from torture.histories.recorded import Done, commits_of, missing, out_of_order
from torture.histories.replay import Replay
from torture.histories.worker import PAIR, line_id


def check(lake: Path, journals: Sequence[Path], plan: Plan, seconds: float) -> Result:
    """Everything that is wrong with a lake whose processes are over; its versions are read again for some seconds."""
    entries = read_journals(journals)
    with lakebed.connect(lake, author="checker", create=False) as opened:
        return _Check(opened, entries, random.Random(plan.seed)).run(Plan(plan.seed, seconds, plan.folder))


class _Check:
    def __init__(self, lake: Lake, entries: list[Entry], chance: random.Random) -> None:
        self.lake, self.entries, self.chance = lake, entries, chance
        self.main = lake.catalog()
        self.log = lake.log()[::-1]
        self.first = int(self.main.log()[-1].version) - 1
        self.log += self._back()
        self.lines = {line_id(line): line for line in self.main.branches()}

    def _back(self) -> list[lakebed.Commit]:
        """Bring back the branches that were dropped, so that they can be read; the commits that this shows."""
        before = {commit.id for commit in self.log}
        gone = [one for one in self.main.dropped() if one.type == "branch"]
        ours = {self.main.undrop_branch(str(one.name), one.id, as_name=f"back-{one.id}").id for one in gone}
        return [commit for commit in self.lake.log()[::-1] if commit.id not in before | ours]

    def run(self, plan: Plan) -> Result:
        done = commits_of(self.entries, self.log)
        replay = self._replay(done)
        findings = [*missing(self.entries, self.log, self.first), *out_of_order(done), *self._writes_after_drops(done)]
        findings += [*replay.findings, *self._pairs()]
        counts = Counter(replay.counts)
        counts["commits"] = len(done)
        counts["acknowledged"] = sum(one.entry.ended is not None for one in done)
        counts["calls cut off by a kill"] = sum(one.ended is None for one in self.entries)
        counts["by Spark"] = sum(one.entry.process.startswith("spark") for one in done)
        counts["without an answer"] = len(done) - counts["acknowledged"]
        counts += Counter(f"refused: {one.error}" for one in self.entries if one.outcome == "refused")
        findings += self._read_again(replay, done, plan, counts)
        findings += [Finding("check", found) for found in self.lake.check(deep=True)]
        return Result(counts, findings)

    def _replay(self, done: Sequence[Done]) -> Replay:
        forks = {
            one["id"]: (one["parent_id"], int(one["fork_version"]))
            for one in self.main.inspect("__branches").to_pylist()
            if one["parent_id"] is not None
        }
        tags = {one["name"]: (one["branch_id"], int(one["version"])) for one in self._rows("__tags")}
        replay = Replay(line_id(self.main), self.main._owner, forks, tags, self._column)
        replay.run(done)
        replay.check_reads(self.entries)
        return replay

    def _rows(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.main.inspect(name).to_pylist()
        return found

    def _column(self, table: str, line: str, version: int, name: str) -> int:
        schema = table_of(self.lines[line].at(version=version), table).schema
        return next((one.id for one in schema.fields if one.name == name), -1)

    def _writes_after_drops(self, done: Sequence[Done]) -> Iterator[Finding]:
        """A branch that was dropped takes no commit until it is back."""
        dropped: dict[str, int] = {}
        for one in done:
            if one.entry.verb == "drop branch":
                dropped[one.commit.operations[0].object_id] = one.version
            elif one.entry.verb == "undrop branch":
                dropped.pop(one.commit.operations[0].object_id, None)
            elif one.commit.line in dropped:
                yield Finding(
                    "dropped branch", f"version {one.version} is on a branch dropped at {dropped[one.commit.line]}"
                )

    def _pairs(self) -> Iterator[Finding]:
        """Whoever read both tables of the pair at one moment saw that they add up, whatever the model says."""
        pair = {self.main.table(name).id for name in PAIR}
        for entry in self.entries:
            if entry.verb not in ("look", "read at", "read tag"):
                continue
            rows = [step.values[0] for step in entry.steps if isinstance(step, Read) and _is_of(step, pair)]
            if len(rows) >= 2 and sum(v for read in rows[:2] for _, v in read) != 0:
                yield Finding("skew", f"{entry.name} saw a pair that does not add up")

    # Every version, read again.

    def _read_again(self, replay: Replay, done: Sequence[Done], plan: Plan, counts: Counter[str]) -> list[Finding]:
        """The newest state of every line whole, then the past: what each commit changed, in random order."""
        found: list[Finding] = []
        for id, line in self.lines.items():
            if id in replay.history.lines:
                counts["lines"] += 1
                found += self._compare(line, replay.history.state(id), f"{line.ref} at the end", None)
        past = [one for one in done if one.commit.line in self.lines and one.commit.line in replay.history.lines]
        for one in self.chance.sample(past, len(past)):
            if plan.left < 0:
                break
            counts["versions read again"] += 1
            at = self.lines[one.commit.line].at(version=one.version)
            touched = {did.object_id for did in one.commit.operations}
            state = replay.history.commits[one.version].state
            found += self._compare(at, state, f"version {one.version} ({one.entry.name})", touched)
        return found

    def _compare(self, line: Catalog, state: State, where: str, touched: set[str] | None) -> Iterator[Finding]:
        """Names, and the tables that were touched, or all of them."""
        try:
            yield from _differences(line, state, where, touched)
        except LakebedError as error:
            yield Finding("unreadable", f"{where}: {type(error).__name__} {error}")


def _is_of(read: Read, tables: set[str]) -> bool:
    return read.kind == "rows" and read.subject in tables


def _differences(line: Catalog, state: State, where: str, touched: set[str] | None) -> Iterator[Finding]:
    names = {one.id: str(one.name) for one in line.tables(recursive=True)}
    expected = {one.id: state.name(one.id) for one in state.alive(TABLE)}
    if names != expected:
        yield Finding("names", f"{where}: the lake has {names}, the model {expected}")
    for id in names.keys() & expected.keys():
        if touched is not None and id not in touched:
            continue
        table, thing = table_of(line, id), state.things[id]
        if LocalEngine().read(table, None) != sorted(thing.rows):
            yield Finding("rows", f"{where}: {names[id]} has other rows than the model: {_other(table, thing.rows)}")
        if {one.id: one.name for one in table.schema.fields} != thing.columns:
            yield Finding("columns", f"{where}: {names[id]} has {table.schema.names}, the model {thing.columns}")
        own = {key: value for key, value in table.properties.items() if key.startswith("key")}
        if own != thing.properties:
            yield Finding("properties", f"{where}: {names[id]} has {own}, the model {thing.properties}")


def _other(table: object, rows: frozenset[tuple[int, int]]) -> str:
    found = set(LocalEngine().read(table, None))
    return f"too much {sorted(found - rows)[:5]}, too little {sorted(rows - found)[:5]}"
