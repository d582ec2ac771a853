"""Imports inside `lakebed` point down the layers, stand at the top of their module, and make no cycle.

Folders stay small, and inner ones export nothing.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# From the top down; neighbours on a line do not know each other. A package has an inner order if it is drawn here:
# every folder and module directly under it is then part of the drawing.
DRAWINGS = {
    "lakebed": """
        __main__
        cli
        server | pipelines
        lake
        databases
        arrow | spark | iceberg | delta | documents
        catalog
        metastore
        table | records
        store | files | caches
        deferred | errors | forks | html
    """,
    "lakebed.cli": """
        main
        words
        commands | completing
        session
        graph | run_board | sources
        run_lines
        output
        csv_rows | decisions | json_rows | switched | terminal
        addresses | arguments | arrow_rows | column_types | failures | settings
        advice | example | folding | texts | values
    """,
    "lakebed.lake": """
        data_source
        lake
        attached | upkeep
        catalog
        imports | places | query | transaction
        sql
        shares | tables
        merges | table
        partition
        partitions
        diff | inspect | streaming
        levels | namespaces | rows | views
        branches | evolve | tags | view
        objects
        arguments | merging | namespace
        address | clauses | description | engines | lines | settings | shown
    """,
    "lakebed.pipelines": """
        files
        declarative
        pipeline
        start
        dry
        running
        definition | plan | records
        parts
        checks | code | contracts | decisions | graph | hooks
        facts | late | sql
        steps
        expectations | flows | inputs | loading | picture | rows | states | windows | writes
    """,
    "lakebed.arrow": """
        engine | importer
        compaction
        rows | sorted_rows | tasks
        add_files | foreign_rows | foreign_schemas | text | write
        fit
        pandas_rows
        casting | foreign_columns | foreign_names | given_files | python_rows | read
        expression | shape | validation
        transforms
        from_numpy | types
    """,
    "lakebed.spark": """
        attachment | engine | streaming
        compaction | sql
        rows | sorted_rows
        write
        casting | read
        fit | format | jobs | text
        session | types
        expressions
        java | literals | locations | variables
    """,
    "lakebed.databases": """
        adbc | jdbc
        address | relation
    """,
    "lakebed.delta": """
        table
        schemas
    """,
    "lakebed.iceberg": """
        export | source
        manifest_list
        manifests | metadata
        table
        avro | reading | schemas | vectors
    """,
    "lakebed.catalog": """
        upkeep
        inspect
        merge | partitions
        feed
        data
        refs | tables
        objects
        transaction
    """,
    "lakebed.metastore": """
        files | records
        kinds | metastore
        change
        line | pages
    """,
    "lakebed.table": """
        keys | plan
        entries | expression | merge | partition | statistics
        filter | manifest
        schema | sql
        parquet | types
    """,
    "lakebed.records": """
        check
        cells | commits
        bodies | codec
        layout | names | records_pb2
    """,
    "lakebed.store": """
        urls
        memory | sqlite
        buffered | subspace
        conflicts | limits | store | tuples
        transaction | version
    """,
    "lakebed.files": """
        opening
        lake_files | objects | read_only
        local
        external | listing | object_urls | ranges
        files | fsync | object_errors | os_errors | paths
    """,
}
Heights = dict[str, int]


def heights_of(drawing: str) -> Heights:
    """How high each name stands in a drawing; the lowest line is 0."""
    lines = drawing.strip().split("\n")
    return {name.strip(): height for height, line in enumerate(reversed(lines)) for name in line.split("|")}


HEIGHTS = {package: heights_of(drawing) for package, drawing in DRAWINGS.items()}

PAGE = ROOT / "docs" / "architecture.md"
UNDRAWN = {"__main__", "server"}
"""What runs the command line, and a place that nobody has taken."""

# The exceptions: the lazy exports of `lakebed/__init__.py`, the functions in `lake` that load an engine, and the words
# of the command line.
EXPORTS = "lakebed"
ENGINE_LOADERS = {
    ("lakebed.lake.engines", "arrow_engine"),
    ("lakebed.lake.engines", "arrow_importer"),
    ("lakebed.lake.engines", "spark_engine"),
    ("lakebed.lake.engines", "spark_schema"),
    ("lakebed.lake.engines", "spark_text"),
    ("lakebed.lake.engines", "export_iceberg"),
    ("lakebed.lake.engines", "adbc_rows"),
    ("lakebed.lake.engines", "delta_table"),
    ("lakebed.lake.engines", "iceberg_table"),
    ("lakebed.lake.engines", "jdbc_rows"),
    ("lakebed.lake.sql.statement", "run_statement"),
    ("lakebed.lake.attached.load", "attached_session"),
    ("lakebed.lake.streaming.load", "read_stream"),
    ("lakebed.lake.streaming.load", "write_stream"),
    ("lakebed.pipelines.pipeline", "_run_on_spark"),
    ("lakebed.pipelines.pipeline", "_dried"),
    ("lakebed.pipelines.loading", "sql_by_spark_alone"),
    ("lakebed.pipelines.files", "spark_pipeline"),
    ("lakebed.pipelines.start", "_openlineage"),  # its client, only where somebody wants events
    ("lakebed.deferred", "_Deferred"),  # numpy and pyarrow, at their first use
    ("lakebed.deferred", "_Part"),  # modules that are drawn: whoever defers one imports it for the type checker
    ("lakebed.__main__", "main"),  # the command line, within what heeds Ctrl-C
    ("lakebed.cli.main", "Words"),  # a word's module is loaded when the word runs
    ("lakebed.cli.commands.pipeline", "_spark"),  # only for a run, or for types
    ("lakebed.cli.output", "_terminal"),  # rich, only where it draws
    ("lakebed.cli.run_lines", "_board"),
    ("lakebed.cli.commands.doctor", "_java"),  # the search for a Java, if there is a Spark
}

# Shipped test support: it may import anything, and nothing else may import it.
TESTING = "lakebed.testing"

# Nobody reads a table of contents that is longer than this.
MOST_MODULES = 25

# Inner packages that others import by their own names: the search for a Java, and the suites for authors of backends.
ENTRY_POINTS = {"lakebed.spark.java", "lakebed.testing.metastore", "lakebed.testing.store"}

LOADERS = {"import_module", "__import__", "deferred"}


@dataclass(frozen=True, slots=True)
class Import:
    """One module named by another: `target` is None if only running the code shows which."""

    importer: str
    target: str | None
    line: int
    hidden_in: str | None  # the function, class or other statement around it; None at the top of the module


def findings(root: Path, heights: dict[str, Heights]) -> list[str]:
    """What is wrong with the modules of `root/lakebed` and their imports, one sentence each."""
    modules = {module_name(path, root): path for path in sorted((root / "lakebed").rglob("*.py"))}
    imports = [found for name, path in modules.items() for found in imports_of(name, path, set(modules))]
    problems = [problem for name in modules if (problem := undrawn(name, heights))]
    problems += [problem for name, path in modules.items() if (problem := furnished(name, path))]
    for found in imports:
        here = f"{found.importer}, line {found.line}, "
        problems += [here + problem for problem in (misplaced(found), misdirected(found, heights)) if problem]
    return problems + crowded(modules) + cycles(imports)


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def is_inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def drawn_name(module: str, package: str) -> str:
    """The name in a package's drawing: `sqlite` for `lakebed.store.sqlite.file`, nothing for `lakebed.store` itself."""
    return module.removeprefix(package).lstrip(".").partition(".")[0]


