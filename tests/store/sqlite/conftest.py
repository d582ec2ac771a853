"""Processes that use a store."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lakebed

WORKER = Path(__file__).parent / "sqlite_worker.py"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start one of the tasks in sqlite_worker.py; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(task: str, *arguments: object, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        root = str(Path(lakebed.__file__).parent.parent)
        process = subprocess.Popen(
            [*before, sys.executable, "-W", "error", str(WORKER), task, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": root},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def finish(start: Start) -> Callable[..., str]:
    """Run one of the tasks to its end, which has to be good, and answer what it said."""

    def finish(task: str, *arguments: object, before: tuple[str, ...] = ()) -> str:
        process = start(task, *arguments, before=before)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out.strip()

    return finish
