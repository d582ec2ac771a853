"""Imports inside `lakebed` point down the layers, stand at the top of their module, and make no cycle."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# From the top down; neighbours on a line do not know each other.
DRAWING = """
cli
server | pipelines
lake
arrow | spark | iceberg
catalog
metastore
table | records
store | files | caches
errors
"""
HEIGHTS = {
    package.strip(): height
    for height, line in enumerate(reversed(DRAWING.split("\n")))
    for package in line.split("|")
    if package.strip()
}

# The exceptions: the lazy exports of `lakebed/__init__.py`, and the functions in `lake` that load an engine.
EXPORTS = "lakebed"
ENGINE_LOADERS = {
    ("lakebed.lake.engines", "arrow_engine"),
    ("lakebed.lake.engines", "spark_engine"),
    ("lakebed.lake.engines", "spark_schema"),
    ("lakebed.lake.sql.statement", "run_statement"),
}

# Shipped test support: it may import anything, and nothing else may import it.
TESTING = "testing"

LOADERS = {"import_module", "__import__"}


@dataclass(frozen=True, slots=True)
class Import:
    """One module named by another: `target` is None if only running the code would tell which."""

    importer: str
    target: str | None
    line: int
    hidden_in: str | None  # the function, class or other statement around it; None at the top of the module


def findings(root: Path) -> list[str]:
    """What is wrong with the imports of `root/lakebed`, one sentence each."""
    modules = {module_name(path, root): path for path in sorted((root / "lakebed").rglob("*.py"))}
    imports = [found for name, path in modules.items() for found in imports_of(name, path, set(modules))]
    problems = [problem for name in modules if (problem := unknown(name))]
    for found in imports:
        here = f"{found.importer}, line {found.line}, "
        problems += [here + problem for problem in (misplaced(found), misdirected(found)) if problem]
    return problems + cycles(imports)


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def package_of(module: str) -> str:
    """The name in the drawing: `store` for `lakebed.store.sqlite.store`, nothing for `lakebed` itself."""
    return module.partition(".")[2].partition(".")[0]


def unknown(module: str) -> str | None:
    package = package_of(module)
    if module == EXPORTS or package in {*HEIGHTS, TESTING}:
        return None
    return f"{module} is in no layer: add {package} to the drawing in tests/test_layers.py"


def misplaced(found: Import) -> str | None:
    allowed = found.importer == EXPORTS or (found.importer, found.hidden_in) in ENGINE_LOADERS
    if found.hidden_in is None or allowed:
        return None
    return f"hides an import of {found.target or 'what only a run can tell'} in {found.hidden_in}: move it to the top"


def misdirected(found: Import) -> str | None:
    importer, target = package_of(found.importer), package_of(found.target or "")
    if found.target is None or importer == TESTING:
        return None
    if target == TESTING:
        return f"imports {found.target}, which only tests may use"
    if found.importer == EXPORTS or importer == target:
        return None
    if found.target == EXPORTS:
        return "imports upward, from lakebed itself: name the module where the thing lives"
    if problem := unknown(found.target):
        return f"imports what is not drawn: {problem}"
    above = HEIGHTS[target] - HEIGHTS.get(importer, len(DRAWING))
    if above == 0:
        return f"imports sideways: {importer} and {target} are neighbours and do not know each other"
    return f"imports upward: {target} stands above {importer}" if above > 0 else None


def cycles(imports: list[Import]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for found in imports:
        if found.target:
            graph.setdefault(found.importer, set()).add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return ["import cycle: " + " → ".join(reversed(error.args[1]))]
    return []


def imports_of(module: str, path: Path, modules: set[str]) -> Iterator[Import]:
    """Every import of a lakebed module in one file, however it is written."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    loaders = set(loads(tree))
    for statement in top_statements(tree):
        scope = getattr(statement, "name", f"the statement of line {statement.lineno}")
        for node in ast.walk(statement):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for target in targets(node, package, modules):
                    yield Import(module, target, node.lineno, None if node is statement else scope)
            elif node in loaders:
                yield Import(module, None, statement.lineno, scope)


def top_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module. What stands in `if TYPE_CHECKING:` is not hidden, but obeys the layers."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and not statement.orelse and is_type_checking(statement.test):
            yield from statement.body
        else:
            yield statement


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def targets(node: ast.Import | ast.ImportFrom, package: str, modules: set[str]) -> list[str]:
    """The lakebed modules that a statement names; `from lakebed.store import keys` may name `lakebed.store.keys`."""
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    else:
        source = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
        named = [full if (full := f"{source}.{alias.name}") in modules else source for alias in node.names]
    return [name for name in dict.fromkeys(named) if name.split(".")[0] == "lakebed"]


def loads(tree: ast.Module) -> Iterator[ast.AST]:
    """Every mention of a loader, unless it is called on the spot with the name of a module that is not ours."""
    names, harmless = set(LOADERS), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            names |= {alias.asname or alias.name for alias in node.names if alias.name in LOADERS}
        if isinstance(node, ast.Call) and node.args and isinstance(name := node.args[0], ast.Constant):
            harmless |= set() if str(name.value).split(".")[0] in {"", "lakebed"} else {node.func}
    for node in ast.walk(tree):
        mentioned = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if mentioned in names and node not in harmless:
            yield node


def test_imports_point_down_the_layers() -> None:
    assert findings(ROOT) == []


