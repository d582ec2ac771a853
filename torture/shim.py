"""The shim that makes calls of the operating system fail and moves the clock: shim.c, loaded by LD_PRELOAD."""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, IntFlag
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


class Call(IntFlag):
    """Kinds of calls of the operating system, as in shim.c."""

    OPEN = 1
    WRITE = 2
    SYNC = 4
    RENAME = 8
    TRUNCATE = 16
    MKDIR = 32
    UNLINK = 64
    READ = 128


class Mode(Enum):
    """What a failing call has done: nothing, all of it, or a part of a write, without an error."""

    BEFORE = 0
    AFTER = 1
    SHORT = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """The calls that fail: `count` of them from the nth on, -1 for all."""

    calls: Call
    nth: int
    count: int
    error: int
    mode: Mode = Mode.BEFORE

    def __str__(self) -> str:
        name = "short write" if self.mode is Mode.SHORT else errno.errorcode[self.error]
        from_then_on = (
            "" if self.count == 1 else " and all later ones" if self.count < 0 else f" and {self.count - 1} more"
        )
        done = " after it was done" if self.mode is Mode.AFTER else ""
        return f"{name} in {self.calls.name} {self.nth}{from_then_on}{done}"


def compiler() -> str | None:
    """A C compiler of this machine."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def built(folder: Path) -> Path:
    """The shim, compiled into a folder."""
    found = compiler()
    assert found is not None, "ask compiler() first"
    library = folder / "shim.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        target = library.with_suffix(f".{os.getpid()}")
        subprocess.run([found, "-O2", "-fPIC", "-shared", "-o", str(target), str(SOURCE), "-ldl"], check=True)
        target.replace(library)
    return library


def is_loaded() -> bool:
    """Whether this process runs with the shim."""
    return hasattr(ctypes.CDLL(None), "torture_arm")


def run_with_shim(folder: Path) -> None:
    """Start this program again with the shim, if there is a compiler and it is not loaded."""
    if not is_loaded() and compiler() is not None:
        os.environ["LD_PRELOAD"] = str(built(folder))
        os.execv(sys.executable, [sys.executable, "-m", "torture", *sys.argv[1:]])


@contextmanager
def failing(folder: Path, fault: Fault) -> Iterator[None]:
    """Let calls on files below a folder fail meanwhile, in this process."""
    library = ctypes.CDLL(None)
    below = os.fsencode(folder)
    counts = ctypes.c_long(fault.nth), ctypes.c_long(fault.count)
    library.torture_arm(below, int(fault.calls), *counts, fault.error, fault.mode.value)
    try:
        yield
    finally:
        library.torture_disarm()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the shim saw since it was armed: calls of each kind, those that it let fail, and the file of the last."""

    calls: dict[Call, int]
    failed: int
    path: str


def seen() -> Seen:
    library = ctypes.CDLL(None)
    library.torture_seen.restype = library.torture_failed.restype = ctypes.c_long
    library.torture_failed_path.restype = ctypes.c_char_p
    path: bytes = library.torture_failed_path()
    return Seen({call: library.torture_seen(int(call)) for call in Call}, library.torture_failed(), os.fsdecode(path))


def move_clock(seconds: float) -> None:
    """Let the wall clock of this process be wrong by this much."""
    ctypes.CDLL(None).torture_clock(ctypes.c_longlong(int(seconds * 1_000_000_000)))
