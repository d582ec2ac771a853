"""Fingerprints of steps: what they would do, so that a change of code is seen and a change of a comment is not."""

import ast
import hashlib
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from lakebed.pipelines.inputs import Given
from lakebed.pipelines.steps import Function, Step

LENGTH = 16


def fingerprint(step: Step, params: Mapping[str, Any], views: Mapping[str, str]) -> str:
    """What a step would do: its code, the parameters that it takes, how it writes, and the views that it reads."""
    taken = {source.name for source in step.inputs.values() if isinstance(source, Given)}
    code = step.version if step.version is not None else (step.text or code_of(step.function))
    parts = {
        "code": code,
        "inputs": {name: repr(source) for name, source in step.inputs.items()},
        "params": {name: repr(value) for name, value in params.items() if name in taken},
        "write": [str(step.write), *step.outputs, *step.primary_key],
        "expectations": {
            table: [repr(expectation) for expectation in expectations if not expectation.keeps_rows]
            for table, expectations in step.expectations.items()
        },
        "window": None if step.window is None else [step.window.unit, step.window.column, step.window.into],
        "views": {name: views[name] for name in sorted(views)},
    }
    if step.flows:
        parts["flows"] = {flow.name: flow.code for flow in step.flows}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:LENGTH]


def code_of(function: Function) -> str:
    """A function and everything that it names in its project, without comments, docstrings and decorators."""
    seen: dict[str, str] = {}
    _collect(_unwrapped(function), _root(function), seen)
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def place_of(function: Function) -> str:
    """The file and line of a function, as people find it."""
    code = getattr(_unwrapped(function), "__code__", None)
    return "" if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _collect(function: Any, root: Path | None, seen: dict[str, str]) -> None:
    key = f"{function.__module__}.{function.__qualname__}"
    if key in seen:
        return
    tree = _tree(function)
    seen[key] = "" if tree is None else ast.dump(_bare(tree))
    if tree is None:
        code = function.__code__
        seen[key] = f"{code.co_code.hex()} {[repr(constant) for constant in code.co_consts if not _is_code(constant)]}"
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    seen[f"{key}:defaults"] = repr([value for value in defaults if _is_constant(value)])
    for name, value in _named(function):
        found = _unwrapped(value)
        if isinstance(found, FunctionType):
            if _is_own(found, root):
                _collect(found, root, seen)
        elif isinstance(found, type) and _is_own(found, root):
            seen[f"{found.__module__}.{found.__qualname__}"] = _class_code(found)
        elif _is_constant(found):
            seen[f"{function.__module__}:{name}"] = repr(found)


def _named(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals, closed-over values and attributes of modules that a function names, in it and inside it."""
    names = sorted(set(_names(function.__code__)))
    values = {**function.__globals__, **_closure(function)}
    for name in names:
        if name in values:
            value = values[name]
            yield name, value
            if isinstance(value, ModuleType):
                for attribute in names:
                    if hasattr(value, attribute):
                        yield f"{name}.{attribute}", getattr(value, attribute)


def _names(code: Any) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if _is_code(constant):
            yield from _names(constant)


def _closure(function: Any) -> dict[str, Any]:
    cells = function.__closure__ or ()
    found = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
    return found


def _tree(function: Any) -> ast.AST | None:
    try:
        [found] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # typed at a prompt, a lambda among other code
        return None
    return found if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _bare(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.decorator_list = []
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def _class_code(found: type) -> str:
    try:
        return ast.dump(_bare(ast.parse(textwrap.dedent(inspect.getsource(found)))))
    except (OSError, TypeError, SyntaxError):
        return found.__qualname__


def _unwrapped(function: Any) -> Any:
    return inspect.unwrap(function) if callable(function) and not isinstance(function, type) else function


def _is_own(found: Any, root: Path | None) -> bool:
    """Whether a function or class is the project's: of the step's module, or below the same folder."""
    module = sys.modules.get(found.__module__)
    path = getattr(module, "__file__", None) or getattr(getattr(found, "__code__", None), "co_filename", None)
    if path is None or root is None:
        return path is None
    return root in Path(path).resolve().parents and not _is_installed(Path(path))


@cache
def _is_installed(path: Path) -> bool:
    return any(part in ("site-packages", "dist-packages") for part in path.parts)


def _root(function: Function) -> Path | None:
    code = getattr(_unwrapped(function), "__code__", None)
    path = None if code is None else Path(code.co_filename)
    return path.resolve().parent if path is not None and path.exists() else None


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list | frozenset | set):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(_is_constant(item) for pair in value.items() for item in pair)
    return value is None or isinstance(value, str | bytes | int | float | complex)


def _is_code(constant: Any) -> bool:
    return hasattr(constant, "co_code")