def test_the_check_looks_at_the_real_package() -> None:
    assert {"lakebed", "lakebed.errors", "lakebed.store"} <= {
        module_name(path, ROOT) for path in (ROOT / "lakebed").rglob("*.py")
    }
    found = imports_of(EXPORTS, ROOT / "lakebed/__init__.py", {"lakebed", "lakebed.errors"})
    assert "lakebed.errors" in {each.target for each in found}


def check(root: Path, sources: dict[str, str]) -> list[str]:
    """The findings in a small tree, with these files added to it."""
    for name, source in sources.items():
        path = root / "lakebed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return findings(root)


@pytest.mark.parametrize(
    "line",
    [
        "from lakebed.store.keys import pack",
        "from lakebed.store import keys",
        "import lakebed.store.keys as keys",
        "from ..store import keys",
        "import typing\nif typing.TYPE_CHECKING:\n    from lakebed.store.keys import pack",
        "from importlib import import_module\nfdb = import_module('fdb')",
        "def later():\n    import apsw",
    ],
)
def test_a_downward_import_is_fine(tmp_path: Path, line: str) -> None:
    assert check(tmp_path, {"metastore/tree.py": line, "store/keys.py": ""}) == []


@pytest.mark.parametrize(
    "line",
    [
        "from lakebed.metastore.tree import Tree",
        "from lakebed.metastore import tree",
        "from lakebed import metastore",
        "import lakebed.metastore.tree",
        "import lakebed",
        "from ..metastore import tree",
        "from .. import metastore",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lakebed.metastore.tree import Tree",
    ],
)
def test_an_upward_import_is_found(tmp_path: Path, line: str) -> None:
    [problem] = check(tmp_path, {"store/keys.py": line, "metastore/tree.py": ""})
    assert problem.startswith("lakebed.store.keys, line ")
    assert "imports upward" in problem


def test_a_sideways_import_is_found(tmp_path: Path) -> None:
    [problem] = check(tmp_path, {"store/keys.py": "from lakebed.files.local import put", "files/local.py": ""})
    assert "imports sideways: store and files are neighbours" in problem


@pytest.mark.parametrize(
    "source",
    [
        "def later():\n    from lakebed.store import keys",
        "class Tree:\n    from lakebed.store import keys",
        "try:\n    from lakebed.store import keys\nexcept ImportError:\n    pass",
        "if True:\n    from lakebed.store import keys",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from lakebed.store import keys",
        "if TYPE_CHECKING:\n    def later():\n        from lakebed.store import keys",
        "def later():\n    if TYPE_CHECKING:\n        from lakebed.store import keys",
        "if not TYPE_CHECKING:\n    from lakebed.store import keys",
        "import importlib\nkeys = importlib.import_module('lakebed.store.keys')",
        "from importlib import import_module\nkeys = import_module('..store.keys', 'lakebed.metastore')",
        "from importlib import import_module as load\ndef later(name):\n    return load(name)",
        "keys = __import__('lakebed.store.keys')",
        "import importlib\nload = importlib.import_module",
    ],
)
def test_a_hidden_import_is_found(tmp_path: Path, source: str) -> None:
    [problem] = check(tmp_path, {"metastore/tree.py": source, "store/keys.py": ""})
    assert "hides an import of" in problem


def test_a_hidden_import_has_to_point_down_too(tmp_path: Path) -> None:
    hidden = "def later():\n    import lakebed.metastore.tree"
    first, second = check(tmp_path, {"store/keys.py": hidden, "metastore/tree.py": ""})
    assert "hides" in first
    assert "upward" in second


def test_the_exceptions_hold_for_nothing_else(tmp_path: Path) -> None:
    lazy = "def __getattr__(name):\n    from importlib import import_module\n    return import_module(name)"
    assert check(tmp_path, {"__init__.py": lazy}) == []
    load = "def {}(name):\n    from lakebed.spark import engine\n    return __import__(name)"
    loader, function = "lake/engines.py", "spark_engine"
    assert check(tmp_path, {loader: load.format(function), "spark/engine.py": ""}) == []
    assert len(check(tmp_path, {loader: load.format("other")})) == 2
    assert len(check(tmp_path, {loader: "", "lake/lake.py": load.format(function)})) == 2


def test_a_cycle_is_found(tmp_path: Path) -> None:
    one = "from lakebed.store import two"
    two = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .three import Three"
    three = "from lakebed.store.one import One"
    [problem] = check(tmp_path, {"store/one.py": one, "store/two.py": two, "store/three.py": three})
    assert problem.removeprefix("import cycle: ").replace("lakebed.store.", "") in {
        "one → two → three → one",
        "two → three → one → two",
        "three → one → two → three",
    }


def test_a_module_that_imports_from_its_own_package_makes_a_cycle(tmp_path: Path) -> None:
    package, keys = "from lakebed.store.keys import pack", "from lakebed.store import Store"
    [problem] = check(tmp_path, {"store/__init__.py": package, "store/keys.py": keys})
    assert problem.startswith("import cycle: ")


def test_only_testing_imports_testing(tmp_path: Path) -> None:
    suite = "import lakebed.cli\nfrom lakebed.testing import model"
    assert check(tmp_path, {"testing/suite.py": suite, "testing/model.py": "", "cli.py": ""}) == []
    [problem] = check(tmp_path, {"cli.py": "from lakebed.testing import model"})
    assert "which only tests may use" in problem


def test_a_package_outside_the_drawing_is_found(tmp_path: Path) -> None:
    [problem] = check(tmp_path, {"plumbing/pipes.py": ""})
    assert problem == "lakebed.plumbing.pipes is in no layer: add plumbing to the drawing in tests/test_layers.py"
