"""The attack by faults: at the nth call of each kind that a change makes, the operating system fails.

Afterwards what was acknowledged is there, what was refused is not, and the error says which; a repeated call with the
same event id has its effect once.
"""

import errno
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

import lakebed
from lakebed.errors import Corrupt, LakebedError, OutcomeUnknown, Unavailable
from torture.attack import Plan, Result
from torture.children import in_child
from torture.configuration import CONFIGURATIONS, Configuration
from torture.histories.deeds import arrow_rows
from torture.scene import CHANGES, UPKEEP, Picture, build, picture
from torture.shim import Call, Fault, Mode, Seen, failing, is_loaded, seen
from torture.warm import warm_up

EVENT = "5f1f4b52-0c5c-4d51-9c53-7b6a0e6a3f10"
ALL = -1
AT_ONCE = 10
"""So many points of a change follow one another: counting its calls takes as long as two of them."""
DISK = Call.WRITE | Call.OPEN | Call.MKDIR | Call.RENAME | Call.TRUNCATE
"""What a full disk refuses."""
EVERY = Call.READ | Call.UNLINK | Call.SYNC | DISK

VARIANTS: tuple[tuple[Call, int, int, Mode], ...] = (
    *((call, count, errno.EIO, Mode.BEFORE) for call in Call for count in (1, ALL)),
    *((call, 1, errno.EIO, Mode.AFTER) for call in (Call.WRITE, Call.SYNC, Call.RENAME, Call.UNLINK)),
    (Call.WRITE, 1, errno.ENOSPC, Mode.BEFORE),
    (Call.WRITE, 1, errno.ENOSPC, Mode.SHORT),
    (DISK, ALL, errno.ENOSPC, Mode.BEFORE),
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a change came to under a fault, and whether the same process could work on afterwards."""

    folder: str
    calls: Call
    error: LakebedError | None
    seen: Seen
    later: str


def faults(plan: Plan) -> Result:
    """Every variant at random places of random changes, in every configuration by turns."""
    if not is_loaded():
        return Result(skipped="there is no C compiler (cc, gcc or clang) to build the shim with")
    warm_up()
    result, chance = Result(), random.Random(plan.seed)
    scenes = [Scene(plan.folder / f"scene{number}", how) for number, how in enumerate(CONFIGURATIONS)]
    chance.shuffle(scenes)
    points = [_points(scene, chance) for scene in scenes[: max(1, int(plan.seconds / 30))]]
    for point in _by_turns(points):
        point.attack(result)
        if plan.left < 0:
            break
    return result


class Scene:
    """A lake in a configuration, what can be seen of it, and what each change makes of that without a fault."""

    def __init__(self, folder: Path, how: Configuration) -> None:
        self.folder, self.how = folder, how
        self.copies = 0
        self.before: Picture = {}

    def build(self) -> None:
        if not self.before:
            self.folder.mkdir(parents=True)
            ended = in_child(lambda: build(self.folder / "template", self.how))
            assert not ended.trouble, ended.trouble
            self.before = in_child(lambda: _look(self.folder / "template")).answer[0]

    def copy(self) -> Path:
        self.build()
        self.copies += 1
        target = self.folder / f"copy{self.copies}"
        shutil.copytree(self.folder / "template", target)
        return target


@dataclass(frozen=True, slots=True)
class Point:
    """One change with one fault."""

    scene: Scene
    change: str
    fault: Fault
    after: Picture

    def attack(self, result: Result) -> None:
        copy = self.scene.copy()
        case = f"{self.scene.how.name}, {self.change}, {self.fault}"
        attempted = in_child(lambda: _attempt(copy, self.change, self.fault))
        result.counts["faults"] += 1
        if attempted.trouble:
            result.found(case, attempted.trouble)
        else:
            self._judge(copy, attempted.answer, case, result)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(f"{copy}-backup", ignore_errors=True)

    def _judge(self, copy: Path, attempt: Attempt, case: str, result: Result) -> None:
        name = "acknowledged" if attempt.error is None else type(attempt.error).__name__
        result.counts[name if attempt.seen.failed else "not reached"] += 1
        case = f"{case} on {Path(attempt.seen.path).name or 'nothing'}"
        for problem in (*_wrong_error(attempt), *([attempt.later] if attempt.later else [])):
            result.found(case, problem)
        ended = in_child(lambda: _afterwards(copy, self.change))
        if ended.trouble:
            result.found(case, f"after {name}: {ended.trouble}")
            return
        shown, problems, again = ended.answer
        if shown not in self._allowed(attempt.error):
            state = "as before" if shown == self.scene.before else "as after it" if shown == self.after else "torn"
            result.found(case, f"after {name} ({attempt.error}) the lake is {state}")
        for problem in problems:
            result.found(case, f"check: {problem}")
        if again != self.after:
            result.found(case, f"a second call with the event id does not do it once: {again}"[:1000])

    def _allowed(self, error: LakebedError | None) -> list[Picture]:
        """What the lake may show after an answer."""
        if error is None:
            return [self.after]
        return [self.scene.before, self.after] if isinstance(error, OutcomeUnknown) else [self.scene.before]


def _by_turns(groups: Sequence[Iterator[Point]]) -> Iterator[Point]:
    return (point for points in zip_longest(*groups) for point in points if point is not None)


def _points(scene: Scene, chance: random.Random) -> Iterator[Point]:
    """All points of a scene, in random order: changes by turns, their calls counted by a run without faults."""
    names = list({**CHANGES, **UPKEEP})
    chance.shuffle(names)
    waiting = {name: _points_of(scene, name, chance) for name in names}
    while waiting:
        for name in list(waiting):
            some = list(islice(waiting[name], AT_ONCE))
            yield from some
            if len(some) < AT_ONCE:
                del waiting[name]


def _points_of(scene: Scene, change: str, chance: random.Random) -> Iterator[Point]:
    counts, after = counted(scene, change)
    faults = [
        Fault(call, nth, count, error, mode) for call, count, error, mode in VARIANTS for nth in range(counts[call])
    ]
    for fault in chance.sample(faults, len(faults)):
        yield Point(scene, change, fault, after)


def counted(scene: Scene, change: str) -> tuple[dict[Call, int], Picture]:
    """How many calls of each kind a change makes, and what can be seen after it, without a fault."""
    copy = scene.copy()
    ran = in_child(lambda: _attempt(copy, change, Fault(EVERY, 1 << 40, 1, errno.EIO)))
    assert not ran.trouble and ran.answer.error is None, (change, ran)
    after: Picture = in_child(lambda: _look(copy)).answer[0]
    shutil.rmtree(copy)
    shutil.rmtree(f"{copy}-backup", ignore_errors=True)
    counts: dict[Call, int] = ran.answer.seen.calls
    counts[DISK] = sum(counts[call] for call in DISK)
    return counts, after


def _attempt(folder: Path, change: str, fault: Fault) -> Attempt:
    """Make a change under a fault, and then an append without one, in this process."""
    error: LakebedError | None = None
    lake = lakebed.connect(folder, author="faults", create=False)
    lake.catalog().table("other").scan().count()
    with failing(folder, fault):
        try:
            ({**CHANGES, **UPKEEP})[change](lake, EVENT)
        except LakebedError as caught:
            error = caught
        was = seen()
    later = ""
    try:
        lake.catalog().table("other").append(arrow_rows([(1, 1)]))
    except LakebedError as caught:
        later = f"the process can't go on after {type(error).__name__}: {type(caught).__name__} {caught}"
    return Attempt(str(folder), fault.calls, error, was, later)


def _wrong_error(attempt: Attempt) -> Iterator[str]:
    error = attempt.error
    if error is None:
        return
    # SQLite takes a page that the disk can't read for damage, and rightly: it stays unreadable.
    unreadable = isinstance(error, Corrupt) and attempt.calls is Call.READ
    if not isinstance(error, Unavailable | OutcomeUnknown) and not unreadable:
        yield f"{type(error).__name__} is not what a failing disk is: {error}"
    is_commit = attempt.seen.path == attempt.folder or Path(attempt.seen.path).name.startswith("catalog.db")
    if isinstance(error, OutcomeUnknown) and not is_commit:
        yield f"OutcomeUnknown although no commit was tried: {error}"


def _look(folder: Path) -> tuple[Picture, list[str]]:
    with lakebed.connect(folder, create=False) as lake:
        return picture(lake), list(lake.check())


def _afterwards(folder: Path, change: str) -> tuple[Picture, list[str], Picture | str]:
    """What the lake shows, what its check finds, and what it shows after the same call again."""
    with lakebed.connect(folder, author="faults", create=False) as lake:
        shown, problems = picture(lake), list(lake.check())
        try:
            ({**CHANGES, **UPKEEP})[change](lake, EVENT)
        except LakebedError as error:
            return shown, problems, f"{type(error).__name__}: {error}"
        return shown, problems, picture(lake)
