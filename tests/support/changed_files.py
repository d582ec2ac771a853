"""Changes of a table's metadata alone, for tests of what becomes of them: no file of these has a byte."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from lakebed import Table
from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.catalog.transaction.work import Work
from lakebed.table.manifest.delta import ADDED
from lakebed.table.manifest.manifest_pb2 import DataFileRef, Rewrite


def live(table: Table) -> dict[str, str]:
    """The live files by path, each with its vector of deletes."""
    work = table._scope.read()
    return {one.path: one.dv_path for one in live_files(work, table_state(work, table.id)).values()}


def append_file(table: Table) -> str:
    return _added(table, "insert")


def overwrite(table: Table) -> None:
    """Replace all files by one."""
    new = new_file()
    _change(table, "overwrite", lambda files: {"removed": files, "added": (new,)})


def delete_rows(table: Table, path: str, vector: str = "a.puffin") -> None:
    """Give a file a vector of deletes."""

    def altered(files: tuple[DataFileRef, ...]) -> dict[str, Any]:
        [found] = [one for one in files if one.path == path]
        changed = DataFileRef()
        changed.CopyFrom(found)
        changed.dv_path, changed.dv_offset, changed.dv_length = vector, 4, 40
        return {"changed": (changed,)}

    _change(table, "delete", altered)


def compact(table: Table, *paths: str) -> str:
    """Replace files by one with the same rows; all of them unless some are named."""
    new = new_file()

    def rewritten(files: tuple[DataFileRef, ...]) -> dict[str, Any]:
        inputs = tuple(one for one in files if not paths or one.path in paths)
        new.num_rows = sum(one.num_rows - one.deleted_rows for one in inputs)
        rewrite = Rewrite(inputs=[one.path for one in inputs], outputs=[new.path])
        return {"removed": inputs, "added": (new,), "rewrites": (rewrite,)}

    _change(table, "compact", rewritten)
    return new.path


def new_file() -> DataFileRef:
    return DataFileRef(path=f"data/{uuid4()}.parquet", file_size=10, num_rows=1, status=ADDED)


def _added(table: Table, operation: str) -> str:
    new = new_file()
    _change(table, operation, lambda _: {"added": (new,)})
    return new.path


Parts = Callable[[tuple[DataFileRef, ...]], dict[str, Any]]


def _change(table: Table, operation: str, parts: Parts) -> None:
    def do(work: Work) -> None:
        state = table_state(work, table.id)
        files = tuple(live_files(work, state).values())
        delta: Delta = replace(delta_of(state, operation), **parts(files))
        change_files(work, state, delta)

    table._scope.change(do, Request(operation, (table.id,)))
