"""The small lake of `tests.support.mutations`, made once and copied: a copy takes a tenth of the time."""

from collections import deque
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore
from tests.support.mutations import Held, grown, strangers_file


def grown_store() -> MemoryStore:
    """A store with the small lake: `held_in` finds its handles, once a lake is opened on it."""
    return copied(_template()[0])


def held_in(lake: Lake) -> Held:
    """The handles of the small lake in a lake on a copy of its store."""
    held = _template()[1]
    dev = lake.catalog().branch(held.dev.ref)
    return seen_from(held, lake.catalog())._replace(lake=lake, dev=dev, stranger=strangers_file(lake))


def seen_from(held: Held, line: Any) -> Held:
    """The same objects, from another line, moment or transaction: handles are ids in a scope."""

    def seen(handle: Any) -> Any:
        return replace(handle, _scope=line._scope) if is_handle(handle) else handle

    return Held(*map(seen, held))._replace(main=line)


def is_handle(value: Any) -> bool:
    """Whether this is a handle of an object on a line."""
    return is_dataclass(value) and hasattr(value, "_scope") and not isinstance(value, Catalog)


def copied(store: MemoryStore) -> MemoryStore:
    copy = MemoryStore()
    copy._keys = list(store._keys)
    copy._values = {key: list(values) for key, values in store._values.items()}
    copy._commits = list(store._commits)
    copy._log = deque(store._log, store._log.maxlen)
    return copy


@cache
def _template() -> tuple[MemoryStore, Held]:
    store = MemoryStore()
    with TemporaryDirectory() as folder:
        metastore, files = RecordsMetastore(store), LocalFiles(Path(folder))
        project = open_project(metastore, DEFAULT, "ada")
        held = grown(Lake(Context(metastore, files, Bodies(metastore), project, "ada")))
        own = [path for path in Path(folder).rglob("*") if path.is_file() and path.parent.name != "strangers"]
        assert own == [], "a copy would miss these files: keep the rows of the small lake inline"
    return store, held
