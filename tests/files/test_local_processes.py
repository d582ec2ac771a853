"""A local folder under other processes: many at once, killed ones, ones without rights, ones on a full disk."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lakebed.errors
from lakebed.files import LocalFiles

HOME = str(Path(lakebed.errors.__file__).parent.parent)


def start(script: str, *arguments: object, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*before, sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": HOME},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(script: str, *arguments: object, before: tuple[str, ...] = ()) -> str:
    process = start(script, *arguments, before=before)
    answer, _ = process.communicate()
    assert process.returncode == 0
    return answer


RACE = """
import sys
from lakebed.errors import AlreadyExists
from lakebed.files import LocalFiles

files, me = LocalFiles(sys.argv[1]), sys.argv[2].encode()
print("ready", flush=True)
sys.stdin.readline()
for turn in range(int(sys.argv[3])):
    try:
        files.put_if_absent(f"race/{turn % 7}/{turn}", [me * 3000] * 5)
    except AlreadyExists:
        continue
    print(turn)
"""


def test_of_8_processes_that_put_one_path_exactly_one_wins(tmp_path: Path) -> None:
    racers = [start(RACE, tmp_path, me, 200) for me in range(8)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    winners: dict[int, list[int]] = {}
    for me, racer in enumerate(racers):
        answer, _ = racer.communicate()
        assert racer.returncode == 0
        for turn in map(int, answer.split()):
            winners.setdefault(turn, []).append(me)
    files = LocalFiles(tmp_path)
    assert sorted(winners) == list(range(200))
    for turn, (winner, *others) in winners.items():
        assert others == []
        assert files.read(f"race/{turn % 7}/{turn}") == str(winner).encode() * 15_000
    assert not list(tmp_path.rglob(".tmp-*"))


# Each file says what it should be, and each acknowledgement comes after the call returned.
WRITER = """
import hashlib, itertools, sys
from lakebed.files import LocalFiles

files = LocalFiles(sys.argv[1])
for n in itertools.count(int(sys.argv[2])):
    body = b"%d " % n + bytes([n % 251]) * 300_000
    whole = [hashlib.sha256(body).digest(), body[:100_000], body[100_000:]]
    files.put_if_absent(f"log/{n % 5}/{n:08}", whole)
    print("log", n, flush=True)
    files.put("head", whole)
    print("head", n, flush=True)
"""


def number_in(content: bytes) -> int:
    """The number of a whole file of the writer; a part of one fails."""
    digest, body = content[:32], content[32:]
    assert hashlib.sha256(body).digest() == digest
    return int(body.split(b" ", 1)[0])


def killed_writer(root: Path, first: int, chance: random.Random) -> list[tuple[str, int]]:
    """What a writer acknowledged before it was killed at a random moment."""
    with start(WRITER, root, first) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline() for _ in range(chance.randrange(1, 8))]
        time.sleep(chance.random() * 0.01)
        writer.kill()
        rest = writer.stdout.read()  # not communicate(): it would lose the lines that readline() has read ahead
    # The last line may be torn, and is then no acknowledgement.
    lines = "".join([*acknowledged, rest]).rpartition("\n")[0].splitlines()
    return [(what, int(n)) for what, n in map(str.split, lines)]


def test_a_killed_writer_leaves_whole_files_and_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    files, chance = LocalFiles(tmp_path), random.Random(20)
    logged: set[int] = set()
    head = -1
    for _ in range(20):
        first = max((number_in(files.read(info.path)) for info in files.list("log/")), default=-1) + 1
        acknowledged = killed_writer(tmp_path, first, chance)
        assert acknowledged
        logged |= {n for what, n in acknowledged if what == "log"}
        head = max([head, *(n for what, n in acknowledged if what == "head")])

        found = {info.path: files.read(info.path) for info in files.list()}
        seen = {number_in(content) for path, content in found.items() if path.startswith("log/")}
        assert {f"log/{n % 5}/{n:08}" for n in seen} == found.keys() - {"head"}
        assert logged <= seen
        assert len(seen) <= max(logged) + 2  # at most one more than was acknowledged, and numbers begin at 0
        if head >= 0:
            assert number_in(found["head"]) >= head
    files.sweep_temporaries(0)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == found.keys()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach: pytest's own are for their owner alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


WITHOUT_RIGHTS = """
import os, sys
from lakebed.errors import LakebedError
from lakebed.files import LocalFiles

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)

