"""Opening a store by its URL."""

from lakebed.errors import Invalid
from lakebed.store.memory import MemoryStore
from lakebed.store.sqlite.store import SQLiteStore
from lakebed.store.store import Store


def open_store(url: str) -> Store:
    """`memory:` is a new empty store; `sqlite:folder/file.db` a file, made if it is not there.

    What follows `sqlite:` is a path as it stands: nothing in it is escaped.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "memory" and colon and not rest:
        return MemoryStore()
    if scheme == "sqlite" and rest and not _is_misleading(rest):
        return SQLiteStore(rest)
    raise Invalid("this is not the URL of a store", subject=repr(url), expected="memory: or sqlite:<path of a file>")


def _is_misleading(path: str) -> bool:
    """Other programs read `sqlite://lake.db` as a file in the working directory; as a path it is one in the root."""
    return path == ":memory:" or (path.startswith("//") and not path.startswith("///"))
