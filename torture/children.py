"""Work in a forked child: a crash, a hang or what it leaves in memory harms only itself."""

import os
import pickle
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its answer, or what went wrong (`died of SIGSEGV`, `hung`, a traceback)."""

    answer: Any = None
    trouble: str = ""


def in_child(work: Callable[[], Any], seconds: float = 60.0) -> Ended:
    """What `work` answers in a child of its own; it is killed after some seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    received = _all_bytes(reading, monotonic() + seconds)
    os.close(reading)
    if received is None:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if received is None:
        return Ended(trouble=f"hung for {seconds:.0f} s")
    if status != 0 or not received:
        return Ended(trouble=f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}")
    answer, trouble = pickle.loads(received)
    return Ended(answer, trouble)


def _answer(work: Callable[[], Any], writing: int) -> None:
    """Run and send; the child ends without running what the parent has registered for its own end."""
    try:
        try:
            sent = pickle.dumps((work(), ""))
        except BaseException:
            sent = pickle.dumps((None, traceback.format_exc()))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(sent)
    finally:
        os._exit(0)


def _all_bytes(reading: int, until: float) -> bytes | None:
    """What comes through a pipe up to its end; None if that does not come in time."""
    received = b""
    while (left := until - monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            piece = os.read(reading, 1 << 20)
            if not piece:
                return received
            received += piece
    return None
