"""The attack by damage: bytes of every kind of file of a lake change, and everything is read.

The answer is right, or it is an error of `lakebed.errors`; never another one, a crash or a hang.
"""

import random
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import lakebed
from lakebed.errors import LakebedError
from torture.attack import Plan, Result
from torture.children import in_child
from torture.configuration import CONFIGURATIONS, Configuration
from torture.harms import DAMAGES
from torture.histories.deeds import arrow_rows
from torture.open_lakes import HARMS_WHILE_OPEN, damaged_while_open, ids
from torture.scene import build, past, picture
from torture.warm import warm_up

KINDS = {
    "catalog.db": re.compile(r"catalog\.db$"),
    "WAL": re.compile(r"catalog\.db-wal$"),
    "note of the newest version": re.compile(r"catalog\.db-newest$"),
    "shared memory": re.compile(r"catalog\.db-shm$"),
    "data file": re.compile(r"\.parquet$"),
    "deletion vectors": re.compile(r"\.puffin$"),
    "backup.json": re.compile(r"backup\.json$"),
}
OPEN = "while open"
OTHER = "manifest or checkpoint"
"""All other files: manifests beside the catalog, and parts of checkpoints."""


def damage(plan: Plan) -> Result:
    """One damage after another, each to a copy of a lake; kinds of files by turns."""
    warm_up()
    result, chance = Result(), random.Random(plan.seed)
    first = plan.seed % len(CONFIGURATIONS)
    scenes = [*CONFIGURATIONS[first:], *CONFIGURATIONS[:first]][: max(1, int(plan.seconds / 30))]
    for number, how in enumerate(scenes):
        folder = plan.folder / f"scene{number}"
        until = plan.seconds * (len(scenes) - number - 1) / len(scenes)
        Scene(folder, how, chance).attack(plan, until, result)
    return result


class Scene:
    """A lake with a WAL, as a killed process leaves it, and a backup of it; and what is right to see."""

    def __init__(self, folder: Path, how: Configuration, chance: random.Random) -> None:
        self.folder, self.how, self.chance = folder, how, chance
        folder.mkdir(parents=True)
        built = in_child(lambda: _build(folder, how))
        assert not built.trouble, built.trouble
        self.roots = {"lake": folder / "lake", "backup": folder / "backup"}
        self.truth = {}
        for name in self.roots:
            seen = in_child(partial(_everything, self.copied(name)))
            assert not seen.trouble and not isinstance(seen.answer, LakebedError), seen
            self.truth[name] = seen.answer
        self.copies = 0

    def attack(self, plan: Plan, until: float, result: Result) -> None:
        """Until so many seconds are left."""
        files = self._files()
        for kind in cycle((*sorted(files), OPEN)):
            if kind == OPEN:
                self._damage_while_open(self.chance.choice(sorted(HARMS_WHILE_OPEN)), result)
            else:
                name, path = self.chance.choice(files[kind])
                self.damage(kind, name, path, self.chance.choice(DAMAGES), result)
            if plan.left < until:
                return

    def _damage_while_open(self, harm: str, result: Result) -> None:
        """Take something away from a process that writes: what it was acknowledged is there, or a reader sees why."""
        copy = self.copied("lake")
        result.counts["damaged files"] += 1
        result.counts[OPEN] += 1
        written, trouble = damaged_while_open(copy, HARMS_WHILE_OPEN[harm])
        seen = in_child(lambda: ids(copy), 60)
        case = f"{self.how.name}, {harm} while a process had the lake open"
        if trouble or seen.trouble:
            result.found(case, trouble or seen.trouble)
        elif isinstance(seen.answer, LakebedError):
            result.counts[f"answered by {type(seen.answer).__name__}"] += 1
        elif written - seen.answer:
            result.found(case, f"acknowledged rows {sorted(written - seen.answer)} are gone, without an error")
        else:
            result.counts["answered right"] += 1

    def _files(self) -> dict[str, list[tuple[str, Path]]]:
        """Which lake has a file of a kind, and where in it."""
        found: dict[str, list[tuple[str, Path]]] = {}
        for name, root in self.roots.items():
            for path in sorted(root.rglob("*")):
                if path.is_file() and path.stat().st_size:
                    kind = next((kind for kind, text in KINDS.items() if text.search(path.name)), OTHER)
                    found.setdefault(kind, []).append((name, path.relative_to(root)))
        return found

    def copied(self, name: str) -> Path:
        target = self.folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.roots[name], target)
        return target

    def damage(
        self, kind: str, name: str, path: Path, harm: Callable[[Path, random.Random], str], result: Result
    ) -> None:
        copy = self.copied(name)
        done = harm(copy / path, self.chance)
        case = f"{self.how.name}, {kind} {path.name} of the {name}, {done}"
        result.counts["damaged files"] += 1
        result.counts[kind] += 1
        ended = in_child(lambda: _everything(copy), 120)
        if ended.trouble:
            result.found(case, ended.trouble)
        elif isinstance(ended.answer, LakebedError):
            result.counts[f"answered by {type(ended.answer).__name__}"] += 1
        elif ended.answer == self.truth[name]:
            result.counts["answered right"] += 1
        else:
            result.found(case, f"a wrong answer: {_difference(self.truth[name], ended.answer)}")


def _build(folder: Path, how: Configuration) -> None:
    """A lake whose last commits are in the WAL: this process ends without closing it."""
    build(folder / "lake", how)
    lake = lakebed.connect(folder / "lake", author="damage", create=False)
    lake.backup(folder / "backup")
    orders = lake.catalog().table("n.orders")
    for id in range(900, 906):
        orders.append(arrow_rows([(id, id)]))
    shutil.copytree(folder / "lake", folder / "killed")
    lake.close()
    shutil.rmtree(folder / "lake")
    (folder / "killed").rename(folder / "lake")


def _everything(folder: Path) -> Any:
    """All that can be seen of a lake, or the error that it answers with."""
    try:
        with lakebed.connect(folder) as lake:  # as people do: it must not begin a new lake there
            return {"now": picture(lake), "past": past(lake)}
    except LakebedError as error:
        return error


def _difference(right: Any, wrong: Any, where: str = "") -> str:
    """The first thing that differs."""
    if isinstance(right, Mapping) and isinstance(wrong, Mapping):
        if right.keys() != wrong.keys():
            return f"{where} has {sorted(map(str, wrong.keys() ^ right.keys()))[:5]} too much or too little"
        key = next(key for key in right if right[key] != wrong[key])
        return _difference(right[key], wrong[key], f"{where}/{key}")
    if isinstance(right, list) and isinstance(wrong, list):
        extra, lacking = (
            [one for one in first if one not in other] for first, other in ((wrong, right), (right, wrong))
        )
        return f"{where}: too much {extra[:3]}, too little {lacking[:3]}"
    if isinstance(right, tuple) and isinstance(wrong, tuple):
        place = next(place for place, pair in enumerate(zip(right, wrong, strict=True)) if pair[0] != pair[1])
        return _difference(right[place], wrong[place], f"{where}/{place}")
    return f"{where}: {str(wrong)[:200]}, right is {str(right)[:200]}"
