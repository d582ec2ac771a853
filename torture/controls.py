"""Controls: lakes that are broken on purpose, and records that say what did not happen. The attacks have to find them.

An attack that finds nothing in a sound lake says something only if it finds these.
"""

import errno
import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import patch

import lakebed
from lakebed.errors import LakebedError
from lakebed.lake.lake import Lake
from tests.support.damage.fuzz import fuzz
from tests.support.damage.targets import ABORTS
from torture import clock, damage, faults, inputs, strangers
from torture.attack import Plan, Result
from torture.children import in_child
from torture.configuration import CONFIGURATIONS, SNAPSHOT, Configuration
from torture.histories.actions import act_once, prepare
from torture.histories.checker import check
from torture.histories.deeds import Deed, LocalEngine, do
from torture.histories.journal import Step
from torture.histories.round import Round, run_round
from torture.histories.worker import Share, Worker
from torture.scene import CHANGES
from torture.shim import Call, Fault, is_loaded
from torture.warm import warm_up

Lines = dict[str, list[dict[str, Any]]]
"""The lines of all journals, by process."""


@dataclass(frozen=True, slots=True)
class Control:
    """Something that `attack` must find: `found` answers what it found, or nothing."""

    attack: str
    name: str
    found: Callable[[Plan], str]


def _verdict(result: Result) -> str:
    return f"found: {result.findings[0].case}" if result.findings else ""


# Records of a sound lake that are changed afterwards.


@cache
def _quiet(folder: Path) -> Path:
    """A lake on which two workers took turns, without faults; their journals are beside it."""
    warm_up()
    folder.mkdir(parents=True)
    how = CONFIGURATIONS[0]

    def run() -> None:
        lake = folder / "lake"
        prepare(Share(lake, folder / "p0.journal", 0, "setup", 0.0, how))
        with lakebed.connect(lake, author="one") as first, lakebed.connect(lake, author="two") as second:
            workers = [
                Worker(opened, Share(lake, folder / f"p{number}.journal", number, f"{number}", 0.0, how), LocalEngine())
                for number, opened in ((1, first), (2, second))
            ]
            for turn in range(60):
                act_once(workers[turn % 2])

    _run(run)
    assert not _checked(folder, folder.with_name("checked")).findings, "a sound lake was found to be broken"
    return folder


def _tampered(tamper: Callable[[Lines], None]) -> Callable[[Plan], str]:
    """Whether a change of the journals is found; without it there is nothing."""

    def found(plan: Plan) -> str:
        folder = plan.folder
        shutil.copytree(_quiet(folder.with_name("quiet")), folder)
        lines: Lines = {
            path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in folder.glob("*.journal")
        }
        tamper(lines)
        for name, told in lines.items():
            (folder / f"{name}.journal").write_text("".join(json.dumps(line) + "\n" for line in told))
        return _verdict(_checked(folder, folder / "checked"))

    return found


def _run(work: Callable[[], Any]) -> Any:
    ended = in_child(work, 300)
    assert not ended.trouble, ended.trouble
    return ended.answer


def _checked(folder: Path, copy: Path) -> Result:
    """The check of a copy: it brings back branches that were dropped."""
    shutil.copytree(folder / "lake", copy)
    result: Result = _run(lambda: check(copy, list(folder.glob("*.journal")), Plan(1, 3.0, folder), 3.0))
    return result


def _answers(lines: Lines) -> dict[str, dict[str, Any]]:
    return {line["event"]: line for told in lines.values() for line in told if "outcome" in line}


