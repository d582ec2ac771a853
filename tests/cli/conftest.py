"""A lake with a branch, and the command line in this process or in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed.cli.main import run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a word printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


Cli = Callable[..., Answer]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, that is not a lake yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAKEBED_LAKE", raising=False)
    return tmp_path


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a word in this process, as in a pipe."""

    def call(*arguments: str, given: str | bytes = "") -> Answer:
        out, err = TextIOWrapper(BytesIO(), "utf-8"), StringIO()
        data = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data), "utf-8"))
        with redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
            out.flush()
        printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
        return Answer(code, printed, err.getvalue())

    return call


@pytest.fixture
def lake(folder: Path) -> Iterator[lakebed.Lake]:
    """A lake in the working folder, with sales.orders on main: version 3 makes it, version 4 writes three rows."""
    with lakebed.connect(folder, author="ada") as opened:
        main = opened.catalog()
        with main.transaction("make orders") as work:
            work.create_namespace("sales")
            work.create_table("sales.orders", {"id": "long", "price": "double", "note": "string"}, primary_key=["id"])
        rows = [{"id": 1, "price": 9.5, "note": "a"}, {"id": 2, "price": 12.0, "note": None}, {"id": 3, "price": 7.0}]
        main.table("sales.orders").append(rows, message="first orders")
        yield opened


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts the command line in a process of its own, which has ended with the test."""
    with ExitStack() as started:

        def start(*arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
            command = [sys.executable, "-m", "lakebed", *arguments]
            return started.enter_context(subprocess.Popen(command, env=environment, **streams))

        yield start
