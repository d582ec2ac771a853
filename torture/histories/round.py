"""One round of a history: a lake, processes that work on it, and whoever kills and stops them meanwhile."""

import os
import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from torture.attack import Plan, Result
from torture.children import in_child
from torture.configuration import Configuration
from torture.histories.actions import prepare, work
from torture.histories.checker import check
from torture.histories.worker import Share
from torture.warm import warm_up

PROCESSES = 7
"""Besides a reader that may not write."""
RESTLESSNESS = 0.15
"""How often, of the ten times in a second that it looks, the round kills or stops a process."""


@dataclass(frozen=True, slots=True)
class Round:
    """How a history is made. `starts` begins one more process, such as one with Spark; it answers its id.

    `pause` is how long the others wait between calls, so that a slower one is not in conflict with them all the time.
    """

    how: Configuration
    processes: int = PROCESSES
    kills: bool = True
    clock: bool = False
    actions: tuple[str, ...] = ()
    starts: Callable[[Share], int] | None = None
    pause: float = 0.0


def run_round(plan: Plan, chosen: Round) -> Result:
    """Let processes work for two fifths of the time, then check what they were answered."""
    warm_up()
    plan.folder.mkdir(parents=True, exist_ok=True)
    crowd = _Crowd(plan, chosen)
    crowd.run(plan.seconds * 0.4)
    journals = list(plan.folder.glob("*.journal"))
    ended = in_child(lambda: check(crowd.lake, journals, plan, max(1.0, plan.seconds * 0.4)), plan.seconds * 20 + 300)
    result = Result() if ended.trouble else ended.answer
    if ended.trouble:
        result.found("checker", ended.trouble)
    result.counts += crowd.counts
    for path in plan.folder.glob("*.failed"):
        result.found("worker", path.read_text())
    return result


@dataclass(slots=True)
class _Crowd:
    """The processes of a round. Only ids of children of this process are ever killed."""

    plan: Plan
    chosen: Round
    counts: Counter[str] = field(default_factory=Counter)
    running: dict[int, Share] = field(default_factory=dict)
    stopped: dict[int, float] = field(default_factory=dict)
    spared: set[int] = field(default_factory=set)
    started: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"crowd {self.plan.seed}")

    @property
    def lake(self) -> Path:
        return self.plan.folder / "lake"

    def share(self, end: float, *, reads_only: bool = False, kind: str = "p") -> Share:
        self.started += 1
        name = f"{'reader' if reads_only else kind}{self.started}"
        journal = self.plan.folder / f"{name}.journal"
        chosen, left = self.chosen, end - monotonic()
        return Share(
            self.lake,
            journal,
            self.started,
            f"{self.plan.seed} {name}",
            left,
            chosen.how,
            reads_only,
            chosen.clock,
            chosen.actions,
            chosen.pause,
        )

    def run(self, seconds: float) -> None:
        ended = in_child(lambda: prepare(self.share(monotonic())), 120)
        assert not ended.trouble, ended.trouble
        self.started += 1
        if self.chosen.starts is not None:
            self.start_slowly(self.chosen.starts, self.share(monotonic() + seconds, kind="spark"))
        end = monotonic() + seconds
        for _ in range(self.chosen.processes):
            self.start(self.share(end))
        self.start(self.share(end, reads_only=True))
        while monotonic() < end:
            sleep(self.chance.uniform(0.01, 0.15))
            self.reap(end)
            if self.chosen.kills:
                self.disturb(end)
        for child in list(self.running):
            if child in self.spared and self.chosen.kills and self.chance.random() < 0.5:
                os.kill(child, signal.SIGKILL)
            self.finish(child, end + 60)

    def start(self, share: Share) -> None:
        child = os.fork()
        if child == 0:
            _live(share)
        self.counts["processes"] += 1
        self.running[child] = share

    def start_slowly(self, starts: Callable[[Share], int], share: Share) -> None:
        """Start a process and wait until it works; it is stopped meanwhile like others, but killed at the end alone."""
        child = starts(share)
        self.running[child] = share
        self.spared.add(child)
        until = monotonic() + 180
        while not _is_at_work(share.journal) and monotonic() < until:
            sleep(0.1)

    def disturb(self, end: float) -> None:
        """Kill one, stop one for a while, or do nothing; who was stopped for long enough goes on."""
        for child in [child for child, until in self.stopped.items() if until < monotonic()]:
            self.resume(child)
        awake = [child for child in self.running if child not in self.stopped]
        deed = self.chance.random() / RESTLESSNESS
        if not awake or deed > 1.0:
            return
        child = self.chance.choice(awake)
        if deed < 0.4 or child in self.spared:
            self.counts["stops"] += 1
            os.kill(child, signal.SIGSTOP)
            self.stopped[child] = min(end, monotonic() + self.chance.choice((0.05, 0.2, 1.0)))
        else:
            self.counts["kills"] += 1
            os.kill(child, signal.SIGKILL)
            self.reap(end)

    def resume(self, child: int) -> None:
        os.kill(child, signal.SIGCONT)
        del self.stopped[child]

    def reap(self, end: float) -> None:
        """Whoever ended is followed by another one."""
        for child in list(self.running):
            if os.waitpid(child, os.WNOHANG)[0]:
                share = self.running.pop(child)
                self.stopped.pop(child, None)
                if monotonic() < end:
                    self.start(self.share(end, reads_only=share.reads_only))

    def finish(self, child: int, until: float) -> None:
        """Wait for the end of one; one that hangs is killed, and found by its journal's missing answer."""
        if child in self.stopped:
            self.resume(child)
        while monotonic() < until:
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            sleep(0.01)
        share = self.running[child]
        share.journal.with_suffix(".failed").write_text(
            f"{share.journal.stem} hung for a minute after its time was over"
        )
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _is_at_work(journal: Path) -> bool:
    """Whether the first call of a process was answered: with Spark it takes by far the longest."""
    return journal.exists() and b"outcome" in journal.read_bytes()


def _live(share: Share) -> None:
    """The life of a worker's process; an error that is not the lake's answer to a call is left in a file."""
    try:
        work(share)
    except BaseException:
        share.journal.with_suffix(".failed").write_text(traceback.format_exc())
    finally:
        os._exit(0)
