"""Nothing in `lakebed/` is there for tests alone: what nobody imports or calls is public, or gone."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lakebed
import lakebed.documents
import lakebed.iceberg
import lakebed.metastore
import lakebed.pipelines
import lakebed.spark
import lakebed.store

ROOT = Path(*lakebed.__path__).parent
PUBLIC = frozenset(
    name
    for module in (
        lakebed,
        lakebed.documents,
        lakebed.iceberg,
        lakebed.metastore,
        lakebed.pipelines,
        lakebed.spark,
        lakebed.store,
    )
    for name in module.__all__
)

DEFINED = re.compile(r"^(?:def|class) (\w+)|^([a-zA-Z]\w*)(?:: [^=\n]+)? = ", re.MULTILINE)


@cache
def parsed(text: str) -> ast.Module:
    """Once for all tests of this file: parsing takes most of their time."""
    return ast.parse(text)


def sources() -> dict[str, str]:
    """The modules of the package and of its data source, without the suites for authors of backends."""
    paths = [*(ROOT / "lakebed").rglob("*.py"), *(ROOT / "pyspark_lakebed").rglob("*.py")]
    names = {str(path.relative_to(ROOT)): path for path in paths if not path.name.endswith("_pb2.py")}
    return {name: path.read_text() for name, path in names.items() if "/testing/" not in name}


def names(modules: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The modules' functions, classes and constants that are not public."""
    for path, text in modules.items():
        for found in DEFINED.finditer(text):
            name = found[1] or found[2]
            if name not in PUBLIC and not name.startswith("__"):
                yield path, name


def uses(text: str) -> Counter[str]:
    """How often a module reads, imports or takes each name from something, outside of what has that name."""
    found: Counter[str] = Counter()
    for node in parsed(text).body:
        inside: Counter[str] = Counter()
        for child in ast.walk(node):
            match child:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.alias(name=name):
                    inside[name] += 1
                case ast.Constant(value=str() as word) if word.isidentifier():  # an annotation, a table of exports
                    inside[word] += 1
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            # A decorator may register a function; that of a class makes it a dataclass.
            inside[node.name] = len(node.decorator_list) if isinstance(node, ast.FunctionDef) else 0
        found.update(inside)
    return found


@cache
def every_use() -> Counter[str]:
    used: Counter[str] = Counter()
    for text in sources().values():
        used.update(uses(text))
    return used


ANSWERS = frozenset({"Usage", "Run", "LakeMerger", "Matched", "NotMatched", "NotMatchedBySource"})
"""Values that handles answer, and that people use by their methods, though nobody imports them."""

WAITING = {
    "sweep_temporaries": "garbage collection",
    "read_ranges": "a lake on nothing but files",
}
"""Calls of files that backends implement already, and what will call them."""

UNOPENED = {"SlotStore": "a lake on nothing but files"}
"""Classes that pass their suites, and what will open them."""


def methods(modules: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The public methods of internal classes: nobody outside calls them, and no base that is not ours."""
    classes = {
        node.name: (path, node)
        for path, text in modules.items()
        for node in parsed(text).body
        if isinstance(node, ast.ClassDef)
    }

    def bases(name: str) -> set[str]:
        node = classes[name][1]
        own = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        return own.union(*(bases(base) for base in own & classes.keys() - {name}))

    public = {base for name in classes.keys() & (PUBLIC | ANSWERS) for base in (name, *bases(name))}
    for name, (path, node) in classes.items():
        if name not in public and not bases(name) - classes.keys() - PLAIN:
            yield from ((path, one.name) for one in node.body if isinstance(one, ast.FunctionDef))


PLAIN = frozenset({"Generic", "Protocol", "Enum", "str", "object", "NamedTuple", "ABC", "Exception", "int", "float"})
"""Bases that call no public method of what inherits from them."""


def test_no_method_is_there_for_tests_alone() -> None:
    modules, used = sources(), every_use()
    found = {f"{path}: {name}" for path, name in methods(modules) if not name.startswith("_") and not used[name]}
    assert sorted(one for one in found if one.rpartition(" ")[2] not in WAITING) == []
    assert {one.rpartition(" ")[2] for one in found} == WAITING.keys(), "something calls it now: take it out of WAITING"


def test_nothing_is_there_for_tests_alone() -> None:
    modules, used = sources(), every_use()
    found = [(path, name) for path, name in names(modules) if not used[name]]
    assert [f"{path}: {name}" for path, name in found if name not in UNOPENED] == []
    assert {name for _, name in found} == UNOPENED.keys(), "something opens it now: take it out of UNOPENED"
