"""Every promise of docs/acceptance.md names a test, and the tests that it names exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

NAMED_TEST = re.compile(r"`(tests/[^`]+)`")


def rows(page: str) -> list[list[str]]:
    """The cells of the table's rows, without the header and the line under it."""
    lines = [line.strip().strip("|").split("|") for line in page.splitlines() if line.lstrip().startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def findings(root: Path) -> list[str]:
    """What is wrong with the page, one sentence each."""
    items = rows((root / "docs/acceptance.md").read_text(encoding="utf-8"))
    problems = [] if items else ["docs/acceptance.md lists no items"]
    for item, *cells in items:
        named = NAMED_TEST.findall(" ".join(cells))
        if not item or not named:
            problems.append(f"{item or 'a row without a name'} names no test")
        problems += [f"{item}: there is no test {test}" for test in named if not exists(root, test)]
    return problems


def exists(root: Path, test: str) -> bool:
    """Whether `tests/path.py::test_name` or `tests/path.py::Class::test_name` is defined, or inherited from a suite."""
    path, *names = test.partition("[")[0].split("::")
    if not (root / path).is_file():
        return False
    module = parse(root / path)
    match names:
        case [function]:
            return function.startswith("test_") and function in functions(module)
        case [holder, method]:
            return holder.startswith("Test") and method in methods_of(holder, root, module)
        case _:
            return False


def methods_of(holder: str, root: Path, module: ast.Module) -> set[str]:
    """The tests of a class of the module, its own and those of its bases."""
    if holder in machines(module):
        return {"runTest"}
    if holder not in classes(module):
        return set()
    known = suites(root) | classes(module)
    found: set[str] = set()
    waiting = [holder]
    while waiting:
        if defined := known.pop(waiting.pop(), None):
            found |= functions(defined)
            waiting += [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in defined.bases]
    return {name for name in found if name.startswith("test_")}


def machines(module: ast.Module) -> set[str]:
    """The names that Hypothesis machines run under: `TestStore = StoreMachine.TestCase`."""
    return {
        ast.unparse(node.targets[0])
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".TestCase")
    }


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def functions(holder: ast.Module | ast.ClassDef) -> set[str]:
    return {node.name for node in holder.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def classes(module: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}


@cache
def suites(root: Path) -> dict[str, ast.ClassDef]:
    """The classes of `lakebed/testing`, which the tests of each backend inherit from."""
    found: dict[str, ast.ClassDef] = {}
    for path in sorted((root / "lakebed/testing").rglob("*.py")):
        found |= classes(parse(path))
    return found


def test_every_promise_names_tests_that_exist() -> None:
    assert findings(ROOT) == []


SUITE = """
class Ground:
    def test_of_the_ground(self): ...

class StoreSuite(Ground, Generic[T]):
    def test_of_the_suite(self): ...
    def helper(self): ...
"""
TESTS = """
from lakebed import testing

def test_alone(): ...
def helper(): ...

class TestMemory(testing.StoreSuite[Memory]):
    def test_own(self): ...

class TestSqlite(TestMemory): ...

class Nothing:
    def test_own(self): ...

TestMachine = StoreMachine.TestCase
"""


def page(root: Path, *lines: str) -> list[str]:
    """The findings on a page with these rows, beside one file of tests and one suite."""
    files = {
        "lakebed/testing/store.py": SUITE,
        "tests/test_store.py": TESTS,
        "docs/acceptance.md": "\n".join(["# Acceptance", "| item | tests |", "| --- | --- |", *lines]),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return findings(root)


@pytest.mark.parametrize(
    "test",
    [
        "test_alone",
        "test_alone[memory]",
        "TestMemory::test_own",
        "TestMemory::test_of_the_suite",
        "TestMemory::test_of_the_ground",
        "TestSqlite::test_of_the_suite",
        "TestMachine::runTest",
    ],
)
def test_a_test_is_found_where_it_is_written_or_inherited(test: str, tmp_path: Path) -> None:
    assert page(tmp_path, f"| P1 | `tests/test_store.py::{test}` |") == []


@pytest.mark.parametrize(
    "test",
    [
        "tests/test_store.py",
        "tests/test_store.py::test_missing",
        "tests/test_store.py::helper",
        "tests/test_store.py::test_own",
        "tests/test_store.py::TestMemory",
        "tests/test_store.py::TestMemory::test_missing",
        "tests/test_store.py::TestMemory::helper",
        "tests/test_store.py::TestMissing::test_own",
        "tests/test_store.py::Nothing::test_own",
        "tests/test_store.py::StoreSuite::test_of_the_suite",
        "tests/test_missing.py::test_alone",
    ],
)
def test_a_test_that_does_not_exist_is_found(test: str, tmp_path: Path) -> None:
    good = "`tests/test_store.py::test_alone`"
    assert page(tmp_path, f"| P1 | {good} |", f"| P2 | {good}, `{test}` |") == [f"P2: there is no test {test}"]


def test_a_promise_without_a_test_is_found(tmp_path: Path) -> None:
    assert page(tmp_path, "| P1 | soon |") == ["P1 names no test"]


def test_a_page_without_promises_is_found(tmp_path: Path) -> None:
    assert page(tmp_path) == ["docs/acceptance.md lists no items"]
