"""The jobs of one piece of work: marked by a tag, counted, and cancelled.

In a session in this process they are found by the context's tags: `SparkSession.interruptTag` finds only the jobs of
the calling thread (Spark 4.3). How much was read and written is in the status store, which has no public Python API:
this is the one place where Lakebed looks behind PySpark.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields
from threading import Lock
from time import monotonic, sleep
from typing import Any, Final, Protocol, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.spark.session import check_running, is_remote

DESCRIPTION: Final = "spark.job.description"
"""The property of a thread that Spark's UI shows for its jobs."""

SETTLING_PERIOD: Final = 0.05
"""Seconds between two looks at tasks that were asked to stop."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The progress of jobs: their tasks, and what these have read and written so far."""

    tasks: int = 0
    tasks_done: int = 0
    rows_read: int = 0
    bytes_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


class Jobs(Protocol):
    """The jobs that a thread starts while they are `tagged`."""

    def tagged(self) -> AbstractContextManager[None]: ...

    def counts(self) -> Counts: ...

    def cancel(self) -> None: ...

    def settle(self, seconds: float) -> bool:
        """Wait at most that long until no task of finished jobs runs any more; whether that is so."""
        ...


def jobs_of(spark: SparkSession, tag: str, description: str | None = None) -> Jobs:
    """The jobs of a tag, which no other work has. Spark's UI shows the description; over Connect there is none."""
    check_running(spark)
    return ConnectJobs(spark, tag) if is_remote(spark) else ClassicJobs(spark.sparkContext, tag, description)


class ClassicJobs:
    """Jobs of a session in this process."""

    def __init__(self, context: SparkContext, tag: str, description: str | None = None) -> None:
        self._context = context
        self._tag = tag
        self._description = description
        self._over: dict[int, Counts] = {}

    @contextmanager
    def tagged(self) -> Iterator[None]:
        self._context.addJobTag(self._tag)
        try:
            with self._described():
                yield
        finally:
            self._context.removeJobTag(self._tag)

    @contextmanager
    def _described(self) -> Iterator[None]:
        """Describe the jobs, behind what the caller has said of them; that is there again afterwards."""
        if self._description is None:
            yield
            return
        before = self._context.getLocalProperty(DESCRIPTION)
        described = self._description if before is None else f"{before} · {self._description}"
        self._context.setLocalProperty(DESCRIPTION, described)
        try:
            yield
        finally:
            self._context.setLocalProperty(DESCRIPTION, cast(str, before))  # None removes it

    def cancel(self) -> None:
        self._context.cancelJobsWithTag(self._tag)

    def settle(self, seconds: float) -> bool:
        # Spark fails a job at once, and asks its other tasks to stop. Tasks that run Python go on for a while.
        until = monotonic() + seconds
        while self._is_busy():
            if monotonic() > until:
                return False
            sleep(SETTLING_PERIOD)
        return True

    def _is_busy(self) -> bool:
        # The store learns that a job is over after it learned of all tasks that the job had started.
        with suppress(Py4JError, PySparkException, AttributeError):  # as in `counts`
            for job in self._context._jsc.sc().statusTracker().getJobIdsForTag(self._tag):
                info = self._context.statusTracker().getJobInfo(job)
                if info is not None and (info.status == "RUNNING" or any(map(self._active_tasks, info.stageIds))):
                    return True
        return False

    def _active_tasks(self, stage: int) -> int:
        data = self._attempt(stage)
        return 0 if data is None else cast(int, data.numActiveTasks())

    def counts(self) -> Counts:
        """The sum over all jobs; a running task counts as of its executor's last heartbeat."""
        found = Counts()
        # The work must not fail because Spark has dropped these counts, or a version keeps them elsewhere.
        with suppress(Py4JError, PySparkException, AttributeError):
            for job in self._context._jsc.sc().statusTracker().getJobIdsForTag(self._tag):
                found += self._job(job)
        return found

    def _job(self, job: int) -> Counts:
        if job in self._over:
            return self._over[job]
        info = self._context.statusTracker().getJobInfo(job)
        if info is None:
            return Counts()
        found = sum((self._stage(stage) for stage in info.stageIds), Counts())
        if info.status != "RUNNING":
            self._over[job] = found
        return found

    def _stage(self, stage: int) -> Counts:
        data = self._attempt(stage)
        if data is None or data.status().toString() == "SKIPPED":
            return Counts()
        return Counts(
            data.numTasks(),
            data.numCompleteTasks(),
            data.inputRecords(),
            data.inputBytes(),
            data.outputRecords(),
            data.outputBytes(),
        )

    def _attempt(self, stage: int) -> Any:
        """The store's data on a stage's last attempt; None if it has not begun, or was dropped."""
        try:
            return self._context._jsc.sc().statusStore().lastStageAttempt(stage)
        except (Py4JError, PySparkException):
            return None


class ConnectJobs:
    """Jobs of a session on a server, which reports tasks and bytes read, by operation."""

    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark = spark
        self._tag = tag
        self._operations: dict[str | None, Counts] = {}
        self._lock = Lock()

    @contextmanager
    def tagged(self) -> Iterator[None]:
        handler = cast(Any, self._note)
        self._spark.addTag(self._tag)
        self._spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            self._spark.removeProgressHandler(handler)
            self._spark.removeTag(self._tag)

    def cancel(self) -> None:
        self._spark.interruptTag(self._tag)

    def settle(self, seconds: float) -> bool:
        return True  # a server reports nothing about operations that are over

    def counts(self) -> Counts:
        with self._lock:
            return sum(self._operations.values(), Counts())

    def _note(self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        # From all threads of the session: an operation does not say which tags it has.
        counts = [Counts(stage.num_tasks, stage.num_completed_tasks, 0, stage.num_bytes_read) for stage in stages or ()]
        with self._lock:
            self._operations[operation_id] = sum(counts, Counts())
