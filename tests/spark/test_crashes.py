"""A driver that dies at any step of a write or a compaction leaves the rows as they were, or as they are after it."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Catalog, Table
from lakebed.files import local
from lakebed.records.check.check import check
from lakebed.store import SQLiteStore
from lakebed.store.sqlite import store as sqlite
from tests.support.examples import long_but

DRIVER = Path(__file__).parent / "crash_driver.py"
EVENT = "7b3d3f0e-0c55-4b0e-9a41-2f0e5f1b6c11"
START = {number: "abc"[number % 3] for number in range(12)}
Rows = dict[int, str]


def frame(spark: SparkSession, first: int, end: int, more: DataFrame | None = None) -> DataFrame:
    ids = spark.range(first, end, 1, 2)
    if more is not None:
        ids = ids.union(more)
    return ids.selectExpr("id", "substring('xyz', 1 + id % 3, 1) as place")


# With more rows than these, if they are given.
WORKS: dict[str, Callable[..., Any]] = {
    "append": lambda spark, main, event, *more: main.table("t").append(frame(spark, 20, 26, *more), event_id=event),
    "upsert": lambda spark, main, event, *more: main.table("t").upsert(frame(spark, 8, 16, *more), event_id=event),
    "compact": lambda spark, main, event: main.table("t").compact(spark, event_id=event),
}
AFTER: dict[str, Rows] = {
    "append": START | {number: "xyz"[number % 3] for number in range(20, 26)},
    "upsert": START | {number: "xyz"[number % 3] for number in range(8, 16)},
    "compact": START,
}


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A lake with a partitioned table of small files, some of them with a deleted row."""
    folder = tmp_path / "template"
    with lakebed.connect(folder, author="ada") as lake:
        table = lake.catalog().create_table(
            "t",
            {"id": "long", "place": "string"},
            primary_key=["id"],
            partition_by=["place"],
            properties={"write.inline-bytes": "0"},
        )
        rows = [{"id": id, "place": place} for id, place in START.items()]
        table.append(pyarrow.Table.from_pylist([*rows[:6], {"id": 90, "place": "a"}]))
        table.append(pyarrow.Table.from_pylist(rows[6:]))
        table.delete("id = 90")
    return folder


@contextmanager
def each_write(do: Callable[[], None]) -> Iterator[None]:
    """Call this before every write of this process to a disk, but for those that it makes itself."""
    own = threading.local()

    def noted(write: Callable[..., Any]) -> Callable[..., Any]:
        def noted_first(*arguments: Any, **options: Any) -> Any:
            if not getattr(own, "is_inside", False):
                own.is_inside = True
                try:
                    do()
                finally:
                    own.is_inside = False
            return write(*arguments, **options)

        return noted_first

    places: list[tuple[Any, tuple[str, ...]]] = [
        (os, ("write", "fsync", "link", "replace", "unlink", "mkdir")),
        (local._NewFile, ("write",)),
        (sqlite, ("_write", "_end")),
    ]
    patches = [patch.object(place, one, noted(getattr(place, one))) for place, names in places for one in names]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


