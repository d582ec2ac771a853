"""The machine of the measurements, and how calm its disk is."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import monotonic, sleep

import apsw

from bench.timing import seconds

_SYNCS = 40
_CALM = 0.000_5
_PATIENCE = 15.0


def machine() -> str:
    """The date, the cores, and the relevant versions, in one line."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}, "
        f"protobuf {version('protobuf')}"
    )


def sync_seconds(folder: Path) -> float:
    """How long it takes to sync 4 kB to the disk: the part of a commit that our code can't shorten."""
    descriptor = os.open(folder / "sync", os.O_RDWR | os.O_CREAT)

    def write_and_sync() -> None:
        os.pwrite(descriptor, os.urandom(4096), 0)
        os.fdatasync(descriptor)

    try:
        return median(seconds(write_and_sync) for _ in range(_SYNCS))
    finally:
        os.close(descriptor)


def is_calm(folder: Path) -> bool:
    """Whether a sync takes no longer than on a quiet disk."""
    return sync_seconds(folder) <= _CALM


def calm_sync_seconds(folder: Path) -> float:
    """The same once the disk is calm, or after 15 s: many syncs in a row exhaust the burst capacity of some disks.

    Measured here: 0.1 ms for a sync, and 4 ms for a while after four processes had committed for some seconds.
    """
    end = monotonic() + _PATIENCE
    while (took := sync_seconds(folder)) > _CALM and monotonic() < end:
        sleep(1.0)
    return took
