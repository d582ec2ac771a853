"""How long the command line takes to start: its help against bare Python, and a word about metadata."""

import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import lakebed
from bench.figure import Figure, Row, duration, shown
from bench.timing import seconds

ROOT = Path(__file__).parents[2]
ROUNDS = 15
HELP_AT_MOST = 0.120
BRANCH_AT_MOST = 0.300


def measure(folder: Path) -> list[Row]:
    with lakebed.connect(folder / "lake") as lake:
        lake.catalog().create_branch("dev")
    commands = {
        "python": ["-c", "pass"],
        "help": ["-m", "lakebed", "--help"],
        "branch": ["-m", "lakebed", "branch", "--lake", str(folder / "lake")],
    }
    environment = _environment(folder)
    for command in commands.values():  # bytecode is written, and files are in the page cache
        _run(command, environment)
    took: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):  # in turn, so that other work on the machine slows down all of them
        for name, command in commands.items():
            took[name].append(seconds(lambda command=command: _run(command, environment)))
    bare = median(took["python"])
    help_after, branch = median(took["help"]) - bare, median(took["branch"])
    cpu = {name: _cpu_seconds(command, environment) for name, command in commands.items()}
    busy = f"median of {ROUNDS} on a shared machine; bare Python takes {shown(bare)}"
    alone = f"mean of {ROUNDS}; bare Python takes {shown(cpu['python'])}"
    return [
        duration("`lakebed --help`, after bare Python's start", help_after, busy, at_most=HELP_AT_MOST),
        duration("the same, of a processor", cpu["help"] - cpu["python"], alone, at_most=HELP_AT_MOST),
        duration("`lakebed branch`, in all", branch, busy, at_most=BRANCH_AT_MOST),
        duration("the same, of a processor", cpu["branch"], alone, at_most=BRANCH_AT_MOST),
    ]


def _environment(folder: Path) -> dict[str, str]:
    """This checkout, with its bytecode in a folder of its own, as an installed package has it."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def _cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """The time that a processor works for one run, which other processes delay but hardly lengthen."""
    before = getrusage(RUSAGE_CHILDREN)
    for _ in range(ROUNDS):
        _run(command, environment)
    after = getrusage(RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / ROUNDS


def _run(command: list[str], environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)


FIGURE = Figure("cli", "The command line", measure)
