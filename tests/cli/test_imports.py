"""Words about metadata load neither the libraries of rows nor those of terminals."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import lakebed
from tests.cli.conftest import Cli

ROOT = Path(__file__).parents[2]
OF_ROWS = {"numpy", "pyarrow", "sqlglot", "duckdb", "pandas", "polars", "pyspark"}
OF_TABLES = (
    *("lakebed.catalog.data", "lakebed.catalog.feed", "lakebed.catalog.inspect", "lakebed.catalog.merge"),
    *("lakebed.catalog.partitions", "lakebed.catalog.upkeep", "lakebed.lake.diff", "lakebed.lake.query"),
    *("lakebed.lake.rows", "lakebed.lake.streaming", "lakebed.table.expression", "lakebed.table.filter"),
    *("lakebed.table.merge", "lakebed.table.plan", "lakebed.table.statistics"),
)
"""Packages with what reads, writes, compares and shows tables."""
OPENING = {
    "lakebed.catalog.data.checkpoint_schedule",
    "lakebed.catalog.upkeep.begun",
    "lakebed.lake.streaming.transactions",
    "lakebed.table.merge.sides",
}
"""Small parts of them that every opening of a lake needs."""
METADATA = [
    "status",
    "ls -r",
    "branch",
    "branch next",
    "switch main",
    "tag",
    "tag v1",
    "share",
    "log",
    "log --graph",
    "log sales.orders",
    "history sales.orders",
    "show",
    "describe sales.orders",
    "schema sales.orders",
    "dropped",
    "set sales.orders a=b",
    "rename sales.orders sales.bought",
    "create --namespace eu",
    "version",
    "drop sales.bought",
]


def loaded_after(folder: Path, *words: str) -> list[set[str]]:
    """The modules that one process has loaded after each of some words ran in it."""
    script = (
        "import json, sys\n"
        "from lakebed.cli.main import run\n"
        f"for words in {[one.split() for one in words]!r}:\n"
        "    code = run(words)\n"
        "    print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in answer.stderr.splitlines() if line.startswith("[")]
    assert [code for code, _ in answers] == [0] * len(words), answer.stderr
    return [set(modules) for _, modules in answers]


def test_words_about_metadata_load_no_library_of_rows_and_no_rich(folder: Path, lake: lakebed.Lake) -> None:
    """In one process: what none of them has loaded by then, each would not load alone."""
    unwanted = {*OF_ROWS, "rich", "google.protobuf.json_format", "google.protobuf.service_reflection"}
    loaded = loaded_after(folder, *METADATA)
    assert {words: found & unwanted for words, found in zip(METADATA, loaded, strict=True) if found & unwanted} == {}


def test_a_list_of_branches_loads_nothing_that_works_on_tables(folder: Path, lake: lakebed.Lake) -> None:
    """Its 230 modules take 0.2 s of a processor; 437 took 0.32."""
    for words in ("branch", "tag", "log"):
        [loaded] = loaded_after(folder, words)
        inside = {name for name in loaded if name.startswith(tuple(f"{package}." for package in OF_TABLES))}
        assert inside - OPENING == set(), words


def test_the_help_loads_no_word_and_no_lake(folder: Path) -> None:
    [loaded] = loaded_after(folder, "--help")
    assert {name for name in loaded if name.startswith("lakebed.cli.commands.")} == set()
    assert loaded & {*OF_ROWS, "rich", "apsw", "google.protobuf", "lakebed.lake.lake", "lakebed.store"} == set()


def test_rows_are_read_by_arrow_and_not_by_spark(folder: Path, lake: lakebed.Lake) -> None:
    [loaded] = loaded_after(folder, "head sales.orders")
    assert "pyarrow" in loaded
    assert loaded & {"pyspark", "duckdb", "rich"} == set()


def test_a_process_of_others_keeps_its_garbage_collector(cli: Cli, lake: lakebed.Lake) -> None:
    """What is frozen is never collected: only a process that ends with the word may freeze what it imported."""
    before = gc.get_freeze_count()
    assert cli("branch").code == 0
    assert gc.get_freeze_count() <= before
    assert gc.isenabled()
    script = "import gc, sys; from lakebed.cli import main; sys.argv = ['lakebed', 'branch']\n"
    script += "import atexit; atexit.register(lambda: print(gc.get_freeze_count(), gc.isenabled()))\n"
    script += "run = main.run; main.run = lambda words: (run(words), print(gc.get_freeze_count()))[0]; main.main()"
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    imported, ended = (int(line.split()[0]) for line in done.stdout.splitlines()[-2:])
    assert 20_000 < imported < ended
