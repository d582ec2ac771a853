"""Every Python and shell block of README.md and docs/ runs; those for users go by public modules alone."""

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.support.commands.forked import lakebed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOR_USERS = [ROOT / "README.md", *sorted((ROOT / "docs/guide").rglob("*.md"))]

# What a user may import; docs/architecture.md lists the same. All else may move at any time.
PUBLIC = {
    "lakebed",
    "lakebed.documents",
    "lakebed.errors",
    "lakebed.spark",
    "lakebed.iceberg",
    "lakebed.pipelines",
    "pyspark_lakebed",
    "lakebed.store",  # this and the following: for authors of backends
    "lakebed.files",
    "lakebed.metastore",
    "lakebed.testing",
}

# Shown, but not run: a test can't call the tests, and what is installed is installed already.
NOT_RUN = {
    "make demo",
    "make test",
    "make test-all",
    "make lint",
    "make format",
    "make bench",
    "make torture",
    "make proto",
    "make clean",
    "make docs",
    "pip install lakebed",
    "pip install lakebed[spark,duckdb,polars]",
    "pip install -e .",
}

# Other spellings would let a block get by unseen.
SPELLINGS = {"py": "python", "python3": "python", "pycon": "python", "shell": "sh", "zsh": "sh", "console": "sh"}


FENCE = re.compile(r"\s*(`{3,}|~{3,})([^`]*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `line` is where its fence opens."""

    language: str
    line: int
    text: str


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    opened: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.splitlines(), 1):
        match = FENCE.fullmatch(line)
        fence, info = match.groups() if match else ("", "")
        if opened is None and fence:
            opened, lines = (fence, info.strip().partition(" ")[0], number), []
        elif opened and fence.startswith(opened[0]) and not info.strip():
            yield Block(opened[1], opened[2], dedent("\n".join(lines)) + "\n")
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"the block that begins in line {opened[2]} never ends"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "page", types.ModuleType("page"))  # pickle looks for a class in its module


def run_page(path: Path) -> None:
    """Run the blocks of one page; the Python ones share their names, and `output` is what the block before printed."""
    printed = ""
    for block in blocks(path.read_text(encoding="utf-8")):
        place = f"{path.name}:{block.line}"
        assert block.language not in SPELLINGS, f"{place}: write ```{SPELLINGS[block.language]}"
        if block.language == "python":
            printed = run_python(path, block)
        elif block.language in {"sh", "bash"}:
            printed = run_shell(place, block.text)
        elif block.language == "output":
            assert is_output(block.text, printed), f"{place} is not what was printed:\n{printed}"


def run_python(path: Path, block: Block) -> str:
    with redirect_stdout(StringIO()) as printed:
        # Blank lines in front, so that a traceback shows the line of the page.
        exec(compile("\n" * block.line + block.text, str(path), "exec"), vars(sys.modules["page"]))
    print(printed.getvalue(), end="")  # pytest shows it if a later block fails
    return printed.getvalue()


def is_output(shown: str, printed: str) -> bool:
    """Whether the page shows what was printed, apart from spaces at the ends of lines; … stands for any text."""
    pattern = ".*".join(map(re.escape, trimmed(shown).split("…")))
    return re.fullmatch(pattern, trimmed(printed)) is not None


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()


