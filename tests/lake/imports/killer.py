"""Kills an import before each of its writes, each time on a fresh copy of a lake. Run as a program of its own.

    python killer.py <root of the project> <template> <folder> <name of the import> <arguments as JSON>

It prints how many points there were. A child is forked for each; the last one ends by itself.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

sys.path.insert(0, sys.argv[1])

import lakebed
import lakebed.arrow.engine
import lakebed.arrow.importer
import lakebed.lake.table
from lakebed.files import local
from lakebed.lake.imports import batches
from lakebed.store.sqlite import store

batches.BATCH_BYTES = 1
WRITES = (
    (os, ("write", "fsync", "link", "replace", "unlink", "mkdir")),
    (local._NewFile, ("write",)),
    (store, ("_write", "_end")),
)
left = 0


def deadly(do: Callable[..., Any]) -> Callable[..., Any]:
    def killed_first(*arguments: Any, **options: Any) -> Any:
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return do(*arguments, **options)

    return killed_first


def run(template: str, folder: str, call: str, arguments: str) -> int:
    global left
    for point in range(10_000):
        shutil.copytree(template, f"{folder}/{point}")
        child = os.fork()
        if child == 0:
            try:
                main = lakebed.connect(f"{folder}/{point}", author="ada").catalog()
                left = point
                for place, names in WRITES:
                    for one in names:
                        setattr(place, one, deadly(getattr(place, one)))
                getattr(main, call)(**json.loads(arguments))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return point
        if status != -signal.SIGKILL:
            raise SystemExit(f"point {point}: {status}")
    raise SystemExit("it never ended")


if __name__ == "__main__":
    print(run(*sys.argv[2:]))
