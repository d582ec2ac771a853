"""A versioned lakehouse catalog. What is exported here is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed.errors import (
        AlreadyExists,
        Conflict,
        Corrupt,
        Expired,
        Forbidden,
        Invalid,
        LakebedError,
        NotFound,
        OutcomeUnknown,
        TimedOut,
        TooLarge,
        Unavailable,
    )

    __version__: str

__all__ = [
    "AlreadyExists",
    "Conflict",
    "Corrupt",
    "Expired",
    "Forbidden",
    "Invalid",
    "LakebedError",
    "NotFound",
    "OutcomeUnknown",
    "TimedOut",
    "TooLarge",
    "Unavailable",
    "__version__",
]

_HOMES = {name: "lakebed.errors" for name in __all__ if name != "__version__"}


def _load(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("lakebed")
    if name not in _HOMES:
        raise AttributeError(f"module 'lakebed' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:
    __getattr__ = _load  # hidden from mypy, which would otherwise take any misspelt name for an export
