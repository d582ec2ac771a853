"""Long work on a session: shown while it runs, cancelled by Ctrl-C, and nothing else with it.

The work has a thread of its own, and whoever asked for it waits. So Ctrl-C, which ends whatever the main thread is at,
never ends a call to the JVM halfway: py4j would take that call's answer, when it comes, for the next call's (py4j
0.10.9). And Spark's own handler, which cancels the jobs of everybody in this process, has no part in it.
"""

import functools
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import Generic, TypeVar
from uuid import uuid4

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from lakebed.spark.jobs.jobs import Jobs, jobs_of
from lakebed.spark.jobs.progress import PERIOD, Bar, Goal
from lakebed.table.manifest.manifest_pb2 import DataFileRef

T = TypeVar("T")

CANCEL_PERIOD = 0.2
"""Seconds after which jobs are cancelled again: work that was between two of them has begun the next."""

_shown: ContextVar[Bar | None] = ContextVar("lakebed_running", default=None)
"""The bar of the work that a thread is part of."""


def run(
    spark: SparkSession,
    what: str,
    work: Callable[[], T],
    *,
    goal: Goal | None = None,
    undo: Callable[[T], None] | None = None,
) -> T:
    """What the work answers; the jobs that it starts are its own, and a bar on the terminal tells how far they are.

    After Ctrl-C its jobs are cancelled, the work gets Spark's error and is waited for, and `KeyboardInterrupt` is
    raised; if it was done by then, `undo` takes what it answered. Who presses it again does not wait. Work inside work
    is part of that. It may be called from any thread.
    """
    if _shown.get() is not None:
        return work()
    bar = Bar(what, goal or Goal())
    task = _Task(jobs_of(spark, f"lakebed-{uuid4()}"), work, bar)
    pressed = _Pressed(task.wake)
    with _ctrl_c(pressed):
        task.start(spark)
        try:
            _watch(task, pressed, bar)
        except KeyboardInterrupt:  # of a handler that somebody else has set
            pressed.times += 1
        _cancel(task, pressed)
    if not pressed.times:
        return task.answer()
    if task.is_over and task.error is None and undo is not None:
        undo(task.answer())
    raise KeyboardInterrupt from task.error


def aim(files: Sequence[DataFileRef]) -> None:
    """Let the bar of the work that this is part of go by the files that it has to read."""
    bar = _shown.get()
    if bar is not None:
        rows, size = sum(one.num_rows for one in files), sum(one.file_size for one in files)
        bar.aim(Goal(len(files), rows, size))


class _Task(Generic[T]):
    """Work in a thread of its own; `wake` is set when it is over."""

    def __init__(self, jobs: Jobs, work: Callable[[], T], bar: Bar) -> None:
        self.jobs = jobs
        self.wake = threading.Event()
        self.error: BaseException | None = None
        self._work = work
        self._bar = bar
        self._answers: list[T] = []
        self._over = threading.Event()

    def start(self, spark: SparkSession) -> None:
        context = copy_context()
        inherited = inheritable_thread_target(spark)
        run = functools.partial(context.run, self._run)
        # Without a thread of the JVM for each of Python's (PYSPARK_PIN_THREAD), Spark 4.0 gives the session back.
        target = inherited(run) if callable(inherited) else run
        # A daemon, since who has pressed twice has not waited for it, and the process may end.
        threading.Thread(target=target, name="lakebed work", daemon=True).start()

    def _run(self) -> None:
        _shown.set(self._bar)
        try:
            with self.jobs.tagged():
                self._answers.append(self._work())
        except BaseException as error:
            self.error = error
        self._over.set()
        self.wake.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> None:
        """Until it is over, or somebody wakes whoever waits."""
        self.wake.wait(seconds)

    def answer(self) -> T:
        if self.error is not None:
            raise self.error
        return self._answers[0]


class _Pressed:
    """How often Ctrl-C was pressed."""

    def __init__(self, wake: threading.Event) -> None:
        self.times = 0
        self._wake = wake

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.times += 1
        self._wake.set()


def _watch(task: _Task[T], pressed: _Pressed, bar: Bar) -> None:
    """Wait until the work is over or Ctrl-C is pressed."""
    with bar:
        while not task.is_over and not pressed.times:
            task.wait(PERIOD)
            if not task.is_over:
                bar.draw(task.jobs.counts)


def _cancel(task: _Task[T], pressed: _Pressed) -> None:
    """Cancel the jobs of work that is not over until it is, or until Ctrl-C is pressed once more."""
    before = pressed.times
    while not task.is_over and pressed.times == before:
        task.wake.clear()
        task.jobs.cancel()
        task.wait(CANCEL_PERIOD)


@contextmanager
def _ctrl_c(pressed: _Pressed) -> Iterator[None]:
    """Ctrl-C as a call, in the main thread, where nobody but Python and PySpark has a say in it."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_usual(before):
        yield
        return
    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_usual(handler: object) -> bool:
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") == "pyspark.core.context"
