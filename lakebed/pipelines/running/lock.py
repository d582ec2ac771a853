"""A lock on a pipeline of a lake in a folder, so that a second run says at once that the first goes on.

It is comfort: facts of two runs conflict when they are published, with a lock or without.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lakebed.errors import Held
from lakebed.lake.lake import Lake

FOLDER = "locks"
PAUSE = 0.5
LONGEST = 60
"""How many letters of a pipeline's name its file has; two that share a file wait for each other."""
PLAIN = re.compile(r"[^\w-]")


@contextmanager
def held(lake: Lake, pipeline: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the pipeline while a run goes on; `Held` if another run does, unless `wait`."""
    address = urlsplit(lake.url)
    if address.scheme != "file":
        yield
        return
    folder = Path(url2pathname(address.path)) / FOLDER
    folder.mkdir(exist_ok=True)
    place = os.open(folder / f"{PLAIN.sub('_', pipeline)[:LONGEST]}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _take(place, pipeline, wait)
        os.truncate(place, 0)
        os.pwrite(place, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(place)  # which gives the lock back


def _take(place: int, pipeline: str, wait: bool) -> None:
    while True:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                holder = os.pread(place, 32, 0).decode(errors="replace").strip() or "unknown"
                raise Held(
                    "another run of the pipeline goes on",
                    subject=pipeline,
                    found=f"process {holder}",
                    advice="Wait for its end, or pass wait=True.",
                ) from None
            sleep(PAUSE)
        else:
            return