def _deeds(lines: Lines, *kinds: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Acknowledged changes of rows of the journals: the intent, and the deed in it."""
    answers = _answers(lines)
    for told in lines.values():
        for line in told:
            if line.get("verb") == "change" and answers.get(line["event"], {}).get("outcome") == "committed":
                yield from ((line, step) for step in line["steps"] if step[0] == "Deed" and step[1] in kinds)


def _lose_a_row(lines: Lines) -> None:
    """As if the lake had dropped a row that it acknowledged."""
    *_, (_, step) = _deeds(lines, "append")
    step[3][0].append([999_999_999, 1])


def _lose_a_commit(lines: Lines) -> None:
    """As if a commit that was acknowledged were not there."""
    line, _ = next(_deeds(lines, "append", "upsert"))
    answer = _answers(lines)[line["event"]]
    event = "00000000-0000-4000-8000-000000000000"
    lines["p1"] += [{**line, "event": event}, {**answer, "event": event, "version": answer["version"] + 1_000_000}]


def _swap_two_versions(lines: Lines) -> None:
    """As if the lake had answered two calls with each other's version."""
    told = [line for line in _answers(lines).values() if line.get("version") and line["outcome"] == "committed"]
    told[-1]["version"], told[-2]["version"] = told[-2]["version"], told[-1]["version"]


def _turn_time_around(lines: Lines) -> None:
    """As if a commit had been over before another one began that has the smaller version."""
    changes = [line for line, _ in _deeds(lines, "append", "upsert", "update")]
    last = changes[-1]
    _answers(lines)[last["event"]]["ended"] = 1
    last["began"] = 0


def _read_dirt(lines: Lines) -> None:
    """As if somebody had seen a row that was never committed."""
    answers = _answers(lines)
    for told in lines.values():
        for line in told:
            for step in line.get("steps", ()) if answers.get(line["event"], {}).get("outcome") == "committed" else ():
                if step[0] == "Read" and step[1] == "rows":
                    step[3][0].append([888_888_888, 8])
                    return
    raise AssertionError("nobody read")


def _forget_an_intent(lines: Lines) -> None:
    """As if the lake had a commit that nobody asked for."""
    line, _ = next(_deeds(lines, "upsert", "append", "update"))
    for told in lines.values():
        if line in told:
            told.remove(line)


# Lakes that are broken.


def _skew(how: Configuration) -> Callable[[Plan], str]:
    """Two transactions that each read what the other one writes, at the same time."""

    def found(plan: Plan) -> str:
        folder = plan.folder
        folder.mkdir(parents=True)
        warm_up()
        _run(lambda: _race(folder, how))
        return _verdict(_checked(folder, folder / "checked"))

    return found


def _race(folder: Path, how: Configuration) -> None:
    lake = folder / "lake"
    prepare(Share(lake, folder / "p0.journal", 0, "setup", 0.0, how))
    with lakebed.connect(lake, author="one") as first, lakebed.connect(lake, author="two") as second:
        one, two = (
            Worker(opened, Share(lake, folder / f"p{number}.journal", number, f"{number}", 0.0, how), LocalEngine())
            for number, opened in ((1, first), (2, second))
        )

        def steps(
            worker: Worker, read: str, written: str, meanwhile: Callable[[], None]
        ) -> Callable[[Any], list[Step]]:
            def take(tx: Any) -> list[Step]:
                seen = worker.read(tx, tx.table(read).id)
                meanwhile()
                deed = Deed("append", tx.table(written).id, (worker.rows(worker.keys(1)),))
                do(tx, deed, worker.engine, how)
                return [seen, deed]

            return take

        inner = steps(two, "t1", "t0", lambda: None)
        one.transaction(one.main, steps(one, "t0", "t1", lambda: two.transaction(two.main, inner)))


@contextmanager
def blind_validation() -> Iterator[None]:
    """Commits that don't look at whether what they read has changed."""
    with patch("lakebed.metastore.records.commit.validate", lambda *_: None):
        yield


def _broken(control: Callable[[Plan], str]) -> Callable[[Plan], str]:
    def found(plan: Plan) -> str:
        with blind_validation():
            return control(plan)

    return found


def _snapshot_load(plan: Plan) -> str:
    """The load of the histories, under snapshot isolation, until an anomaly is found."""
    turn = 0
    actions = ("change", "transaction", "transaction", "transfer", "read in transaction")
    until = monotonic() + 120
    while monotonic() < until:
        turn += 1
        quiet = Round(SNAPSHOT, processes=5, kills=False, actions=actions)
        result = run_round(Plan(plan.seed + turn, 10.0, plan.folder / f"{turn}"), quiet)
        anomalies = [one for one in result.findings if one.case == "not serializable"]
        if anomalies:
            return f"found: {len(anomalies)} anomalies in {result.counts['commits']} commits"
    return ""


# The other attacks.


def _false_acknowledgement(plan: Plan) -> str:
    """A lake that acknowledges although the disk refused every write."""
    if not is_loaded():
        return "skipped: there is no C compiler"
    result = Result()
    append = CHANGES["append"]

    def swallow(lake: Lake, event: str) -> None:
        with suppress(LakebedError):
            append(lake, event)

    scene = faults.Scene(plan.folder / "scene", CONFIGURATIONS[1])
    fault = Fault(Call.WRITE, 0, faults.ALL, errno.EIO)
    _, after = faults.counted(scene, "append")
    with patch.dict(CHANGES, {"append": swallow}):
        faults.Point(scene, "append", fault, after).attack(result)
    return _verdict(result)


def _other_rows(plan: Plan) -> str:
    """A lake that answers something else, without an error."""
    result = Result()
    scene = damage.Scene(plan.folder / "scene", CONFIGURATIONS[0], random.Random(plan.seed))

    def lose_a_row(path: Path, chance: random.Random) -> str:
        _run(lambda: _delete_a_row(path.parent))
        return "a row lost"

    scene.damage("catalog.db", "lake", Path("catalog.db"), lose_a_row, result)
    return _verdict(result)


def _delete_a_row(folder: Path) -> None:
    with lakebed.connect(folder, create=False) as lake:
        lake.catalog().table("n.orders").delete("id = 0")


def _aborted(plan: Plan) -> str:
    """A reader that aborts, as Arrow does."""
    result = Result()
    strangers.judge(ABORTS, fuzz(ABORTS, range(2)), result)
    return _verdict(result)


def _raw_error(plan: Plan) -> str:
    """A call that raises an error of Python's."""
    return _judged(plan, lambda: int("x"))


def _unreadable_rows(plan: Plan) -> str:
    """A call that is accepted, and leaves a table that can't be read."""
    folder = plan.folder / "batch" / "lake"

    def spoil() -> None:
        with lakebed.connect(folder, create=False) as lake:
            made = lake.catalog().create_table("spoilt", {"id": "long"}, properties={"write.inline-bytes": "0"})
            made.append([{"id": 1}])
            for path in Path(made.location).rglob("*.parquet"):
                path.unlink()

    return _judged(plan, spoil)


def _judged(plan: Plan, call: Callable[[], object]) -> str:
    folder = plan.folder / "batch"
    folder.mkdir(parents=True)
    with patch.object(inputs, "GENERATORS", ((lambda *_: ("control", call)),)), patch.object(inputs, "BATCH", 1):
        return _verdict(_run(lambda: inputs.batch(folder, CONFIGURATIONS[0], "control")))


def _swapped_commits(plan: Plan) -> str:
    """Two commits whose versions are not in the order in which they were made."""
    plan.folder.mkdir(parents=True)
    first, second = (_run(partial(clock.append, plan.folder / "lake", number, 0.0)) for number in (0, 1))
    steps = [replace(first, version=second.version), replace(second, version=first.version)]
    problems: list[str] = _run(lambda: clock.problems(plan.folder / "lake", steps))
    return f"found: {problems[0]}" if problems else ""


CONTROLS = (
    Control("histories", "a row of an acknowledged commit is gone", _tampered(_lose_a_row)),
    Control("histories", "an acknowledged commit is gone", _tampered(_lose_a_commit)),
    Control("histories", "two versions are swapped", _tampered(_swap_two_versions)),
    Control("histories", "a commit came before one that was over", _tampered(_turn_time_around)),
    Control("histories", "a dirty read", _tampered(_read_dirt)),
    Control("histories", "a commit that nobody asked for", _tampered(_forget_an_intent)),
    Control("histories", "a lake that ignores what was read", _broken(_skew(CONFIGURATIONS[0]))),
    Control("histories", "two transactions under snapshot isolation", _skew(SNAPSHOT)),
    Control("histories", "the same load under snapshot isolation", _snapshot_load),
    Control("faults", "an acknowledgement of what was not written", _false_acknowledgement),
    Control("clock", "two commits out of order", _swapped_commits),
    Control("damage", "a wrong answer without an error", _other_rows),
    Control("strangers", "a file that ends the process", _aborted),
    Control("inputs", "an error that is not Lakebed's", _raw_error),
    Control("inputs", "rows that were accepted and can't be read", _unreadable_rows),
)
