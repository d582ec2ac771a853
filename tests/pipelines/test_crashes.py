"""The driver dies at each commit of a run, before it or after it, and the run is resumed: every row is there once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp
from lakebed.metastore import RecordsMetastore
from lakebed.pipelines.records import journal
from tests.pipelines.conftest import order
from tests.pipelines.crash_pipeline import MURDER, crash_pipeline

BOUNDARIES = 32
"""More than a run has commits: the last cases die nowhere."""

Rows = Callable[..., list[tuple[Any, ...]]]


class Died(BaseException):
    """Nothing after it is done, as after a kill."""


@contextmanager
def dies(monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> Iterator[list[int]]:
    """The process dies at a commit: before anything of it is written, or when it took effect and nobody knows."""
    commit, count = RecordsMetastore.commit, [0]

    def dying(self: Any, *arguments: Any, **named: Any) -> Any:
        count[0] += 1
        if count[0] > number or (count[0] == number and not after):
            raise Died
        done = commit(self, *arguments, **named)
        if count[0] == number:
            raise Died
        return done

    with monkeypatch.context() as patch:
        patch.setattr(RecordsMetastore, "commit", dying)
        yield count


@pytest.fixture
def told() -> list[int]:
    """How many changed rows the hook saw, call by call."""
    return []


@pytest.fixture
def full(lake: Any, spark: Any, raw: Any, told: list[int]) -> lp.Pipeline:
    """A pipeline with a window, a quarantine, a check and a hook, which has run once; and more rows for it."""
    shop = crash_pipeline(told.append)
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, "oil", 5.0, day=2), order(5, "oil", -1.0, day=3)], cast=True)
    return shop


def check_all(lake: Any, main: Any, rows: Rows) -> None:
    """What is there after the second run, however often it died."""
    assert rows("sales.orders") == [(1, "tea", 2.0), (2, "jam", 3.0), (3, "tea", 4.0), (4, "oil", 5.0)]
    assert rows("sales.sums") == [("jam", 3.0), ("oil", 5.0), ("tea", 6.0)]
    assert rows("sales.daily") == [(date(2026, 11, day), n) for day, n in ((1, 1), (2, 2), (3, 2))]
    assert rows("sales.orders__quarantine", "id") == [(5,)]
    assert [branch.ref for branch in main.branches()] == ["main"]
    noted = main.inspect("__runs").to_pylist()
    assert {row["status"] for row in noted} <= {"published", "unchanged"}
    published = [row["id"] for row in noted if row["status"] == "published"]
    checks = main.inspect("__checks").to_pylist()
    assert all(
        {True} == {row["passed"] for row in checks if row["run"] == run and "price" not in row["check"]}
        for run in published
    )
    assert lake.check() == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, BOUNDARIES + 1))
@pytest.mark.sampled(16)
def test_a_run_whose_driver_dies_at_a_commit_is_resumed_and_every_row_is_there_once(
    number: int,
    after: bool,
    lake: Any,
    spark: Any,
    main: Any,
    full: lp.Pipeline,
    told: list[int],
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dies(monkeypatch, number, after=after) as count:
        try:
            full.run(lake, spark)
        except Died:
            assert number < BOUNDARIES, "more commits than boundaries: some are not tried"
        else:
            assert count[0] < number
    begun = journal.newest(lake, "shop")
    resumed = full.run(lake, spark, resume=begun if begun == 2 else None)
    assert resumed.raise_for_status().status in ("published", "unchanged")
    assert full.run(lake, spark).raise_for_status().status == "unchanged"
    assert (told[0], set(told[1:]) - {0}) == (3, {1}), "the hook saw the new row, at least once"
    check_all(lake, main, rows)


def test_a_run_has_fewer_commits_than_boundaries_are_tried(
    lake: Any, spark: Any, main: Any, full: lp.Pipeline, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dies(monkeypatch, BOUNDARIES, after=False) as count:
        full.run(lake, spark).raise_for_status()
    assert BOUNDARIES - 8 < count[0] < BOUNDARIES
    check_all(lake, main, rows)


@pytest.mark.long  # a process with a Spark of its own for each
@pytest.mark.parametrize(
    ("number", "after"),
    [(0, False), (2, True), (5, True), (13, False), (18, True), (23, True), (25, True)],
)
def test_a_driver_that_is_killed_leaves_a_run_that_another_process_resumes(
    number: int, after: bool, tmp_path: Path, spark: Any, lake: Any, main: Any, raw: Any, rows: Rows
) -> None:
    told: list[int] = []
    shop = crash_pipeline(told.append, tmp_path / MURDER)
    shop.run(lake, spark).raise_for_status()
    raw.append([order(4, "oil", 5.0, day=2), order(5, "oil", -1.0, day=3)], cast=True)
    code = f"from tests.pipelines.crash_pipeline import main; main({str(tmp_path / 'lake')!r}, {number}, {after})"
    root = str(Path(lakebed.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": root, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    (tmp_path / MURDER).unlink(missing_ok=True)
    begun = journal.newest(lake, "shop")
    resumed = shop.run(lake, spark, resume=begun if begun == 2 else None).raise_for_status()
    assert resumed.status == "published"
    assert shop.run(lake, spark).raise_for_status().status == "unchanged"
    check_all(lake, main, rows)
