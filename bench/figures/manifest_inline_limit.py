"""Up to which size inline manifests pay off: a commit, and a read of it, with the manifest inline or in a file.

A manifest that is not inline has its entries in a file, column by column, and its record says where. The files exist
only as entries, each with statistics of six columns.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import lakebed
from bench.data.synthetic_files import SCHEMA, entry
from bench.figure import Row, ratio
from bench.machine import is_calm
from bench.timing import Pairs, in_turn, seconds
from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.deltas import history, whole_manifest
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction import pending_delta
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.work import Work

SIZES = (1_000, 4_000, 16_000, 64_000, 90_000)
ROUNDS, EACH = 5, 10
ENTRY_BYTES = 238
INLINE, IN_FILE = 95_000, 300
"""Limits: a manifest whose entries are in a file has about 200 bytes left, which are always inline."""


def measure(folder: Path, sizes: Sequence[int] = SIZES, each: int = EACH) -> list[Row]:
    return [row for size in sizes for row in _compared(folder / f"manifests-{size}", size, each)]


def _compared(folder: Path, size: int, each: int) -> list[Row]:
    files = size // ENTRY_BYTES
    in_file, inline = _Kind(folder / "in-file", IN_FILE, files), _Kind(folder / "inline", INLINE, files)
    for kind in (in_file, inline):
        kind.commit()
    commits = in_turn(in_file.commit, inline.commit, rounds=ROUNDS, each=each, calm=lambda: is_calm(folder))
    for kind in (in_file, inline):
        kind.lake.close()  # which empties the WAL
    what = f"{size // 1000} kB ({files:,} files)"
    return [
        ratio(f"a commit with a manifest of {what}, file / inline", commits),
        ratio(f"reading a delta of {what}, file / inline", _in_new_lakes(in_file.read, inline.read)),
        ratio(f"listing a snapshot of {what}, file / inline", _in_new_lakes(in_file.list, inline.list)),
        _bytes(f"bytes of a commit of {what}, file / inline", in_file, inline),
    ]


class _Kind:
    """A lake with one table, whose manifests are all inline or all in files; there are no checkpoints."""

    def __init__(self, folder: Path, limit: int, files: int) -> None:
        self.folder, self.limit, self.files = folder, limit, files
        self.commits = 0
        self.lake = lakebed.connect(folder)
        never = {"checkpoint.deltas": "0", "checkpoint.bytes": "0"}
        self.table = self.lake.catalog().create_table("orders", SCHEMA, properties=never)

    def commit(self) -> float:
        first = self.commits * self.files
        added = tuple(map(entry, range(first, first + self.files)))
        self.commits += 1

        def do(work: Work) -> None:
            state = table_state(work, self.table.id)
            change_files(work, state, replace(delta_of(state, "insert"), added=added))

        with _inline_limit(self.limit):
            return seconds(lambda: self.table._scope.change(do, Request("append", (self.table.id,))))

    def read(self) -> float:
        """The seconds for each delta, from the store to its whole manifest, with empty caches."""
        lake = lakebed.connect(self.folder)
        work = lake.catalog().table("orders")._scope.read()
        partition = table_state(work, self.table.id).partition
        taken = seconds(lambda: [whole_manifest(work.context, delta) for delta in history(work, partition)])
        lake.close()
        return taken / self.commits

    def list(self) -> float:
        """The seconds for each snapshot in a listing, which shows authors, times and row counts, but no files."""
        lake = lakebed.connect(self.folder)
        table = lake.catalog().table("orders")
        taken = seconds(table.snapshots)
        lake.close()
        return taken / self.commits

    def sizes(self) -> tuple[int, int]:
        """The bytes of a commit in the store, and in files."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        store = sum(path.stat().st_size for path in files if ".db" in path.name)
        return store // self.commits, (sum(path.stat().st_size for path in files) - store) // self.commits


def _in_new_lakes(in_file: Callable[[], float], inline: Callable[[], float]) -> Pairs:
    return in_turn(in_file, inline, rounds=ROUNDS, each=3)


def _bytes(what: str, in_file: _Kind, inline: _Kind) -> Row:
    (store, files), (whole, _) = in_file.sizes(), inline.sizes()
    detail = f"{store:,} in the store and {files:,} in a file against {whole:,} in the store"
    return Row(what, f"{(store + files) / whole:.2f}×", detail)


@contextmanager
def _inline_limit(limit: int) -> Iterator[None]:
    """Another limit than the built-in one, which callers of Lakebed can't change."""
    usual, pending_delta.INLINE_BYTES = pending_delta.INLINE_BYTES, limit
    try:
        yield
    finally:
        pending_delta.INLINE_BYTES = usual
