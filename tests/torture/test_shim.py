"""The shim does what it says: else the attacks by faults and clocks would attack nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture.shim import built, compiler

ROOT = Path(__file__).parent.parent.parent

PROBE = """
import errno, os, sys, time
from pathlib import Path
from torture.shim import Call, Fault, Mode, failing, move_clock, seen

folder = Path(sys.argv[1])
file = os.open(folder / "file", os.O_WRONLY | os.O_CREAT)
def outcome(call):
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno]
with failing(folder, Fault(Call.WRITE, 1, 1, errno.EIO)):
    print([outcome(lambda: os.write(file, b"1234")) for _ in range(3)], seen().failed, Path(seen().path).name)
with failing(folder, Fault(Call.WRITE, 0, 1, errno.ENOSPC, Mode.SHORT)):
    print(outcome(lambda: os.write(file, b"1234")), os.path.getsize(folder / "file"))
with failing(folder, Fault(Call.SYNC | Call.RENAME | Call.MKDIR | Call.OPEN | Call.UNLINK, 0, -1, errno.EIO)):
    print(outcome(lambda: os.fsync(file)), outcome(lambda: os.fdatasync(file)))
    print(outcome(lambda: os.rename(folder / "file", folder / "other")), outcome(lambda: os.mkdir(folder / "made")))
    print(outcome(lambda: (folder / "new").touch()), outcome(lambda: os.unlink(folder / "file")))
    print(outcome(lambda: (folder / "file").read_bytes()), seen().calls[Call.SYNC])
with failing(folder / "elsewhere", Fault(Call.WRITE, 0, -1, errno.EIO)):
    print(outcome(lambda: os.write(file, b"1234")))
before, monotonic = time.time(), time.monotonic()
move_clock(3600)
print(round((time.time() - before) / 60), round(time.monotonic() - monotonic))
"""


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler (cc, gcc or clang) to build the shim with")
def test_calls_fail_where_they_are_told_to_and_the_clock_moves(tmp_path):
    words = [sys.executable, "-c", PROBE, str(tmp_path.resolve())]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LD_PRELOAD": str(built(tmp_path))}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines() == [
        "[4, 'EIO', 4] 1 file",
        "2 10",
        "EIO EIO",
        "EIO EIO",
        "EIO EIO",
        "b'1234123412' 2",
        "4",
        "60 0",
    ], ran.stderr
