"""Processes that fork, for test_forks.py. Each prints `ok` if all children ended well."""

import faulthandler
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lakebed
from lakebed import Catalog

CHILD_SECONDS = 30  # a child that takes longer hangs
ENGINE = "lakebed.arrow"

warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about forks beside threads


@contextmanager
def new_lake() -> Iterator[Catalog]:
    with tempfile.TemporaryDirectory() as folder, lakebed.connect(folder) as lake:
        main = lake.catalog()
        main.create_table("t", {"id": "long"})
        yield main


def in_child(work: Callable[[], object]) -> int:
    """How a forked child ended that did the work: 0, or 1 after an error or if it hung; the reason is on stderr."""
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forget_the_engine() -> None:
    """Let the next append load the engine again, as the first append of a process does."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "lakebed" and name.startswith(ENGINE)]:
        del sys.modules[name]
    package = sys.modules["lakebed"]
    if hasattr(package, "arrow"):
        del package.arrow


def beside_first_appends(rounds: str) -> None:
    chance = random.Random(16)
    with new_lake() as main:
        table = main.table("t")
        for number in range(int(rounds)):
            forget_the_engine()
            thread = threading.Thread(target=table.append, args=([{"id": number}],))
            thread.start()
            time.sleep(chance.uniform(0, 0.05))
            ended = in_child(lambda: table.append([{"id": -1}]))
            thread.join()
            assert ended == 0, f"round {number}: {ended}"
        assert table.scan().to_arrow().num_rows == 2 * int(rounds)


def beside_imports_without_end(rounds: str) -> None:
    """Fork while another thread loads the engine over and over: the smallest gap between two imports counts."""
    chance, over = random.Random(16), threading.Event()

    def load() -> None:
        while not over.is_set():
            forget_the_engine()
            __import__("lakebed.arrow.read.ahead")
            time.sleep(chance.uniform(0, 0.004))

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for number in range(int(rounds)):
            ended = in_child(lambda: __import__("lakebed.arrow.read.ahead"))
            assert ended == 0, f"round {number}: {ended}"
    finally:
        over.set()
        thread.join()


def beside_a_program_that_is_an_import(folder: str) -> None:
    """Fork while another thread imports a module that does not end: nobody waits for it."""
    Path(folder, "endless_program.py").write_text(
        "import fork_events\nfork_events.begun.set()\nfork_events.over.wait()\n"
    )
    Path(folder, "fork_events.py").write_text("import threading\nbegun, over = threading.Event(), threading.Event()\n")
    sys.path.insert(0, folder)
    import fork_events  # type: ignore[import-not-found]

    thread = threading.Thread(target=__import__, args=("endless_program",))
    with new_lake() as main:
        thread.start()
        fork_events.begun.wait()
        began = time.monotonic()
        assert in_child(lambda: main.table("t").append([{"id": 1}])) == 0
        assert time.monotonic() - began < 9
        fork_events.over.set()
        thread.join()


def beside_readers_and_writers(rounds: str) -> None:
    chance = random.Random(16)
    over = threading.Event()
    with new_lake() as main:
        files = main.create_table("files", {"id": "long", "text": "string"}, properties={"write.inline-bytes": "0"})
        rows = [{"id": number, "text": f"text {number}"} for number in range(500)]
        jobs = [
            lambda: main.table("t").append([{"id": 1}]),
            lambda: main.table("files").append(rows),
            lambda: main.table("files").scan(where="id > 100 and text like 'text%'").to_arrow(),
            lambda: main.table("t").checkpoint(),
        ]

        def repeat(job: Callable[[], object]) -> None:
            while not over.is_set():
                job()

        def work() -> None:
            main.table("t").append([{"id": 2}])
            files.append(rows)
            files.scan(where="id < 50").to_arrow()

        threads = [threading.Thread(target=repeat, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            for number in range(int(rounds)):
                time.sleep(chance.uniform(0, 0.03))
                ended = in_child(work)
                assert ended == 0, f"round {number}: {ended}"
        finally:
            over.set()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print("ok")
