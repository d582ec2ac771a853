"""One process's share of a history: calls of random kinds on lines that it shares with others, each in its journal."""

import random
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from typing import Any
from uuid import UUID

import lakebed
from lakebed.errors import LakebedError, OutcomeUnknown
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.lake.transaction import Transaction
from torture.configuration import Configuration
from torture.histories.deeds import Deed, Engine, do, table_of, where_of
from torture.histories.journal import BROKEN, COMMITTED, NOTHING, REFUSED, UNKNOWN, Journal, Read, Step

NAMES = ("t0", "t1", "t2", "t3", "t4", "t5", "n.t0", "n.t1", "n.t2", "m.t0", "m.t1")
NAMESPACES = ("n", "m")
PAIR = ("pair.left", "pair.right")
"""Two tables whose values add up to zero at every version: amounts only move from one to the other."""
PAIR_ROWS = 10
SHARED_KEYS = 16
"""Keys that all processes write; all other rows have keys of the process that made them."""
MOST_BRANCHES = 5
ROW_KINDS = (*("append",) * 4, *("upsert",) * 4, *("update",) * 3, *("delete",) * 2, "overwrite")
GENTLE_KINDS = (*("append",) * 8, "upsert", "update", "delete")
"""On a branch: what hardly ever conflicts, so that most merges come to something."""
HANDLE = -1
"""The version of a call that answers a handle: the log has it."""


@dataclass(frozen=True, slots=True)
class Share:
    """The orders of a worker: the lake, its journal, a number of its own, how long it works, and what it may do."""

    lake: Path
    journal: Path
    number: int
    seed: str
    seconds: float
    how: Configuration
    reads_only: bool = False
    clock: bool = False
    actions: tuple[str, ...] = ()
    pause: float = 0.0