def run_shell(place: str, text: str) -> str:
    script = "\n".join(line for line in text.splitlines() if not exempt(place, line))
    path = os.pathsep.join([str(lakebed().parent), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = ["bash", "-euo", "pipefail", "-c", script]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, f"{place} ends with {answer.returncode}:\n{answer.stdout}{answer.stderr}"
    return answer.stdout


def exempt(place: str, line: str) -> bool:
    """Whether a line is only shown; it has to be a known one, and a target has to exist."""
    if not re.match(r"\s*(make|pip install)\b", line):
        return False
    command = " ".join(shlex.split(line, comments=True))
    assert command in NOT_RUN, f"{place}: `{command}` is not in NOT_RUN of tests/test_docs.py"
    return True


def internals_used(code: str) -> list[str]:
    """The modules that are not public, and the private attributes, that a block names."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if is_internal(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            dotted = [f"{module}.{alias.name}" for alias in node.names]
            found += [module] if is_internal(module) else [name for name in dotted if leads_to_internal(name)]
        elif isinstance(node, ast.Attribute) and (is_private(node.attr) or leads_to_internal(ast.unparse(node))):
            found.append(ast.unparse(node))
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_internal(module: str) -> bool:
    package = module.partition(".")[0]
    return package in {"lakebed", "pyspark_lakebed"} and module not in PUBLIC


def leads_to_internal(dotted: str) -> bool:
    """Whether a name in a public module (`lakebed.spark.session`) is a module that is not public."""
    module, _, name = dotted.rpartition(".")
    if module not in PUBLIC or dotted in PUBLIC:
        return False
    found = getattr(importlib.import_module(module), name, None)
    return isinstance(found, ModuleType) or (found is None and find_spec(dotted) is not None)  # one not loaded yet


def make_targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def uses_spark(path: Path) -> bool:
    return any("lakebed.spark" in block.text for block in blocks(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", [path for path in PAGES if not uses_spark(path)], ids=named)
def test_every_block_of_the_page_runs(path: Path) -> None:
    run_page(path)


SLOW = [path for path in PAGES if path.name == "format.md"]
"""Each read and write by the format starts workers of Python: tests/spark/test_format.py has them in every run."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.long] if path in SLOW else []) for path in PAGES if uses_spark(path)],
    ids=named,
)
def test_every_block_of_the_page_runs_with_spark(path: Path, spark: "SparkSession") -> None:
    """What the page asks `lakebed.spark.session` for is then the session that runs already."""
    from lakebed.spark import detach  # here, so that a run without Spark's tests does not load PySpark

    try:
        run_page(path)
    finally:
        detach(spark)


@pytest.mark.long
def test_the_programs_of_the_readme_run_twice(spark: "SparkSession", capsys: pytest.CaptureFixture[str]) -> None:
    from lakebed.spark import detach

    printed = []
    for _ in range(2):
        try:
            run_page(ROOT / "README.md")
        finally:
            detach(spark)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


@pytest.mark.parametrize("path", FOR_USERS, ids=named)
def test_a_page_for_users_goes_by_public_modules_alone(path: Path) -> None:
    code = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python"]
    assert [(block.line, internals_used(block.text)) for block in code if internals_used(block.text)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from lakebed.table.filter.bind import bind", ["lakebed.table.filter.bind"]),
        ("import lakebed.catalog.refs.refs as refs", ["lakebed.catalog.refs.refs"]),
        ("from lakebed import table", ["lakebed.table"]),
        ("import lakebed\nlakebed.spark.types.spark_type()", ["lakebed.spark.types"]),
        ("orders._scope.read()", ["orders._scope"]),
        ("import lakebed\nlakebed.connect('lake').catalog().table('t').scan(columns=['_file'])", []),
        ("import lakebed.spark, pyarrow\nfrom lakebed import errors, lit\nlakebed.spark.session().__class__", []),
        ("from lakebed.store import open_store\nimport pyspark_lakebed", []),
    ],
)
def test_what_is_not_public_is_found(code: str, found: list[str]) -> None:
    assert internals_used(code) == found


def test_every_public_module_exists_and_is_on_the_page_of_the_architecture() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    listed = page.partition("### Public modules")[2].partition("Everything else")[0]
    assert {name for name in re.findall(r"`([\w.]+)`", listed) if "lakebed" in name} == PUBLIC
    assert all(importlib.import_module(module) for module in PUBLIC)


def test_every_make_target_that_a_page_may_show_exists() -> None:
    shown = {command.removeprefix("make ") for command in NOT_RUN if command.startswith("make ")}
    assert shown - make_targets() == set()


def write(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(dedent(text))
    return path


def test_blocks_share_names_and_a_folder(tmp_path: Path) -> None:
    page = """
        ```python
        answer = 42
        ```
        - and in a list
          ```python
          with open("answer", "w") as file: file.write(str(answer))
          ```
        ```text
        this is no code
        ```
        ````text
        ```python
        nor_is_this
        ```
        ````
        ```python
        print(f"{answer}  ", "at noon", "or later", sep="\\n")
        ```
        What it prints:
        ```output
        42
        at …
        … later
        ```
        ```sh
        grep -q 42 answer  # what Python wrote
        python -c 'import lakebed' && touch done
        make test
        ```
    """
    run_page(write(tmp_path, page))
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\nassert 1 == 2, 'it can fail'\n```", "it can fail"),
        ("```sh\nfalse\n```", "page.md:1 ends with 1"),
        ("```sh\nlakebed make-coffee 2> errors || exit $(grep -c make-coffee errors)\n```", "page.md:1 ends with 1:"),
        ("```sh\nlakebed init >/dev/null; lakebed describe none | cat\n```", "page.md:1 ends with 7:"),
        ("words\n```bash\nfalse | true\n```", "page.md:2 ends with 1"),
        ("```sh\nmake\n```", "`make` is not in NOT_RUN"),
        ("```sh\nmake coffee\n```", "`make coffee` is not in NOT_RUN"),
        ("```sh\npip install nonsense\n```", "`pip install nonsense` is not in NOT_RUN"),
        ("```py\npass\n```", "write ```python"),
        ("```console\n$ ls\n```", "write ```sh"),
        ("```python\npass\n", "line 1 never ends"),
        ("```python\nprint(3)\n```\n```output\n4\n```", "page.md:4 is not what was printed:"),
        ("```sh\necho 3\n```\n```output\n3\n4\n```", "page.md:4 is not what was printed"),
        ("```python\nprint('a\\nc')\n```\n```output\na…b…c\n```", "page.md:4 is not what was printed"),
    ],
)
def test_a_wrong_block_is_found(page: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=re.escape(problem)):
        run_page(write(tmp_path, page))


def test_a_failure_shows_the_line_of_the_page(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(write(tmp_path, "# Title\n\n```python\none = 1\none / 0\n```\n"))
    assert caught.traceback[-1].lineno + 1 == 5
