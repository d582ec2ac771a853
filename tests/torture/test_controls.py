"""What is broken on purpose is found; without it, an attack that finds nothing would say nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
RUN = """
import sys
from pathlib import Path
from torture.attack import Plan
from torture.controls import CONTROLS
from torture.shim import is_loaded
folder, *words = sys.argv[1:]
for number, control in enumerate(CONTROLS):
    if control.name in words:
        print(control.name, "is", control.found(Plan(1, 30.0, Path(folder) / str(number))) or "not found", flush=True)
"""
QUICK = (
    "a lake that ignores what was read",
    "a file that ends the process",
    "rows that were accepted and can't be read",
)
SLOW = (
    "two transactions under snapshot isolation",
    "an error that is not Lakebed's",
    "a row of an acknowledged commit is gone",
    "an acknowledged commit is gone",
    "two versions are swapped",
    "a commit came before one that was over",
    "a dirty read",
    "a commit that nobody asked for",
    "a wrong answer without an error",
    "the same load under snapshot isolation",
)


def found(folder, names):
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(folder), *names],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ran.returncode == 0, ran.stderr
    return [line.partition(" is found")[0] for line in ran.stdout.splitlines() if " is found: " in line]


def test_what_is_broken_on_purpose_is_found(tmp_path):
    assert sorted(found(tmp_path, QUICK)) == sorted(QUICK)


@pytest.mark.long
def test_records_and_lakes_that_are_wrong_are_found(tmp_path):
    assert sorted(found(tmp_path, SLOW)) == sorted(SLOW)