def create():
    with files.create("b"):
        pass

files = LocalFiles(sys.argv[1])
for work in (
    lambda: files.put("a", b"new"),
    lambda: files.put("below/a", b"new"),
    lambda: files.put_if_absent("b", b"new"),
    create,
    lambda: files.delete("a"),
    lambda: files.read("locked/a"),
    lambda: files.head("locked/a"),
    lambda: list(files.list()),
    lambda: files.sync(["private"]),
    lambda: LocalFiles(sys.argv[1] + "/new"),
    lambda: LocalFiles(sys.argv[1] + "/locked/new"),
):
    try:
        work()
        print("done")
    except LakebedError as error:
        print(error.kind, error.subject.removeprefix(sys.argv[1]), error.found.split(":")[0])
print(files.read("a").decode())
"""


def test_a_folder_without_rights_is_forbidden_and_stays_as_it_is(open_folder: Path) -> None:
    files = LocalFiles(open_folder)
    for path in ("a", "private", "locked/a"):
        files.put(path, b"old")
    (open_folder / "a").chmod(0o644)
    (open_folder / "private").chmod(0o000)
    (open_folder / "locked").chmod(0o000)
    open_folder.chmod(0o555)
    try:
        answer = run(WITHOUT_RIGHTS, open_folder)
    finally:  # or the folder could not be removed
        open_folder.chmod(0o755)
        (open_folder / "locked").chmod(0o755)
    assert answer.splitlines() == [
        "forbidden a EACCES",
        "forbidden below/a EACCES",
        "forbidden b EACCES",
        "forbidden b EACCES",
        "forbidden a EACCES",
        "forbidden locked/a EACCES",
        "forbidden locked/a EACCES",
        "forbidden locked/ EACCES",
        "forbidden private EACCES",
        "forbidden /new EACCES",
        "forbidden /locked/new EACCES",
        "old",
    ]
    assert sorted(info.path for info in files.list()) == ["a", "locked/a", "private"]


ON_A_SMALL_DISK = """
import os, subprocess, sys
from lakebed.errors import LakebedError
from lakebed.files import LocalFiles

root = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "small", root], check=True)
files = LocalFiles(root)
files.put("a", b"old")

def create():
    with files.create("b") as file:
        for _ in range(100):
            file.write(bytes(10_000))

def create_small_pieces():
    with files.create("b") as file:
        file.write(bytes(200_000))
        file.flush()
        file.write(bytes(100_000))  # stays in the buffer until the end

for work in (
    lambda: files.put("a", bytes(1_000_000)),
    lambda: files.put_if_absent("b", [bytes(10_000)] * 100),
    create,
    create_small_pieces,
):
    try:
        work()
        print("done")
    except LakebedError as error:
        print(error.kind, error.subject, error.problem, error.found.split(":")[0])
    print(sorted(os.listdir(root)), files.read("a"))
files.put("b", bytes(100_000))
subprocess.run(["mount", "-o", "remount,ro", root], check=True)
try:
    files.put("a", b"new")
except LakebedError as error:
    print(error.kind, error.found.split(":")[0])
"""


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = subprocess.run(
                ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "small", folder], capture_output=True
            )
        except FileNotFoundError:
            return False
    return tried.returncode == 0


def test_a_full_disk_is_unavailable_and_keeps_what_it_has(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("a small disk needs `unshare -m mount -t tmpfs`: run the tests as root on Linux")
    answer = run(ON_A_SMALL_DISK, tmp_path, before=("unshare", "-m"))
    full = [
        "unavailable a the disk is full ENOSPC",
        "unavailable b the disk is full ENOSPC",
        "unavailable b the disk is full ENOSPC",
        "unavailable b the disk is full ENOSPC",
    ]
    kept = "['a'] b'old'"
    assert answer.splitlines() == [line for each in full for line in (each, kept)] + ["forbidden EROFS"]