def undrawn(module: str, heights: dict[str, Heights]) -> str | None:
    for package, known in heights.items():
        name = drawn_name(module, package)
        if is_inside(module, package) and name not in {"", *known} and not is_inside(module, TESTING):
            return f"{module} is in no layer: add {name} to the drawing of {package} in tests/test_layers.py"
    return None


def furnished(module: str, path: Path) -> str | None:
    """An inner `__init__.py` that re-exports would create the cycles that are absent without it."""
    if path.name != "__init__.py" or module.count(".") < 2 or module in ENTRY_POINTS:
        return None
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    if len(tree.body) == 1 and ast.get_docstring(tree):
        return None
    return f"{module}/__init__.py has to hold a docstring that says what lives there, and nothing else"


def crowded(modules: dict[str, Path]) -> list[str]:
    names = [name for name, path in modules.items() if path.name != "__init__.py"]
    sizes = Counter(name.rpartition(".")[0] for name in names)
    return [
        f"{folder} has {size} modules: cut it into folders of at most {MOST_MODULES}"
        for folder, size in sizes.items()
        if size > MOST_MODULES
    ]


def misplaced(found: Import) -> str | None:
    allowed = found.importer == EXPORTS or (found.importer, found.hidden_in) in ENGINE_LOADERS
    if found.hidden_in is None or allowed:
        return None
    return f"hides an import of {found.target or 'what only a run can show'} in {found.hidden_in}: move it to the top"


def misdirected(found: Import, heights: dict[str, Heights]) -> str | None:
    if found.target is None or is_inside(found.importer, TESTING):
        return None
    if is_inside(found.target, TESTING):
        return f"imports {found.target}, which only tests may use"
    if problem := undrawn(found.target, heights):
        return f"imports what is not drawn: {problem}"
    for package, known in heights.items():
        if is_inside(found.importer, package) and is_inside(found.target, package):
            problem = misdirected_inside(package, known, found.importer, found.target)
            if problem:
                return problem
    return None


