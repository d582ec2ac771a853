"""Harms to a lake that a process has open: files removed or replaced beneath it."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import lakebed
from lakebed.errors import LakebedError
from torture.children import in_child
from torture.histories.deeds import LocalEngine, arrow_rows

HARMS_WHILE_OPEN: Mapping[str, Callable[[Path], None]] = {
    "WAL removed": lambda lake: (lake / "catalog.db-wal").unlink(missing_ok=True),
    "shared memory removed": lambda lake: (lake / "catalog.db-shm").unlink(missing_ok=True),
    "WAL and shared memory removed": lambda lake: _remove(lake.glob("catalog.db-[ws]*")),
    "catalog.db removed": lambda lake: (lake / "catalog.db").unlink(),
    "WAL emptied": lambda lake: os.truncate(lake / "catalog.db-wal", 0),
    "catalog.db replaced by a copy": lambda lake: _replace_by_copy(lake / "catalog.db"),
}


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


def _replace_by_copy(path: Path) -> None:
    copy = path.with_name("copied")
    shutil.copyfile(path, copy)
    copy.replace(path)


def damaged_while_open(lake: Path, harm: Callable[[Path], None]) -> tuple[set[int], str]:
    """The ids that a process was acknowledged, before and after a file was removed; or what went wrong."""
    ready, go = lake.with_name("ready"), lake.with_name("go")
    for mark in (ready, go):
        mark.unlink(missing_ok=True)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(in_child, partial(_write_twice, lake, ready, go), 60)
        while not ready.exists() and not running.done():
            sleep(0.01)
        harm(lake)
        go.touch()
        ended = running.result()
    return (ended.answer or set()), ended.trouble


def _write_twice(lake: Path, ready: Path, go: Path) -> set[int]:
    written = set()
    opened = lakebed.connect(lake, author="damage", create=False)
    table = opened.catalog().table("items")
    for id in (7001, 7002):
        with suppress(LakebedError):
            table.append(arrow_rows([(id, id)]))
            written.add(id)
        ready.touch()
        while not go.exists():
            sleep(0.01)
    return written


def ids(folder: Path) -> Any:
    try:
        with lakebed.connect(folder) as lake:
            return {id for id, _ in LocalEngine().read(lake.catalog().table("items"), None)}
    except LakebedError as error:
        return error
