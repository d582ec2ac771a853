"""Stores by their URLs."""

from lakebed.errors import Invalid
from lakebed.store.memory import MemoryStore
from lakebed.store.sqlite.store import SQLiteStore
from lakebed.store.store import Store


def open_store(url: str) -> Store:
    """Open a store: `memory:` is a new empty one, `sqlite:folder/file.db` is a file, created if it is missing.

    The text after `sqlite:` is taken literally as a path: nothing in it is escaped.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "memory" and colon and not rest:
        return MemoryStore()
    if scheme == "sqlite" and rest and not _is_misleading(rest):
        return SQLiteStore(rest)
    raise Invalid("this is not the URL of a store", subject=repr(url), expected="memory: or sqlite:<path of a file>")


def _is_misleading(path: str) -> bool:
    """Other programs read `sqlite://lake.db` as a file in the working directory; as a path it is in the root."""
    return path == ":memory:" or (path.startswith("//") and not path.startswith("///"))
