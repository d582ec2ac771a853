"""Forks beside other threads: the child gets none of these threads, and all that they held stays held for ever.

So a fork waits for imports of what Lakebed loads when it is first used: a child would wait for ever for the import
lock of a thread that it does not have. And a child finds the locks of this module's `lock` free.
"""

import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from types import FrameType
from weakref import WeakSet

PATIENCE = 60.0
"""Seconds that a fork waits for imports. Loading pandas takes half a second, and 12 beside four busy threads."""

_PACKAGES = frozenset(
    (
        *("apsw", "duckdb", "fastavro", "google", "lakebed", "numpy", "pandas"),
        *("polars", "py4j", "pyarrow", "pyspark", "sqlglot", "zoneinfo"),
    )
)
"""What Lakebed, or a library of its, loads when it is first used. A fork does not wait for other imports: one that runs
a whole program never ends."""

_locks: "WeakSet[threading.Lock]" = WeakSet()
_generation = 0


def lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever held it. What it guards has to be usable at any moment."""
    made = threading.Lock()
    _locks.add(made)
    return made


def recursive_lock() -> AbstractContextManager[bool]:
    """The same, for a thread that may take it again."""
    made = threading.RLock()
    _locks.add(made)  # type: ignore[arg-type]
    return made


def generation() -> int:
    """A number that only this process has among those that it was forked from, and that costs less than its id."""
    return _generation


def wait_for_imports() -> None:
    """Return when no other thread is loading one of these packages; after `PATIENCE` in any case.

    Another thread may begin an import before the fork: Python runs a few more functions until then. That was never seen
    (tests/test_forks.py), and holding Python's import lock meanwhile could block those functions.
    """
    deadline = time.monotonic() + PATIENCE
    while _others_import() and time.monotonic() < deadline:
        time.sleep(0.001)


def _others_import() -> bool:
    me = threading.get_ident()
    return any(thread != me and _imports(frame) for thread, frame in sys._current_frames().items())


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename == "<frozen importlib._bootstrap>":
            name = frame.f_locals.get("name")
            if isinstance(name, str) and name.partition(".")[0] in _PACKAGES:
                return True
        frame = frame.f_back
    return False


def _renew_locks() -> None:
    global _generation
    _generation += 1
    for held in list(_locks):
        held._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library renews its own


os.register_at_fork(before=wait_for_imports, after_in_child=_renew_locks)
