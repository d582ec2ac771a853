"""Every promise of docs/acceptance.md names a test, and the tests that it names exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

NAMED_TEST = re.compile(r"`(tests/[^`]+)`")


HEADER = ["item", "promise", "tests", "still to come"]

ITEMS = {"D": 22, "KV-": 20, "P": 24, "ME-": 25, "MO-": 25, "law ": 10}
"""How many items each acceptance list has, from 1 on, and how many laws there are: each has a row."""

ISSUES = ("“A lake on nothing but files”", "“Rows”", "“To the letter”")
SUBJECTS = (*ISSUES, "garbage collection", "the server", "the import tools", "Iceberg both ways")
"""What may be named as bringing what does not hold yet."""


def rows(page: str) -> list[list[str]]:
    """The cells of all rows of the tables of items; other tables are left out."""
    found, is_of_items = [], False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        is_of_items = (is_of_items or cells == HEADER) and bool(cells)
        if is_of_items and cells != HEADER and not set(cells) <= {"---"}:
            found.append(cells)
    return found


def known_items() -> list[str]:
    return [f"{kind}{number}" for kind, count in ITEMS.items() for number in range(1, count + 1)]


def findings(root: Path) -> list[str]:
    """What is wrong with the page, one sentence each."""
    page = (root / "docs/acceptance.md").read_text(encoding="utf-8")
    items = rows(page)
    problems = [] if items else ["docs/acceptance.md lists no items"]
    for cells in items:
        problems += findings_of_row(*cells) if len(cells) == len(HEADER) else [f"{cells[0]} has {len(cells)} cells"]
    named = dict.fromkeys(
        (line, test) for line in page.splitlines() if line.startswith("|") for test in NAMED_TEST.findall(line)
    )
    problems += [
        f"{line.strip('| ').partition(' |')[0]}: there is no test {test}"
        for line, test in named
        if not exists(root, test)
    ]
    return problems


def findings_of_row(item: str, promise: str, tests: str, later: str) -> list[str]:
    if later and not any(subject in later for subject in SUBJECTS):
        return [f"{item}: what is still to come names nothing that brings it"]
    return [] if item and promise and (later or NAMED_TEST.search(tests)) else [f"{item or 'a row'} names no test"]


def missing_items(page: str) -> list[str]:
    """The items without a row, or with more than one."""
    found = [cells[0] for cells in rows(page)]
    return [item for item in known_items() if found.count(item) != 1]


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


def unheld(page: str) -> list[str]:
    """The rows of a page of guarantees that name no test, or one that does not exist."""
    promises = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    promises = [line for line in promises if not line.startswith("| ---")]
    return [line for line in promises if not any(exists(ROOT, test) for test in NAMED_TEST.findall(line))]


def test_every_guarantee_of_the_guide_names_a_test_that_exists() -> None:
    page = (ROOT / "docs/guide/guarantees.md").read_text(encoding="utf-8")
    assert page.count("`tests/") > 20
    assert unheld(page) == []


def test_a_guarantee_that_no_test_holds_is_found() -> None:
    held = f"| it holds | `tests/{Path(__file__).name}::test_a_guarantee_that_no_test_holds_is_found` |"
    broken = ["| it once held | `tests/test_acceptance.py::test_gone` |", "| it should hold | |"]
    assert unheld("\n".join(["| promise | test |", "| --- | --- |", held, *broken])) == broken


def test_every_item_and_every_law_has_one_row() -> None:
    assert sum(count for kind, count in ITEMS.items() if kind != "law ") == 116
    assert missing_items((ROOT / "docs/acceptance.md").read_text(encoding="utf-8")) == []


def test_an_item_without_a_row_or_with_two_is_found() -> None:
    header = "| item | promise | tests | still to come |\n| --- | --- | --- | --- |\n"
    found = missing_items(header + "| D1 | p | t | |\n| D2 | p | t | |\n| D2 | p | t | |\n\n| D3 | other | table |\n")
    assert found == known_items()[1:]


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
        "docs/acceptance.md": "\n".join(
            ["# Acceptance", "| item | promise | tests | still to come |", "| --- | --- | --- | --- |", *lines]
        ),
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
    assert page(tmp_path, f"| P1 | p | `tests/test_store.py::{test}` | |") == []


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
    assert page(tmp_path, f"| P1 | p | {good} | |", f"| P2 | p | {good}, `{test}` | |") == [
        f"P2: there is no test {test}"
    ]


def test_a_promise_without_a_test_is_found(tmp_path: Path) -> None:
    assert page(tmp_path, "| P1 | p | soon | |") == ["P1 names no test"]


def test_what_is_still_to_come_says_what_brings_it(tmp_path: Path) -> None:
    assert page(tmp_path, "| P1 | p | | Comes with “Rows”. |") == []
    assert page(tmp_path, "| P1 | p | | Later. |") == ["P1: what is still to come names nothing that brings it"]


def test_a_row_with_other_cells_is_found(tmp_path: Path) -> None:
    assert page(tmp_path, "| P1 | p | q |") == ["P1 has 3 cells"]


def test_a_page_without_promises_is_found(tmp_path: Path) -> None:
    assert page(tmp_path) == ["docs/acceptance.md lists no items"]