def misdirected_inside(package: str, known: Heights, importer_module: str, target_module: str) -> str | None:
    """What one drawing says against an import; a package itself may import all that it consists of."""
    importer, target = drawn_name(importer_module, package), drawn_name(target_module, package)
    if importer in {"", target}:
        return None
    if not target:
        return f"imports upward, from {package} itself: name the module where the thing lives"
    above = known[target] - known.get(importer, len(known))
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
    """The statements of a module. What stands in `if TYPE_CHECKING:` is not hidden, but obeys the layers.

    So does what its `else:` defers.
    """
    for statement in tree.body:
        if isinstance(statement, ast.If) and is_type_checking(statement.test) and is_deferring(statement):
            yield from statement.body
        else:
            yield statement


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def is_deferring(statement: ast.If) -> bool:
    """Whether all of the `else:`, if there is one, are modules that are imported above under the same names."""
    imported = {
        f"{alias.asname or alias.name} = deferred('{node.module}.{alias.name}')"
        for node in statement.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {ast.unparse(node) for node in statement.orelse} <= imported


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
    assert findings(ROOT, HEIGHTS) == []


@pytest.mark.parametrize("package", sorted(DRAWINGS.keys() - {"lakebed"}))
def test_every_name_of_an_inner_drawing_exists(package: str) -> None:
    paths = (ROOT / package.replace(".", "/")).iterdir()
    assert set(HEIGHTS[package]) <= {path.stem for path in paths if path.is_dir() or path.suffix == ".py"}


def test_the_check_looks_at_the_real_package() -> None:
    assert {"lakebed", "lakebed.errors", "lakebed.store"} <= {
        module_name(path, ROOT) for path in (ROOT / "lakebed").rglob("*.py")
    }
    found = imports_of(EXPORTS, ROOT / "lakebed/__init__.py", {"lakebed", "lakebed.errors"})
    assert "lakebed.errors" in {each.target for each in found}


def check(root: Path, sources: dict[str, str], inner: dict[str, str] | None = None) -> list[str]:
    """The findings in a small tree, with these files added to it, and with these inner drawings instead of the real."""
    for name, source in sources.items():
        path = root / "lakebed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    drawings = {"lakebed": DRAWINGS["lakebed"], **(inner or {})}
    return findings(root, {package: heights_of(drawing) for package, drawing in drawings.items()})


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


DEFERRING = (
    "if TYPE_CHECKING:\n    from lakebed.{package} import {seen}\nelse:\n    {name} = deferred('lakebed.{module}')"
)


def test_a_module_may_be_deferred_that_the_type_checker_imports_under_the_same_name(tmp_path: Path) -> None:
    line = DEFERRING.format(package="store", seen="keys", name="keys", module="store.keys")
    assert check(tmp_path, {"metastore/tree.py": line, "store/keys.py": ""}) == []


def test_a_deferred_module_has_to_stand_below_too(tmp_path: Path) -> None:
    line = DEFERRING.format(package="metastore", seen="tree", name="tree", module="metastore.tree")
    [problem] = check(tmp_path, {"store/keys.py": line, "metastore/tree.py": ""})
    assert "imports upward" in problem


@pytest.mark.parametrize(("name", "module"), [("keys", "metastore.tree"), ("tree", "store.keys")])
def test_another_module_may_not_be_deferred_than_the_type_checker_imports(
    tmp_path: Path, name: str, module: str
) -> None:
    line = DEFERRING.format(package="store", seen="keys", name=name, module=module)
    shown, hidden = check(tmp_path, {"metastore/tree.py": line, "store/keys.py": ""})
    assert "hides an import of lakebed.store.keys" in shown
    assert "hides an import of what only a run can show" in hidden


def test_a_deferral_without_an_import_for_the_type_checker_is_found(tmp_path: Path) -> None:
    line = "from lakebed.deferred import deferred\nkeys = deferred('lakebed.store.keys')"
    [problem] = check(tmp_path, {"metastore/tree.py": line, "store/keys.py": "", "deferred.py": ""})
    assert "hides an import" in problem


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
    where = "the drawing of lakebed in tests/test_layers.py"
    assert problem == f"lakebed.plumbing.pipes is in no layer: add plumbing to {where}"


STORE = {
    "lakebed.store": """
        sqlite | memory
        store
    """
}


@pytest.mark.parametrize(
    "sources",
    [
        {"store/sqlite/file.py": "from lakebed.store import store", "store/store.py": ""},
        {"store/sqlite/file.py": "from lakebed.store.sqlite.lock import Lock", "store/sqlite/lock.py": ""},
        {"store/__init__.py": "from lakebed.store.memory import MemoryStore", "store/memory.py": ""},
        {"catalog/tree.py": "from lakebed.store import memory", "store/memory.py": ""},
    ],
)
def test_an_import_that_points_down_an_inner_order_is_fine(tmp_path: Path, sources: dict[str, str]) -> None:
    assert check(tmp_path, sources, STORE) == []


@pytest.mark.parametrize(
    ("importer", "line", "expected"),
    [
        ("store/store.py", "from lakebed.store.sqlite.file import File", "imports upward: sqlite stands above store"),
        ("store/store.py", "from .sqlite import file", "imports upward: sqlite stands above store"),
        ("store/memory.py", "from lakebed.store.sqlite import file", "imports sideways: memory and sqlite are neigh"),
        ("store/sqlite/file.py", "from lakebed.store import Store", "imports upward, from lakebed.store itself"),
        ("store/sqlite/file.py", "from lakebed.catalog import tree", "imports upward: catalog stands above store"),
    ],
)
def test_an_import_against_an_inner_order_is_found(tmp_path: Path, importer: str, line: str, expected: str) -> None:
    files = {"store/__init__.py": "", "store/store.py": "", "store/sqlite/file.py": "", "catalog/tree.py": ""}
    [problem] = check(tmp_path, {**files, importer: line}, STORE)
    assert problem.startswith("lakebed." + importer.removesuffix(".py").replace("/", ".") + ", line 1, " + expected)


def test_a_module_outside_an_inner_drawing_is_found(tmp_path: Path) -> None:
    sources = {"store/keys/pack.py": "", "store/store.py": "from lakebed.store.keys import pack"}
    first, second = check(tmp_path, sources, STORE)
    undrawn_keys = "lakebed.store.keys.pack is in no layer: add keys to the drawing of lakebed.store"
    assert first.startswith(undrawn_keys)
    assert second.startswith("lakebed.store.store, line 1, imports what is not drawn: " + undrawn_keys)


@pytest.mark.parametrize(
    "source", ["", "import os", '"""Keys."""\nfrom lakebed.store.keys.pack import pack', "PACK = 1"]
)
def test_an_inner_package_that_is_more_than_its_docstring_is_found(tmp_path: Path, source: str) -> None:
    inner = {"store/keys/__init__.py": source, "store/keys/pack.py": ""}
    [problem] = check(tmp_path, inner)
    assert problem.startswith("lakebed.store.keys/__init__.py has to hold a docstring")


def test_a_docstring_is_enough_for_an_inner_package(tmp_path: Path) -> None:
    exports = "from lakebed.store.pack import pack"
    entry_points = {name.removeprefix("lakebed.").replace(".", "/") + "/__init__.py": exports for name in ENTRY_POINTS}
    outer = {"store/__init__.py": exports, "store/pack.py": "", "spark/__init__.py": ""}
    assert check(tmp_path, {**outer, **entry_points, "store/keys/__init__.py": '"""Keys."""\n'}) == []


def test_a_folder_of_too_many_modules_is_found(tmp_path: Path) -> None:
    inside = {f"store/keys/key{number}.py": "" for number in range(MOST_MODULES)}
    around = {"store/keys/__init__.py": '"""Keys."""', "store/keys/more/key.py": "", "store/key.py": ""}
    assert check(tmp_path, {**inside, **around}) == []
    [problem] = check(tmp_path, {"store/keys/last.py": ""})
    assert problem == "lakebed.store.keys has 26 modules: cut it into folders of at most 25"


def drawn(block: str, column: int) -> list[set[str]]:
    """The rows of a drawing on the page, in one of its columns."""
    cells = [re.split(r"\s{2,}", row) for row in block.splitlines()]
    return [set(row[column].split(" │ ")) for row in cells if len(row) > column and row[column]]


def test_the_map_for_contributors_had_no_pipelines_and_no_command_line() -> None:
    page = PAGE.read_text()
    whole, inner = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[:2]
    rows = {
        "lakebed": drawn(whole, 0),
        "lakebed.table": drawn(inner, 0)[1:],
        "lakebed.catalog": drawn(inner, 1)[1:],
    }
    for package, found in rows.items():
        lines = [
            {name.strip() for name in line.split("|")} - UNDRAWN for line in DRAWINGS[package].strip().splitlines()
        ]
        assert found == [line for line in lines if line], package
    folders = {package.replace(".", "/") for package in DRAWINGS if package != "lakebed"}
    assert [folder for folder in sorted(folders) if f"| `{folder}` |" not in page] == []
