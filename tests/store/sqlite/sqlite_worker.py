"""What the tests of the embedded store run in processes of their own: python sqlite_worker.py <task> <path> ..."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import apsw

from lakebed.errors import Invalid, LakebedError, OutcomeUnknown, Unavailable
from lakebed.store import KeyRange, SQLiteStore, Stale, Store, Transaction, limits
from lakebed.store.sqlite import file, fork_gate
from lakebed.store.sqlite import store as sqlite
from lakebed.store.sqlite.checksums import checksummed_vfs

EVERYTHING = KeyRange(b"", b"\xff")


def state(store: Store) -> dict[bytes, bytes]:
    return store.read(lambda transaction: dict(transaction.get_range(EVERYTHING).entries))


def say(text: object) -> None:
    print(text, flush=True)


def add_one(*keys: bytes) -> Callable[[Transaction], None]:
    def work(transaction: Transaction) -> None:
        for key, value in zip(keys, transaction.get_many(keys), strict=True):
            transaction.set(key, b"%d" % (int(value or b"0") + 1))

    return work


# Many writers


def increment(path: str, count: str) -> None:
    """Add one to the total and to one of three counters, many times."""
    with SQLiteStore(path) as store:
        say("ready")
        sys.stdin.readline()
        for _ in range(int(count)):
            store.run(add_one(b"total", random.choice([b"x", b"y", b"z"])))


def acknowledge(path: str, name: str) -> None:
    """Write two keys that agree, say so when they are committed, and again, until killed."""
    first, second = f"{name}/first".encode(), f"{name}/second".encode()
    with SQLiteStore(path) as store:
        while True:
            store.run(add_one(first, second))
            found = state(store)
            for key in found:
                assert found[key] == found[key.replace(b"first", b"second")], found
            say(int(found[first]))


def stop_in_commit(path: str) -> None:
    """Stop in front of COMMIT, with every lock held."""

    def stop(connection: apsw.Connection) -> None:
        say("stopping")
        os.kill(os.getpid(), signal.SIGSTOP)

    sqlite._end = stop
    with SQLiteStore(path) as store:
        store.run(lambda transaction: transaction.set(b"stopped", b"1"))


def create(path: str) -> None:
    """Open a path at the same time as others."""
    say("ready")
    sys.stdin.readline()
    with SQLiteStore(path) as store:
        store.run(add_one(b"total"))


def crash_in_creation(path: str, calls: str) -> None:
    """Die at one of the calls that make a database; say so if there are not that many."""
    left = int(calls)

    class Connection(apsw.Connection):
        def execute(self, *arguments: object, **options: object) -> apsw.Cursor:
            self._count()
            return super().execute(*arguments, **options)

        def pragma(self, *arguments: object, **options: object) -> object:
            self._count()
            answer = super().pragma(*arguments, **options)
            self._count()
            return answer

        def __exit__(self, *arguments: object) -> object:
            self._count()
            return super().__exit__(*arguments)

        def _count(self) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)

    file.apsw.Connection = Connection
    SQLiteStore(path)
    say("made")


# Forks


def child(work: Callable[[], object]) -> int:
    """Run `work` in a forked child, which ends as a program does."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def wait(*pids: int) -> None:
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"a child ended with {status}"


def fork_and_go_on(path: str) -> None:
    """Parent and children commit through one store object; the parent closes it first."""
    store = SQLiteStore(path)
    store.run(add_one(b"total"))
    go, gone = os.pipe()

    def work() -> None:
        for _ in range(20):
            store.run(add_one(b"total"))
        os.close(gone)
        os.read(go, 1)  # until the parent has closed
        for _ in range(20):
            store.run(add_one(b"total"))

    pids = [child(work) for _ in range(3)]
    for _ in range(20):
        store.run(add_one(b"total"))
    store.close()
    os.close(gone)
    wait(*pids)


