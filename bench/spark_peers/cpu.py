"""The CPU time of this process and of all processes that it started: Spark's Java and its Python workers."""

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """The time of the running processes, and of their children that have ended."""
    parents, ticks = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
        fields = stat.rpartition(")")[2].split()  # after the name, which may have spaces
        parents[int(place.name)] = int(fields[1])
        ticks[int(place.name)] = sum(map(int, fields[11:15]))
    return sum(ticks[process] for process in ticks if _is_ours(process, parents)) / _TICK


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()
