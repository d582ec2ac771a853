"""Forks beside other threads: nothing that a thread of the parent held keeps the child waiting."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import lakebed
from lakebed import forks
from lakebed.arrow.read.ahead import in_threads
from lakebed.caches import Recent, SingleFlight, remembered
from lakebed.errors import Invalid
from tests.fork_worker import in_child, new_lake

WORKER = Path(__file__).parent / "fork_worker.py"

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def finish(task: str, *arguments: object) -> None:
    """Run one of the tasks of fork_worker.py to its good end."""
    root = str(Path(lakebed.__file__).parent.parent)
    ran = subprocess.run(
        [sys.executable, str(WORKER), task, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ran.returncode, ran.stdout) == (0, "ok\n"), ran.stderr


def test_a_fork_beside_a_first_append_does_not_hang_the_child() -> None:
    # What it did: the child waited for ever for the import lock of a thread that it does not have.
    finish("beside_first_appends", 3)


def test_a_fork_beside_imports_does_not_hang_the_child() -> None:
    finish("beside_imports_without_end", 15)


@pytest.mark.long
def test_many_forks_hang_no_child() -> None:
    finish("beside_first_appends", 100)
    finish("beside_imports_without_end", 3000)
    finish("beside_readers_and_writers", 20)


@pytest.mark.long
def test_a_fork_does_not_wait_for_a_program_that_runs_inside_an_import(tmp_path: Path) -> None:
    finish("beside_a_program_that_is_an_import", tmp_path)


def beside(busy: Callable[[threading.Event, threading.Event], object], work: Callable[[], object]) -> int:
    """How a child ended that did the work, forked while a thread was busy between two events."""
    begun, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=busy, args=(begun, over))
    thread.start()
    begun.wait()
    try:
        return in_child(work)
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("make", [forks.lock, forks.recursive_lock])
def test_a_lock_that_a_thread_held_is_free_in_the_child(make: Callable[[], threading.Lock]) -> None:
    lock = make()

    def hold(begun: threading.Event, over: threading.Event) -> None:
        with lock:
            begun.set()
            over.wait()

    def work() -> None:
        assert lock.acquire(timeout=1)
        lock.release()

    assert beside(hold, work) == 0
    assert lock.acquire(timeout=1)
    lock.release()


def test_a_value_that_a_thread_was_loading_is_loaded_again_in_the_child() -> None:
    # What it did: the child waited for ever for the load of a thread that it does not have.
    cache = SingleFlight[int](1000, lambda _: 1)

    def load(begun: threading.Event, over: threading.Event) -> int:
        begun.set()
        over.wait()
        return 1

    def work() -> None:
        assert cache.get("key", lambda: 2) == 2
        assert cache.get("key", lambda: 3) == 2

    assert beside(lambda begun, over: cache.get("key", lambda: load(begun, over)), work) == 0
    assert cache.get("key", lambda: 4) == 1
    assert cache.counts().values == 1


def test_a_property_that_a_thread_was_computing_is_computed_in_the_child() -> None:
    # What it did: in Python 3.11 one lock is held while a cached_property is computed, for all objects of a class.
    class Slow:
        def __init__(self, compute: Callable[[], int]) -> None:
            self.compute = compute

        @remembered
        def value(self) -> int:
            """What it computes."""
            return self.compute()

    def compute(begun: threading.Event, over: threading.Event) -> int:
        begun.set()
        over.wait()
        return 1

    def work() -> None:
        assert Slow(lambda: 2).value == 2

    assert beside(lambda begun, over: Slow(lambda: compute(begun, over)).value, work) == 0
    slow = Slow(iter([3, 4]).__next__)
    assert slow.value == slow.value == 3
    assert Slow.value.__doc__ == "What it computes."


def test_the_most_recent_values_are_kept_in_a_child() -> None:
    recent = Recent[str, int](2)
    recent.put("a", 1)
    assert in_child(lambda: os._exit(0 if recent.get("a") == 1 else 5)) == 0


def test_a_transaction_is_refused_in_a_forked_process_and_the_parent_s_files_stay() -> None:
    # What it did: the child's end of the `with` deleted the files that the parent then committed.
    with new_lake() as main:
        main.create_table("files", {"id": "long"}, properties={"write.inline-bytes": "0"})
        with main.transaction() as transaction:
            transaction.table("files").append([{"id": 1}])

            def work() -> None:
                with pytest.raises(Invalid, match="forked process"):
                    transaction.table("files").append([{"id": 2}])
                with pytest.raises(Invalid, match="forked process"):
                    transaction._open.commit()
                transaction._open.close()

            assert in_child(work) == 0
        assert main.table("files").scan().to_arrow().to_pylist() == [{"id": 1}]


def test_a_scan_is_not_continued_in_a_forked_process() -> None:
    # What it did: the child waited for ever for the parent's threads.
    results = in_threads(lambda task: [task], range(100))
    assert next(results) == 0

    def work() -> None:
        with pytest.raises(Invalid, match="forked process"):
            next(results)

    assert in_child(work) == 0
    assert list(results) == list(range(1, 100))