def fork_with_a_snapshot(path: str) -> None:
    """A transaction is open when its process forks."""
    store = SQLiteStore(path)
    store.run(add_one(b"total"))
    tries = 0

    def work(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        assert transaction.get(b"total") == b"1"
        if tries == 1:
            blind = store.begin()
            blind.set(b"blind", b"1")
            wait(child(lambda: refused(transaction, blind)))
            blind.commit()
        assert transaction.get(b"total") == b"1"
        transaction.set(b"parent", b"1")

    def refused(*carried: Transaction) -> None:
        for transaction in carried:
            for call in (lambda t=transaction: t.get(b"total"), transaction.commit):
                try:
                    call()
                except Invalid as error:
                    assert "fork" in str(error), error
                else:
                    raise AssertionError("a transaction was used on both sides of a fork")
            transaction.close()
        store.run(lambda transaction: transaction.set(b"child", b"1"))
        store.close()

    store.run(work)
    assert tries == 2, tries  # the snapshot did not outlive the fork, and `run` took another
    assert state(store) == {b"total": b"1", b"blind": b"1", b"parent": b"1", b"child": b"1"}, state(store)


def fork_beside_threads(path: str) -> None:
    """Threads commit while their process forks again and again, and the children commit too."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside other threads: that is what is tested
    store = SQLiteStore(path)
    done = threading.Event()
    counts = [0, 0]

    def work(number: int) -> None:
        while not done.is_set():
            store.run(add_one(b"total"))
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        wait(child(lambda: store.run(add_one(b"total"))))
    done.set()
    for thread in threads:
        thread.join()
    assert int(state(store)[b"total"]) == 20 + sum(counts), (state(store), counts)


def fork_after_the_folder_went(path: str) -> None:
    """The child of a process whose database is gone is told so."""
    store = SQLiteStore(path)
    store.run(add_one(b"total"))
    subprocess.run(["rm", "-r", str(Path(path).parent)], check=True)

    def work() -> None:
        try:
            store.run(add_one(b"total"))
        except Unavailable:
            return
        raise AssertionError("a commit went nowhere")

    wait(child(work))


def fork_inside(path: str) -> None:
    """A thread does not leave SQLite in time; its child does not go near it."""
    fork_gate.PATIENCE = 0.05
    store = SQLiteStore(path)
    store.run(add_one(b"total"))

    def work() -> None:
        for call in (lambda: store.run(add_one(b"total")), lambda: SQLiteStore(path)):
            try:
                call()
            except Unavailable as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError("SQLite was used where it can't be")

    with store._file.borrowed_connection():
        wait(child(work))
    store.run(add_one(b"total"))
    assert state(store) == {b"total": b"2"}


# Bad disks


def fill(path: str) -> None:
    """Fill a small disk, make room, and go on."""
    folder = Path(path).parent
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(300_000))
    store = SQLiteStore(path)
    written: dict[bytes, bytes] = {}
    for number in range(1000):
        key, value = b"%d" % number, bytes(20_000)
        try:
            store.run(lambda transaction, k=key, v=value: [transaction.set(k, v), transaction.set(k + b"/", v)])
        except Unavailable as error:
            assert "full" in str(error), error
            break
        written |= {key: value, key + b"/": value}
    else:
        raise AssertionError("the disk never got full")
    assert state(store) == written
    ballast.unlink()
    store.run(lambda transaction: transaction.set(b"more", b"1"))
    assert state(store) == written | {b"more": b"1"}
    store.close()
    assert state(SQLiteStore(path)) == written | {b"more": b"1"}
    say("full, and usable again")


def fail(path: str, operation: str, after: str, times: str) -> None:
    """Let writes or syncs of the WAL fail during one commit, say how it ended, and die."""
    left = {"skip": 0, "fail": 0}

    class File(apsw.VFSFile):
        def __init__(self, name: object, flags: list[int]) -> None:
            self.is_wal = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
            super().__init__("unix", name, flags)

        def xSync(self, flags: int) -> None:
            self._fail("sync")
            super().xSync(flags)

        def xWrite(self, data: bytes, offset: int) -> None:
            self._fail("write")
            super().xWrite(data, offset)

        def _fail(self, what: str) -> None:
            if not (self.is_wal and what == operation and left["fail"]):
                return
            if left["skip"]:
                left["skip"] -= 1
                return
            left["fail"] -= 1
            raise apsw.IOError("made to fail")

    class FaultyDisk(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("faulty", "unix", makedefault=True)

        def xOpen(self, name: object, flags: list[int]) -> File:
            return File(name, flags)

    disk = FaultyDisk()
    store = SQLiteStore(path)
    store.run(lambda transaction: [transaction.set(key, b"before") for key in (b"first", b"second")])
    left.update(skip=int(after), fail=int(times))
    try:
        store.run(lambda transaction: [transaction.set(key, b"after") for key in (b"first", b"second")])
        say("committed")
    except LakebedError as error:
        assert isinstance(error, Unavailable | OutcomeUnknown), error
        say(error.kind)
    left.update(fail=0)
    say(state(store)[b"first"].decode())
    del disk
    os._exit(0)  # without closing, so that what the WAL holds is recovered


def be_nobody(path: str) -> None:
    """Use a database without the right to."""
    checksummed_vfs()  # nobody may not even read where Python is
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        SQLiteStore(path).run(lambda transaction: transaction.set(b"a", b"1"))
    except LakebedError as error:
        say(error.kind)
    else:
        say("written")


# Others


def obey(path: str) -> None:
    """Do what is asked, line by line, and say how it ended."""
    try:
        store = SQLiteStore(path)
    except LakebedError as error:
        say(error.kind)
        return
    for line in sys.stdin:
        try:
            say(_done(store, *line.split()))
        except LakebedError as error:
            say(error.kind)


def _done(store: Store, what: str, key: str = "") -> object:
    if what == "count":
        return len(state(store))
    if what == "put":
        store.run(lambda transaction: transaction.set(key.encode(), b"1"))
    if what == "copy":
        for file in Path(key).parent.iterdir():
            file.read_bytes()
    if what == "close":
        store.close()
    return "done"


# Copies


def write_for_ever(path: str) -> None:
    """Write the number of the commit to keys all over the file, until killed."""
    with SQLiteStore(path) as store:
        for number in itertools.count(1):
            values = {b"x%d" % key: b"%09d" % number for key in range(20)} | {b"k%09d" % number: os.urandom(300)}
            store.run(lambda transaction, values=values: [transaction.set(*entry) for entry in values.items()])
            if number == 100:
                say("writing")


# Readers


def abandon_a_reader(path: str, seconds: str) -> None:
    """Begin to read and do nothing more."""
    limits.TRANSACTION_SECONDS = float(seconds)
    store = SQLiteStore(path)
    transaction = store.begin()
    transaction.get(b"a")
    say("reading")
    sys.stdin.readline()
    with contextlib.suppress(Stale, LakebedError):
        transaction.get(b"a")
        say("still reading")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
