"""Several processes that run the same workload at once, for a while."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bench.timing import Work, percentile, seconds
from lakebed.errors import LakebedError

Maker = Callable[[Path], Work]
_Done = tuple[list[float], list[str]]

_WARM_UP = 30
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class ConcurrentRun:
    """The seconds of each call, by process, and the errors of calls that failed."""

    times: list[list[float]]
    elapsed: float
    failures: list[str]

    def rate(self) -> float:
        return sum(map(len, self.times)) / self.elapsed

    def fairness(self) -> float:
        """The calls of the slowest process as a fraction of those of the fastest."""
        calls = list(map(len, self.times))
        return min(calls) / max(calls)

    def percentile(self, percent: float) -> float:
        return percentile([time for times in self.times for time in times], percent)


def run_concurrently(count: int, elapsed: float, make: Maker, path: Path) -> ConcurrentRun:
    """Each process calls `make` once, and then what that returned, again and again for `elapsed` seconds."""
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(count), context.Queue()
    workers = [context.Process(target=_work, args=(elapsed, make, path, start, answers)) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        done = [answers.get(timeout=elapsed + _PATIENCE) for _ in workers]
    finally:
        for worker in workers:
            worker.join(timeout=_PATIENCE)
            worker.kill()
    return ConcurrentRun([times for times, _ in done], elapsed, [error for _, errors in done for error in errors])


def _work(elapsed: float, make: Maker, path: Path, start: Barrier, answers: "Queue[_Done]") -> None:
    work = make(path)
    for _ in range(_WARM_UP):
        work()
    start.wait(_PATIENCE)
    end = time.perf_counter() + elapsed
    times, errors = [], []
    while time.perf_counter() < end:
        try:
            times.append(seconds(work))
        except LakebedError as error:
            errors.append(f"{error.kind}: {error.problem}")
    answers.put((times, errors))
