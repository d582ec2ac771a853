"""The attack on the clock: processes commit with clocks that are wrong by seconds to decades, forwards and backwards.

Versions keep the order of commits, nothing that was acknowledged is lost, times of commits never go back, and whoever
asks for the newest moment by a right clock sees what was committed by a right clock before, at the latest after
`lake.repair_times()`.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import lakebed
from lakebed.errors import LakebedError
from lakebed.lake.catalog import Catalog
from torture.attack import Plan, Result
from torture.children import in_child
from torture.histories.deeds import SCHEMA, arrow_rows, pairs_of
from torture.shim import is_loaded, move_clock
from torture.warm import warm_up

YEAR = 365.25 * 86_400
JUMPS = (
    0.0,
    0.0,
    0.5,
    -0.5,
    5.0,
    -5.0,
    60.0,
    -60.0,
    3600.0,
    -3600.0,
    86_400.0,
    -86_400.0,
    YEAR,
    -YEAR,
    50 * YEAR,
    -50 * YEAR,
)
STEPS = 8
_EPOCH = -datetime.now(UTC).timestamp() + 10


@dataclass(frozen=True, slots=True)
class Step:
    """One append by a process whose clock was wrong: its version, or the error that it was answered."""

    number: int
    jump: float
    version: int | None
    error: str


def clock(plan: Plan) -> Result:
    """Lake after lake, each with some jumps."""
    if not is_loaded():
        return Result(skipped="there is no C compiler (cc, gcc or clang) to build the shim with")
    warm_up()
    result, chance, turn = Result(), random.Random(plan.seed), 0
    while turn == 0 or plan.left > 0:
        turn += 1
        jumps = [chance.choice((*JUMPS, chance.uniform(-YEAR, YEAR), _EPOCH)) for _ in range(STEPS)]
        folder = plan.folder / f"lake{turn}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        _attack(folder, [0.0, *jumps, 0.0], result)
    return result


def _attack(folder: Path, jumps: Sequence[float], result: Result) -> None:
    case = f"clocks wrong by {', '.join(f'{jump:+.1f}' for jump in jumps)} s"
    steps: list[Step] = []
    for number, jump in enumerate(jumps):
        ended = in_child(partial(append, folder, number, jump))
        result.counts["commits with a moved clock"] += 1
        if ended.trouble:
            result.found(case, ended.trouble)
            return
        steps.append(ended.answer)
        if ended.answer.error:
            result.counts[f"refused by {ended.answer.error.partition(':')[0]}"] += 1
    checked = in_child(lambda: problems(folder, steps))
    for problem in [checked.trouble] if checked.trouble else checked.answer:
        result.found(case, problem)


def append(folder: Path, number: int, jump: float) -> Step:
    move_clock(jump)
    try:
        with lakebed.connect(folder, author="clock") as lake:
            table = lake.catalog().create_table("t", SCHEMA, if_not_exists=True)
            commit = table.append(arrow_rows([(number, number)]))
            return Step(number, jump, int(commit.version), "")
    except LakebedError as error:
        return Step(number, jump, None, f"{type(error).__name__}: {error}")


def problems(folder: Path, steps: Sequence[Step]) -> list[str]:
    """What is wrong, seen with a right clock."""
    found = []
    done = [step for step in steps if step.version is not None]
    versions = [step.version for step in done]
    if versions != sorted(set(versions), key=lambda one: one or 0):
        found.append(f"versions are not in the order of the commits: {versions}")
    right = [step for step in steps if step.jump == 0.0]
    found += [f"a commit with a right clock was refused: {step.error}" for step in right if step.version is None]
    with lakebed.connect(folder, create=False) as lake:
        main = lake.catalog()
        rows = {id for id, _ in pairs_of(main.table("t").scan().to_arrow())}
        if rows != {step.number for step in done}:
            found.append(f"acknowledged are {sorted(step.number for step in done)}, there are {sorted(rows)}")
        times = [commit.time for commit in main.log()][::-1]
        found += [f"time goes back from {first} to {second}" for first, second in pairwise(times) if second < first]
        wanted = {step.number for step in right if step.version is not None}
        if not wanted <= _shown_now(main):
            lake.repair_times()
        if missing := wanted - _shown_now(main):
            found.append(f"at(time=now) leaves out {sorted(missing)}, committed by a right clock")
        found += [f"check: {problem}" for problem in lake.check()]
    return found


def _shown_now(main: Catalog) -> set[int]:
    """What the lake shows for the moment that a right clock shows; nothing if it refuses that moment."""
    try:
        return {id for id, _ in pairs_of(main.at(time=datetime.now(UTC)).table("t").scan().to_arrow())}
    except LakebedError:
        return set()