@dataclass(slots=True)
class Worker:
    """What one process does; `call` and `transaction` are the only ways to the lake that change it."""

    lake: Lake
    share: Share
    engine: Engine
    main: Catalog = field(init=False)
    journal: Journal = field(init=False)
    chance: random.Random = field(init=False)
    made: int = 0

    def __post_init__(self) -> None:
        self.main = self.lake.catalog()
        self.journal = Journal(self.share.journal, self.share.journal.stem)
        self.chance = random.Random(self.share.seed)

    # The ways to the lake.

    def call(self, verb: str, line: Catalog, steps: Sequence[Step], act: Callable[[str], Any]) -> None:
        """A call that commits by itself, with its intent and its answer; some are made twice, as after a crash."""
        event, began = self.event(), monotonic_ns()
        self.journal.intend(verb, line_id(line), event, began, steps)
        version = self.answered(event, lambda: act(event))
        if version is not None and self.chance.random() < 0.05:
            self.again(line, event, version, act)

    def do(self, line: Catalog, deed: Deed) -> None:
        """A deed as a call of its own."""
        how = self.share.how
        self.call("change", line, [deed], lambda event: do(line, deed, self.engine, how, event_id=event))

    def again(self, line: Catalog, event: str, version: int, act: Callable[[str], Any]) -> None:
        """The same event id is the same commit."""
        other = self.event()
        self.journal.intend("again", line_id(line), other, monotonic_ns())
        try:
            found = version_of(act(event))
        except LakebedError as error:
            self.fail(other, error)
            return
        if found == version:
            self.journal.answer(other, NOTHING)
        else:
            self.journal.answer(other, BROKEN, text=f"event {event} was version {version}, and then {found}")

    def answered(self, event: str, act: Callable[[], Any]) -> int | None:
        """Note how a call ended; the answer is the version of its commit."""
        try:
            version = version_of(act())
        except Exception as error:
            self.fail(event, error)
            return None
        self.journal.answer(event, NOTHING if version is None else COMMITTED, None if version == HANDLE else version)
        return version

    def fail(self, event: str, error: Exception) -> None:
        if not isinstance(error, LakebedError):
            self.journal.answer(event, BROKEN, None, type(error).__name__, traceback.format_exc())
            return
        outcome = UNKNOWN if isinstance(error, OutcomeUnknown) else REFUSED
        self.journal.answer(event, outcome, None, type(error).__name__, str(error))

    def note(self, verb: str, error: Exception) -> None:
        """An error of a call that has no intent."""
        event = self.event()
        self.journal.intend(verb, "", event, monotonic_ns())
        self.fail(event, error)

    def transaction(self, line: Catalog, steps: Callable[[Transaction], Sequence[Step]]) -> None:
        """Many steps as one commit; the intent is noted when all but the commit is done."""
        event, began, done = self.event(), monotonic_ns(), list[Step]()
        transaction = line.transaction(event_id=event, isolation=self.share.how.isolation)

        def act() -> Any:
            with transaction as tx:
                try:
                    done.extend(steps(tx))
                finally:
                    self.journal.intend("transaction", line_id(line), event, began, done)
            return transaction.committed

        self.answered(event, act)

    def saw(self, verb: str, line: str, began: int, reads: Sequence[Read], version: int | None = None) -> None:
        """Reads that were answered."""
        event = self.event()
        self.journal.intend(verb, line, event, began, reads)
        self.journal.answer(event, COMMITTED, version)

    # What to do it to.

    def event(self) -> str:
        return str(UUID(int=self.chance.getrandbits(128), version=4))

    def line(self) -> Catalog:
        """The trunk, or a branch."""
        if self.chance.random() < 0.6:
            return self.main
        return self.chance.choice(self.main.branches())

    def tables(self, line: Catalog | Transaction) -> list[tuple[str, str]]:
        """Ids and names of the tables of a line, without the pair."""
        found = [(one.id, str(one.name)) for one in line.tables(recursive=True)]
        return [(id, name) for id, name in found if not name.startswith("pair.")]

    def table(self, line: Catalog | Transaction) -> str:
        """The id of a table; one that is nowhere if the line has none."""
        found = self.tables(line)
        return self.chance.choice(found)[0] if found else str(UUID(int=1))

    def keys(self, count: int) -> list[int]:
        """New keys, of this process alone."""
        self.made += count
        first = self.share.number * 1_000_000 + self.made
        return list(range(first - count, first))

    def value(self) -> int:
        return self.chance.randrange(1, 1 << 40)

    def rows(self, keys: Sequence[int]) -> tuple[tuple[int, int], ...]:
        return tuple((key, self.value()) for key in keys)

    def modulus(self) -> tuple[int, int]:
        modulus = self.chance.choice((2, 3, 5, 7, 11))
        return modulus, self.chance.randrange(modulus)

    def row_deed(self, table: str, kinds: Sequence[str] = ROW_KINDS) -> Deed:
        """A change of a table's rows."""
        match self.chance.choice(kinds):
            case "append":
                return Deed("append", table, (self.rows(self.keys(self.chance.randint(1, 3))),))
            case "upsert":
                shared = self.chance.sample(range(SHARED_KEYS), self.chance.randint(1, 4))
                return Deed("upsert", table, (self.rows(sorted(shared)),))
            case "update":
                return Deed("update", table, (*self.modulus(), self.value()))
            case "delete":
                return Deed("delete", table, self.modulus())
        return Deed("overwrite", table, (*self.modulus(), self.rows(self.keys(2))))

    def read(self, line: Catalog | Transaction, table: str) -> Read:
        """A table's rows, or those of a filter."""
        if self.chance.random() < 0.7:
            return Read("rows", table, (self.engine.read(table_of(line, table), None),))
        modulus, rest = self.modulus()
        found = self.engine.read(table_of(line, table), where_of(modulus, rest))
        return Read("filter", table, (modulus, rest, found))

    def listing(self, line: Catalog | Transaction) -> Read:
        found = sorted((one.id, str(one.name)) for one in line.tables(recursive=True))
        return Read("tables", "", (found,))

    def look(self, line: Catalog | Transaction) -> list[Read]:
        """Several reads: the pair, the names, some tables."""
        pair = [table.id for table in line.tables("pair")]
        reads = [Read("rows", id, (self.engine.read(table_of(line, id), None),)) for id in pair]
        some = [self.read(line, self.table(line)) for _ in range(2)]
        return [self.listing(line), *reads, *some]


def line_id(line: Catalog) -> str:
    return line._line.ref.line.id


def version_of(answer: Any) -> int | None:
    """The version of a call's commit, `HANDLE` if it answered a handle; None if it made no commit."""
    commit = answer.commit if isinstance(answer, lakebed.MergeResult) else answer
    if isinstance(commit, lakebed.Commit):
        return int(commit.version) if commit.id else None
    return None if commit is None else HANDLE
