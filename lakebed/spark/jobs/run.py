"""Long work on a session: shown while it runs; Ctrl-C cancels its jobs and no others.

The work runs in a thread of its own while the caller waits. So Ctrl-C, which interrupts the main thread, never cuts
short a call to the JVM: py4j would take that call's late answer for the next call's (py4j 0.10.9). Spark's own handler,
which cancels all jobs of this process, is not involved.
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
"""Seconds after which jobs are cancelled again: work that was between two jobs has begun the next."""

_current_bar: ContextVar[Bar | None] = ContextVar("lakebed_running", default=None)
"""The bar of the work that a thread belongs to."""


def run(
    spark: SparkSession,
    what: str,
    work: Callable[[], T],
    *,
    goal: Goal | None = None,
    undo: Callable[[T], None] | None = None,
) -> T:
    """The result of the work; a bar on the terminal shows the progress of the jobs that it starts, Spark's UI `what`.

    Ctrl-C cancels its jobs, so that the work fails with Spark's error. The call waits for it, then raises
    `KeyboardInterrupt`; if the work had finished, `undo` gets its result. A second Ctrl-C ends the wait. Work inside of
    work belongs to the outer one. It may be called from any thread.
    """
    if _current_bar.get() is not None:
        return work()
    bar = Bar(what, goal or Goal())
    task = _Task(jobs_of(spark, f"lakebed-{uuid4()}", f"Lakebed: {what}"), work, bar)
    interrupts = _Interrupts(task.wake)
    with _handle_ctrl_c(interrupts):
        task.start(spark)
        try:
            _watch(task, interrupts, bar)
        except KeyboardInterrupt:  # from a handler that the application has set
            interrupts.count += 1
        _cancel(task, interrupts)
    if not interrupts.count:
        return task.result()
    if task.is_over and task.error is None and undo is not None:
        undo(task.result())
    raise KeyboardInterrupt from task.error


def expect_files(files: Sequence[DataFileRef]) -> None:
    """Let the current bar measure progress by the files that the work will read."""
    bar = _current_bar.get()
    if bar is not None:
        rows, size = sum(file.num_rows for file in files), sum(file.file_size for file in files)
        bar.set_goal(Goal(len(files), rows, size))


class _Task(Generic[T]):
    """Work in a thread of its own; `wake` is set when it is over."""

    def __init__(self, jobs: Jobs, work: Callable[[], T], bar: Bar) -> None:
        self.jobs = jobs
        self.wake = threading.Event()
        self.error: BaseException | None = None
        self._work = work
        self._bar = bar
        self._results: list[T] = []
        self._over = threading.Event()

    def start(self, spark: SparkSession) -> None:
        context = copy_context()
        inherited = inheritable_thread_target(spark)
        run = functools.partial(context.run, self._run)
        # Without a JVM thread for each Python thread (PYSPARK_PIN_THREAD), Spark 4.0 returns the session.
        target = inherited(run) if callable(inherited) else run
        # A daemon: after a second Ctrl-C nobody waits for it, and the process may end.
        threading.Thread(target=target, name="lakebed work", daemon=True).start()

    def _run(self) -> None:
        _current_bar.set(self._bar)
        try:
            with self.jobs.tagged():
                self._results.append(self._work())
        except BaseException as error:
            self.error = error
        self._over.set()
        self.wake.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> None:
        """Wait until it is over, or `wake` is set."""
        self.wake.wait(seconds)

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self._results[0]


class _Interrupts:
    """A signal handler that counts how often Ctrl-C was pressed."""

    def __init__(self, wake: threading.Event) -> None:
        self.count = 0
        self._wake = wake

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._wake.set()


def _watch(task: _Task[T], interrupts: _Interrupts, bar: Bar) -> None:
    """Wait until the work is over or Ctrl-C is pressed."""
    with bar:
        while not task.is_over and not interrupts.count:
            task.wait(PERIOD)
            if not task.is_over:
                bar.draw(task.jobs.counts)


def _cancel(task: _Task[T], interrupts: _Interrupts) -> None:
    """Cancel the work's jobs until it is over, or until Ctrl-C is pressed once more."""
    before = interrupts.count
    while not task.is_over and interrupts.count == before:
        task.wake.clear()
        task.jobs.cancel()
        task.wait(CANCEL_PERIOD)


@contextmanager
def _handle_ctrl_c(interrupts: _Interrupts) -> Iterator[None]:
    """Handle Ctrl-C in the main thread, unless the application has a handler of its own."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_usual(before):
        yield
        return
    signal.signal(signal.SIGINT, interrupts)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_usual(handler: object) -> bool:
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") == "pyspark.core.context"
