"""numpy and pyarrow, loaded when they are first used: what only asks for metadata, as most words of the command line
do, is done before they would have been loaded (0.13 of 0.37 s).

A module that takes them from here postpones its annotations (`from __future__ import annotations`), and uses them in
functions only.
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


if TYPE_CHECKING:
    import numpy as numpy
    import pyarrow as pyarrow
    import pyarrow.compute
    import pyarrow.ipc
    import pyarrow.parquet
else:
    numpy = _Deferred("numpy")
    pyarrow = _Deferred("pyarrow", "compute", "ipc", "parquet")
