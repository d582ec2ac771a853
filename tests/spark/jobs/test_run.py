"""Work on a session: its answer, its own jobs, and what Ctrl-C does to it and to nothing else."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Lake
from lakebed.spark.jobs import progress
from lakebed.spark.jobs.jobs import ClassicJobs
from lakebed.spark.jobs.run import run


@pytest.fixture
def interrupt_after() -> Callable[[float], threading.Timer]:
    """Press Ctrl-C from elsewhere."""

    def later(seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    return later


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lakebed.connect(tmp_path / "lake") as opened:
        yield opened


def endless(spark: SparkSession) -> int:
    """A job that takes minutes."""
    return spark.range(0, 10**12, 1, 4).selectExpr("sum(hash(id, id)) as s").collect()[0][0]


def wait_for_job(spark: SparkSession) -> None:
    while not spark.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.02)


def test_the_answer_and_the_error_of_the_work_come_back(spark: SparkSession) -> None:
    assert run(spark, "count", lambda: spark.range(7).count()) == 7
    with pytest.raises(ZeroDivisionError):
        run(spark, "fail", lambda: 1 // 0)


@pytest.mark.long
def test_sparks_ui_says_what_a_job_is_for(spark: SparkSession, lake: Lake) -> None:
    def described(work: Callable[[], object]) -> set[str]:
        tracker = spark.sparkContext._jsc.sc().statusStore()
        before = tracker.jobsList(None).size()
        work()
        jobs = tracker.jobsList(None)
        found = [jobs.apply(number).description() for number in range(jobs.size() - before)]
        return {one.get() for one in found if one.isDefined()}

    table = lake.catalog().create_table("orders", {"id": "long"}, properties={"write.inline-bytes": "0"})
    assert described(lambda: table.append(spark.range(3))) == {"Lakebed: append to orders"}
    assert "Lakebed: overwrite orders" in described(lambda: table.overwrite(spark.range(3)))
    assert described(lambda: spark.range(3).collect()) <= {"collect at"}
    spark.sparkContext.setJobDescription("my pipeline")
    try:
        assert described(lambda: table.append(spark.range(3))) == {"my pipeline · Lakebed: append to orders"}
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "my pipeline"
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)


def test_work_inside_work_is_part_of_it(spark: SparkSession) -> None:
    def inner() -> str:
        return threading.current_thread().name

    def outer() -> tuple[str, str]:
        return threading.current_thread().name, run(spark, "inner", inner)

    first, second = run(spark, "outer", outer)
    assert first == second != threading.current_thread().name


def test_the_work_has_what_the_thread_has_set_for_its_jobs(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setLocalProperty("spark.scheduler.pool", "mine")
    try:
        assert run(spark, "ask", lambda: context.getLocalProperty("spark.scheduler.pool")) == "mine"
        assert [one for one in context.getJobTags() if one.startswith("lakebed")] == []
    finally:
        context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]


def test_jobs_are_counted_by_their_tag(spark: SparkSession) -> None:
    jobs = ClassicJobs(spark.sparkContext, "lakebed-counted")
    with jobs.tagged():
        spark.range(0, 1000, 1, 3).selectExpr("sum(id)").collect()
    spark.range(10).collect()
    counts = jobs.counts()
    assert counts.tasks == counts.tasks_done == 4


def test_a_bar_is_shown_for_long_work(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    drawn = threading.Event()
    own = progress.Bar.draw

    def draw(bar: progress.Bar, counts: Callable[[], object]) -> None:
        own(bar, counts)  # type: ignore[arg-type]
        drawn.set()

    monkeypatch.setattr(progress.Bar, "draw", draw)
    run(spark, "wait for a drawing", lambda: drawn.wait(60))
    shown = capsys.readouterr().err
    assert shown.startswith("\r\x1b[Kwait for a drawing ──")
    assert shown.endswith("\r\x1b[K")


def test_ctrl_c_cancels_the_work_and_no_other_job(
    spark: SparkSession, interrupt_after: Callable[[float], threading.Timer]
) -> None:
    answers = list[object]()

    def other() -> None:
        answers.append(spark.range(0, 60_000_000, 1, 2).selectExpr("sum(hash(id))").collect()[0][0])

    neighbour = threading.Thread(target=other)
    neighbour.start()
    wait_for_job(spark)
    timer = interrupt_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        run(spark, "endless", lambda: endless(spark))
    timer.join()
    neighbour.join()
    assert len(answers) == 1
    assert spark.range(5).count() == 5


def test_after_ctrl_c_what_was_done_by_then_is_undone(spark: SparkSession) -> None:
    undone = list[int]()

    def work() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return 17

    with pytest.raises(KeyboardInterrupt):
        run(spark, "quick", work, undo=undone.append)
    assert undone == [17]


def test_ctrl_c_twice_does_not_wait(spark: SparkSession) -> None:
    """Work that is no job of Spark's, which nobody can cancel."""
    release = threading.Event()

    def press() -> None:
        for _ in range(2):
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(spark, "stubborn", lambda: release.wait(300))
    assert not release.is_set()
    release.set()
    thread.join()


def test_the_handler_of_ctrl_c_is_as_it_was(spark: SparkSession) -> None:
    before = signal.getsignal(signal.SIGINT)
    run(spark, "count", lambda: spark.range(1).count())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_somebody_has_set_is_left(spark: SparkSession) -> None:
    pressed = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:

        def work() -> int:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
            return 1

        assert run(spark, "work", work) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]


def test_a_handler_of_somebody_that_raises_cancels_the_work_too(
    spark: SparkSession, interrupt_after: Callable[[float], threading.Timer]
) -> None:
    def raising(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, raising)
    try:
        timer = interrupt_after(0.5)
        with pytest.raises(KeyboardInterrupt):
            run(spark, "endless", lambda: endless(spark))
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert spark.range(5).count() == 5


def test_work_runs_from_any_thread(spark: SparkSession) -> None:
    answers = list[int]()
    threads = [
        threading.Thread(
            target=lambda count=count: answers.append(run(spark, "count", lambda: spark.range(count).count()))
        )
        for count in (3, 5)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(answers) == [3, 5]


def test_stderr_of_tests_is_no_terminal() -> None:
    assert not progress.is_shown(sys.stderr)
