"""Runs a target over many seeds in child processes: a child that dies is counted, and the next one goes on.

python -m tests.support.damage.fuzz strangers 0 10000
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from time import monotonic

from tests.support.damage.targets import TARGETS

ROOT = Path(__file__).parents[3]


@dataclass(slots=True)
class Report:
    """What became of the seeds; `crashes` has the end of each child that died, `untyped` each error of others."""

    outcomes: Counter[str] = field(default_factory=Counter)
    crashes: dict[int, int] = field(default_factory=dict)
    untyped: dict[int, str] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)

    def add(self, seed: int, outcome: str) -> None:
        kind, _, detail = outcome.partition(" ")
        self.outcomes[kind] += 1
        if kind == "untyped":
            self.untyped[seed] = detail
        if kind == "other":
            self.others.append(seed)


def fuzz(target: str, seeds: range, seconds: float = inf) -> Report:
    """Damage and read once for each seed, until the seconds are over."""
    report, first, end = Report(), seeds.start, monotonic() + seconds
    while first < seeds.stop and monotonic() < end:
        for seed, outcome in _outcomes(target, range(first, seeds.stop), report):
            report.add(seed, outcome)
            first = seed + 1
            if monotonic() >= end:
                return report
        if first < seeds.stop:  # the child died with it
            first += 1
    return report


def _outcomes(target: str, seeds: range, report: Report) -> Iterator[tuple[int, str]]:
    command = [sys.executable, "-m", "tests.support.damage.child", target, str(seeds.start), str(seeds.stop)]
    last = seeds.start - 1
    with Popen(command, stdout=PIPE, stderr=DEVNULL, text=True, cwd=ROOT) as child, _ended(child):
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", "the child fails without any damage"
        for line in child.stdout:
            number, _, outcome = line.rstrip("\n").partition(" ")
            last = int(number)
            yield last, outcome
    if last + 1 < seeds.stop:
        report.crashes[last + 1] = child.returncode
        report.outcomes["crash"] += 1


@contextmanager
def _ended(child: "Popen[str]") -> Iterator[None]:
    """End the child if the caller wants no more of it."""
    try:
        yield
    except BaseException:
        child.kill()
        raise


def main() -> None:
    target, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name in TARGETS if target == "all" else [target]:
        report = fuzz(name, range(first, first + count))
        print(name, dict(report.outcomes))
        for seeds in (report.crashes, report.untyped):
            for seed, end in list(seeds.items())[:20]:
                print(f"  {seed}: {end}")
        print(f"  other rows: {report.others[:20]}")


if __name__ == "__main__":
    main()
