"""Advice in the source, and what it names that does not exist: calls, and their arguments."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lakebed
from lakebed import pipelines
from lakebed.arrow.read.scan import Scan
from lakebed.lake.evolve import Evolve

SOURCE = Path(*lakebed.__path__)
ROOT = SOURCE.parent

# What stands before the dot in advice, and whose calls it has.
RECEIVERS: dict[str, type] = {
    "lake": lakebed.Lake,
    "catalog": lakebed.Catalog,
    "main": lakebed.Catalog,
    "tx": lakebed.Transaction,
    "table": lakebed.Table,
    "change": Evolve,
    "scan": Scan,
}
HANDLES = (*RECEIVERS.values(), lakebed.Partition, lakebed.Stream, lakebed.View, lakebed.Namespace, lakebed.Description)

# Calls in advice that are not ours: of Python, its libraries, Spark, and SQL's types.
OTHERS = {
    "glob.glob",
    "uuid.uuid4",
    "str",
    "pyarrow.Table.from_pylist",
    "pyspark_lakebed.source_for",
    "spark.conf.set",
    "spark.sql",
    "spark.dataSource.register",
    "data.writeStream.foreachBatch",
    "frame.toArrow",
    *("decimal", "decimal128", "time64", "timestamp", "string"),
    *("load", "save", "mode", "option", "schema"),  # a reader's or writer's of Spark
}
CALL = re.compile(r"(?<![\w.`])(\.?[a-z_]\w*(?:\.\w+)*)\(([^()]*)")
KEYWORD = re.compile(r"(?<![\w.'\"])([a-z_]+)=(?![=>])")


@dataclass(frozen=True, slots=True)
class Advice:
    """A text of advice, and where it stands."""

    text: str
    place: str


def is_advice(node: ast.AST) -> bool:
    """Whether a node gives an error its advice, or names a text or a table of texts so."""
    if isinstance(node, ast.keyword):
        return node.arg == "advice"
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "") for target in targets]
    return any("advice" in name.lower() or name == "PYTHON_ONLY" for name in names)


def texts_of(node: ast.AST) -> Iterator[str]:
    """The texts in an expression; what is put into one stands as …."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_of(child)


def advice_in(node: ast.AST) -> list[ast.expr]:
    """The advice that a node gives: an argument's, a variable's, or what a function called after it answers."""
    if isinstance(node, ast.keyword | ast.Assign | ast.AnnAssign):
        return [node.value] if is_advice(node) and node.value else []
    if isinstance(node, ast.FunctionDef) and "advice" in node.name:
        return [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value]
    return []


@cache
def all_advice() -> tuple[Advice, ...]:
    """Every text of advice in the source."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if "testing" in path.parts or path.stem.endswith("_pb2"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found += [
                Advice(text, f"{path.relative_to(ROOT)}:{part.lineno}")
                for part in advice_in(node)
                for text in texts_of(part)
            ]
    return tuple(found)


def function_of(name: str) -> object | None:
    """The public call that advice names: `lake.check`, `lakebed.lit`, or `compact`, on whichever handle it is."""
    receiver, _, rest = name.lstrip(".").partition(".")
    if receiver in ("lakebed", "lp"):
        found: object | None = lakebed if receiver == "lakebed" else pipelines
        for part in rest.split("."):
            found = getattr(found, part, None)
        return found
    if "." in rest:
        return None
    if rest:
        holders: tuple[object, ...] = (RECEIVERS[receiver],) if receiver in RECEIVERS else ()
    else:
        holders = (*HANDLES, lakebed)
    return next((getattr(holder, rest or receiver) for holder in holders if hasattr(holder, rest or receiver)), None)


@cache
def known_keywords() -> frozenset[str]:
    """The arguments of all public calls."""
    calls = [getattr(handle, name) for handle in HANDLES for name in dir(handle) if not name.startswith("_")]
    calls += [getattr(lakebed, name) for name in lakebed.__all__ if name[0].islower()]
    calls += [getattr(pipelines, name) for name in pipelines.__all__ if name[0].islower()]
    calls += [pipelines.Pipeline.run, pipelines.Pipeline.plan, pipelines.Pipeline.check]
    names = {name for call in calls if callable(call) for name in inspect.signature(call).parameters}
    return frozenset(names)


def mistakes(text: str) -> list[str]:
    """What a piece of advice names that does not exist: calls, their arguments, and arguments alone."""
    wrong, seen = [], set()
    for name, inside in CALL.findall(text):
        if name.lstrip(".") in OTHERS:
            seen |= set(KEYWORD.findall(inside))
            continue
        call = function_of(name)
        if call is None:
            wrong.append(f"{name}(…)")
            continue
        for keyword in KEYWORD.findall(inside):
            seen.add(keyword)
            if callable(call) and keyword not in inspect.signature(call).parameters:
                wrong.append(f"{name}({keyword}=…)")
    return wrong + [f"{keyword}=" for keyword in KEYWORD.findall(text) if keyword not in seen | known_keywords()]
