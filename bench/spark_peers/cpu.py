"""The CPU time of this process and of all that it started: Spark's Java and its Python workers."""

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Of the processes that run, and of those of their children that ended."""
    parents, ticks = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            told = (place / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
        fields = told.rpartition(")")[2].split()  # behind the name, which may have spaces
        parents[int(place.name)] = int(fields[1])
        ticks[int(place.name)] = sum(map(int, fields[11:15]))
    return sum(ticks[one] for one in ticks if _is_ours(one, parents)) / _TICK


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()
