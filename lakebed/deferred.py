"""numpy and pyarrow, and parts of Lakebed, loaded when they are first used: what only asks for metadata, as most words
of the command line do, is done before they would have been loaded (0.13 of 0.37 s, then another 0.13 of 0.32 s).

A module that takes them from here uses them in functions only, and its annotations name what they have in quotes, or
are postponed (`from __future__ import annotations`).
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Deferred(ModuleType):
    """A module that loads itself at the first use of one of its names, and each of some parts at its own."""

    def __init__(self, name: str, *parts: str) -> None:
        super().__init__(name)
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what pickle, inspect and doctest look for
            raise AttributeError(name)
        if name in self._parts:
            value: Any = import_module(f"{self.__name__}.{name}")
        else:
            value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value
        return value


class _Part(ModuleType):
    """A module of Lakebed that loads itself at the first use of a name, of which it keeps none: they may be patched."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def deferred(module: str) -> ModuleType:
    """A module of Lakebed that is loaded when it is first used.

    It stands in the `else:` of an `if TYPE_CHECKING:` that imports the same module under the same name: so the type
    checker and the check of the layers see an import like any other.
    """
    return _Part(module)


if TYPE_CHECKING:
    import numpy as numpy
    import pyarrow as pyarrow
    import pyarrow.compute
    import pyarrow.ipc
    import pyarrow.parquet
else:
    numpy = _Deferred("numpy")
    pyarrow = _Deferred("pyarrow", "compute", "ipc", "parquet")
