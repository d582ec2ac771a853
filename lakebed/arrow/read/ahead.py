"""Work done ahead by threads: Arrow decodes outside Python's lock, so that all processors read."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import TypeVar

from lakebed import forks
from lakebed.errors import Invalid

Task = TypeVar("Task")
Result = TypeVar("Result")

THREADS = min(8, cpu_count() or 1)
AHEAD = 2 * THREADS
"""How many results may wait: each is a row group at most."""


def in_threads(make: Callable[[Task], Sequence[Result]], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results of all tasks, in their order. A consumer that stops early stops them, too."""
    process = forks.generation()
    waiting: deque[Future[Sequence[Result]]] = deque()

    def first() -> Sequence[Result]:
        if process != forks.generation():  # the threads are the parent's, and would be waited for for ever
            raise Invalid("a scan can't be continued in a forked process", advice="Begin another one there.")
        return waiting.popleft().result()

    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lakebed-read")
    try:
        for task in tasks:
            waiting.append(pool.submit(make, task))
            if len(waiting) >= AHEAD:
                yield from first()
        while waiting:
            yield from first()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
