"""Work done ahead by threads: Arrow decodes outside Python's lock, so that all processors read."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

THREADS = min(8, cpu_count() or 1)
AHEAD = 2 * THREADS
"""How many results may wait: each is a row group at most."""


def in_threads(make: Callable[[Task], Sequence[Result]], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results of all tasks, in their order. A consumer that stops early stops them, too."""
    waiting: deque[Future[Sequence[Result]]] = deque()
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lakebed-read")
    try:
        for task in tasks:
            waiting.append(pool.submit(make, task))
            if len(waiting) >= AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