class Copies:
    """What a kill would leave of a lake: copies of its folder, one for each moment at which it is another.

    A process that is killed leaves on the disk what it has written, and that is what a copy has. The writes of this
    process wait while one is made; those of Spark's tasks go on, which is why the catalog is copied first.
    """

    def __init__(self, lake: Path, folder: Path) -> None:
        self.made: list[Path] = []
        self._lake, self._folder = lake, folder
        self._lock, self._last = threading.RLock(), frozenset[tuple[str, int, int]]()

    def take(self) -> None:
        with self._lock:
            now = self._fingerprint()
            if now == self._last:
                return
            self._last = now
            copy = self._folder / str(len(self.made))
            self.made.append(copy)
            for path in self._files():
                to = copy / path.relative_to(self._lake)
                to.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # moved by a task meanwhile
                    shutil.copyfile(path, to)

    @contextmanager
    def at_all_times(self) -> Iterator[None]:
        """Take copies while Spark's tasks write, too."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.005):
                self.take()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _files(self) -> list[Path]:
        """Those of the lake itself first; what tasks move meanwhile may be missing."""
        return [Path(place, name) for place, _, names in os.walk(self._lake) for name in names]

    def _fingerprint(self) -> frozenset[tuple[str, int, int]]:
        found = set()
        for path in self._files():
            with suppress(FileNotFoundError):
                known = path.stat()
                found.add((str(path), known.st_size, known.st_mtime_ns))
        return frozenset(found)


@pytest.mark.parametrize("work", long_but(WORKS, ["upsert"]))
def test_a_driver_that_dies_before_any_of_its_writes_leaves_all_or_nothing(
    spark: SparkSession, template: Path, tmp_path: Path, work: str
) -> None:
    folder = tmp_path / "lake"
    shutil.copytree(template, folder)
    copies = Copies(folder, tmp_path / "copies")
    with lakebed.connect(folder, author="ada") as lake:
        lake.catalog().table("t").scan().count()
        with each_write(copies.take), copies.at_all_times():
            WORKS[work](spark, lake.catalog(), EVENT)
        copies.take()
    assert len(copies.made) > 5
    seen = [left_by_a_kill(copy, work) for copy in copies.made]
    assert seen == sorted(seen), "once it is there, it stays"
    assert (seen[0], seen[-1]) == (False, True)
    undone = [copy for copy, is_done in zip(copies.made, seen, strict=True) if not is_done]
    every = os.environ.get("LAKEBED_CRASHES") == "all"
    for copy in [*(undone if every else {undone[0], undone[len(undone) // 2], undone[-1]}), copies.made[-1]]:
        done_again(spark, copy, work)


def killed(folder: Path, work: str, *, writes: int = -1, files: int = -1) -> int:
    """Do the work in a process that is killed on the way; how many writes it made if it ended by itself, else -1."""
    run = subprocess.run(
        [sys.executable, str(DRIVER), str(folder), work, str(writes), str(files)],
        capture_output=True,
        text=True,
        timeout=500,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(lakebed.__file__).parents[1]), str(DRIVER.parent)])},
    )
    if run.returncode == 0:
        return int(run.stdout)
    assert run.returncode == -signal.SIGKILL, run.stderr[-3000:]
    return -1


@pytest.mark.long
@pytest.mark.parametrize("files", [1, 2, 3])
def test_a_driver_that_is_killed_while_tasks_write_leaves_nothing_to_be_seen(
    spark: SparkSession, template: Path, files: int
) -> None:
    with lakebed.connect(template, author="ada") as lake:  # or all rows would be there before any is written
        lake.catalog().table("t").set_properties({"write.distribution": "none"})
    assert killed(template, "append", files=files) == -1
    assert strays(template), "it was killed before it wrote"
    assert not left_by_a_kill(template, "append")
    done_again(spark, template, "append")


@pytest.mark.long
@pytest.mark.parametrize("work", WORKS)
def test_a_driver_that_is_killed_before_a_write_leaves_all_or_nothing(
    spark: SparkSession, template: Path, tmp_path: Path, work: str
) -> None:
    """Real kills, to see that the copies above are what one leaves; by LAKEBED_KILLS of them, or a few."""
    shutil.copytree(template, tmp_path / "whole")
    writes = killed(tmp_path / "whole", work)
    kills = min(writes, int(os.environ.get("LAKEBED_KILLS", "5")))
    seen = []
    for at in sorted({round(number * (writes - 1) / (kills - 1)) for number in range(kills)}):
        folder = tmp_path / str(at)
        shutil.copytree(template, folder)
        assert killed(folder, work, writes=at) == -1
        seen.append(left_by_a_kill(folder, work))
        done_again(spark, folder, work)
    assert seen == sorted(seen)
    assert seen[0] is False


def shown(table: Table) -> Rows:
    found = table.scan().to_arrow().to_pylist()
    assert len(found) == len({one["id"] for one in found})
    return {one["id"]: one["place"] for one in found}


def left_by_a_kill(folder: Path, work: str) -> bool:
    """Whether the work took effect: all of it, or nothing. What no version refers to is told from what one does."""
    with lakebed.connect(folder, author="ada") as lake:
        main = lake.catalog()
        is_done = lake._context.metastore.find(EVENT) is not None
        assert shown(main.table("t")) == (AFTER[work] if is_done else START)
        assert_whole(main.table("t"))
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []
    return is_done


def done_again(spark: SparkSession, folder: Path, work: str) -> None:
    """Without what is not referred to, which nobody misses, the same call makes it be there, once; so does the next."""
    for path in strays(folder):
        path.unlink()
    with lakebed.connect(folder, author="ada") as lake:
        main = lake.catalog()
        known = lake._context.metastore.find(EVENT)
        WORKS[work](spark, main, EVENT)
        assert shown(main.table("t")) == AFTER[work]
        if known is not None:
            assert main.log()[0].id == known.id
        count = len(main.log())
        WORKS[work](spark, main, EVENT)
        assert len(main.log()) == count
        assert_every_version_can_be_read(main)
        assert_whole(main.table("t"))
        main.table("t").append(frame(spark, 50, 52))
        assert main.table("t").scan().count() == len(AFTER[work]) + 2


def assert_whole(table: Table) -> None:
    """It has what its newest snapshot says."""
    live = [one.file for one in table.scan()._plan.files]
    found = {"rows": table.scan().to_arrow().num_rows, "files": len(live)}
    assert table.snapshots()[0].totals == {**found, "bytes": sum(one.file_size for one in live)}


def assert_every_version_can_be_read(main: Catalog) -> None:
    table = main.table("t")
    for one in table.snapshots():
        assert table.at(snapshot=one.id).scan().to_arrow().num_rows == one.totals["rows"]


def strays(folder: Path) -> set[Path]:
    """The data files and deletion vectors that no version of the table refers to."""
    with lakebed.connect(folder, author="ada") as lake:
        table = lake.catalog().table("t")
        live = set[str]()
        for one in table.snapshots():
            for planned in table.at(snapshot=one.id).scan()._plan.files:
                live |= {planned.file.path, planned.file.dv_path}
    data = folder.glob("tables/*/data/**/*")
    found = {path for path in data if path.is_file()}
    referred = {folder / one for one in live if one}
    assert referred <= found
    return found - referred
