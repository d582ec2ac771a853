"""Fingerprints of steps: what they would do, so that a change of code is seen and a change of a comment is not."""

import ast
import hashlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from lakebed.pipelines.code.constants import constant_text
from lakebed.pipelines.inputs import Given
from lakebed.pipelines.steps import Function, Step, inner_of, name_of

LENGTH = 16
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def fingerprint(step: Step, params: Mapping[str, Any], views: Mapping[str, str]) -> str:
    """What a step would do: its code, the parameters that it takes, how it writes, and the views that it reads."""
    taken = {source.name for source in step.inputs.values() if isinstance(source, Given)}
    code = step.version if step.version is not None else (step.text or code_of(step.function))
    parts = {
        "code": code,
        "inputs": {name: repr(source) for name, source in step.inputs.items()},
        "params": {name: _value_text(value) for name, value in params.items() if name in taken},
        "write": [str(step.write), *step.outputs, *(str(step.key(output)) for output in step.outputs)],
        "expectations": {
            table: [repr(expectation) for expectation in expectations if not expectation.keeps_rows]
            for table, expectations in step.expectations.items()
        },
        "window": None if step.window is None else [step.window.unit, step.window.column, step.window.into],
        "views": {name: views[name] for name in sorted(views)},
    }
    if step.flows:
        parts["flows"] = {flow.name: flow.code for flow in step.flows}
        # A run that goes on with its batches has checked some of them: by the same conditions as the others.
        parts["expectations"] = {table: list(map(repr, found)) for table, found in step.expectations.items()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:LENGTH]


def _value_text(value: Any) -> str:
    return constant_text(value) or ADDRESS.sub("", repr(value))


def code_of(function: Function) -> str:
    """A function and everything that it names in its project, without comments, docstrings and decorators."""
    found = _Collected(_root(function))
    found.add(function)
    return hashlib.sha256(json.dumps(found.texts, sort_keys=True).encode()).hexdigest()


def place_of(function: Function) -> str:
    """The file and line of a function, as people find it."""
    code = getattr(_unwrapped(inner_of(function)), "__code__", None)
    return "" if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


class _Collected:
    """The texts of a function and of what it names, by their names."""

    def __init__(self, root: Path | None) -> None:
        self.texts: dict[str, str] = {}
        self._root = root
        self._seen: set[int] = set()

    def add(self, value: Any) -> None:
        """Add a function, the function and the arguments of a partial, or an object that is called."""
        found = _unwrapped(value)
        if isinstance(found, partial):
            bound = constant_text([list(found.args), dict(found.keywords)])
            self._put(f"{name_of(found)}:bound", str(bound))
            self.add(found.func)
        elif isinstance(found, MethodType):
            self.add(found.__func__)
        elif isinstance(found, FunctionType):
            self._add_function(found)
        elif isinstance(found, type):
            self._add_class(found)
        elif callable(found) and not isinstance(found, BuiltinFunctionType):
            self._put(f"{type(found).__qualname__}:object", str(constant_text(getattr(found, "__dict__", {}))))
            self._add_class(type(found))

    def _add_function(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        tree = _tree(function)
        key = f"{function.__module__}.{function.__qualname__}"
        self._put(key, _code_text(function.__code__) if tree is None else ast.dump(_bare(tree)))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        self._put(f"{key}:defaults", str([text for value in defaults if (text := constant_text(value)) is not None]))
        for name, value in _named(function):
            self._add_named(f"{function.__module__}:{name}", value)

    def _add_named(self, key: str, value: Any) -> None:
        found = _unwrapped(value)
        text = constant_text(found)
        if text is not None:
            self._put(key, text)
        elif isinstance(found, partial) or _is_own(found, self._root):
            self.add(found)

    def _add_class(self, found: type) -> None:
        if id(found) in self._seen or not _is_own(found, self._root):
            return
        self._seen.add(id(found))
        self._put(f"{found.__module__}.{found.__qualname__}", _class_code(found))
        for value in vars(found).values():
            inner = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(inner, FunctionType):
                for name, named in _named(inner):
                    self._add_named(f"{inner.__module__}:{name}", named)
        for base in found.__bases__:
            self._add_class(base)

    def _put(self, key: str, text: str) -> None:
        """Two functions have one name if another function made both."""
        number, name = 1, key
        while self.texts.get(name, text) != text:
            number += 1
            name = f"{key}#{number}"
        self.texts[name] = text


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals, closed-over values and attributes of modules that a function names, in it and inside it."""
    names = sorted(set(_names(function.__code__)))
    values = {**function.__globals__, **_closure(function)}
    for name in names:
        if name in values:
            yield name, values[name]
            if isinstance(values[name], ModuleType):
                yield from _attributes(name, values[name], names, {id(values[name])})


def _attributes(path: str, module: ModuleType, names: Sequence[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    for name in names:
        value = getattr(module, name, None)
        if value is not None and id(value) not in seen:
            yield f"{path}.{name}", value
            if isinstance(value, ModuleType):
                yield from _attributes(f"{path}.{name}", value, names, seen | {id(value)})


def _names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code_text(code: CodeType) -> str:
    """A function whose source is not known: a lambda, or what was typed at a prompt."""
    inner = [_code_text(one) if isinstance(one, CodeType) else constant_text(one) for one in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inner}"


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
    return inspect.unwrap(function) if isinstance(function, FunctionType) else function


def _is_own(found: Any, root: Path | None) -> bool:
    """Whether a function, a class or an object's class is the project's: below the step's folder, or typed in."""
    if not isinstance(found, FunctionType | MethodType | type):
        found = type(found)
    if found.__module__ in ("__main__", "builtins"):
        return bool(found.__module__ == "__main__")
    module = sys.modules.get(found.__module__)
    path = getattr(module, "__file__", None) or getattr(getattr(found, "__code__", None), "co_filename", None)
    if path is None or root is None:
        return path is None
    return root in Path(path).resolve().parents and not _is_installed(Path(path))


@cache
def _is_installed(path: Path) -> bool:
    return any(part in ("site-packages", "dist-packages") for part in path.parts)


def _root(function: Function) -> Path | None:
    inner = _unwrapped(inner_of(function))
    called = inner if hasattr(inner, "__code__") else vars(type(inner)).get("__call__")
    code = getattr(called, "__code__", None)
    path = None if code is None else Path(code.co_filename)
    return path.resolve().parent if path is not None and path.exists() else None
