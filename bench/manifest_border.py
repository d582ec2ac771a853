"""Where inline manifests stop to pay: a commit of some files, and a read of it, with the manifest inline and in a file.

One that is not inline has its entries in a file, column by column, and its record says where. The files are entries
alone, each with statistics of six columns.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import lakebed
from bench.fabricated import SCHEMA, entry
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
INLINE, APART = 95_000, 300
"""Borders: of a manifest whose entries are in a file, about 200 bytes are left, which are always inline."""


def measure(folder: Path, sizes: Sequence[int] = SIZES, each: int = EACH) -> list[Row]:
    return [row for size in sizes for row in _compared(folder / f"manifests-{size}", size, each)]


def _compared(folder: Path, size: int, each: int) -> list[Row]:
    files = size // ENTRY_BYTES
    apart, inline = _Kind(folder / "apart", APART, files), _Kind(folder / "inline", INLINE, files)
    for kind in (apart, inline):
        kind.commit()
    commits = in_turn(apart.commit, inline.commit, rounds=ROUNDS, each=each, calm=lambda: is_calm(folder))
    for kind in (apart, inline):
        kind.lake.close()  # which empties the WAL
    what = f"{size // 1000} kB ({files:,} files)"
    return [
        ratio(f"a commit with a manifest of {what}, file / inline", commits),
        ratio(f"reading a delta of {what}, file / inline", _in_new_lakes(apart.read, inline.read)),
        ratio(f"listing a snapshot of {what}, file / inline", _in_new_lakes(apart.list, inline.list)),
        _bytes(f"bytes of a commit of {what}, file / inline", apart, inline),
    ]


class _Kind:
    """A lake with one table, whose manifests are all inline or none of them; there are no checkpoints."""

    def __init__(self, folder: Path, border: int, files: int) -> None:
        self.folder, self.border, self.files = folder, border, files
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

        with _bordered(self.border):
            return seconds(lambda: self.table._scope.change(do, Request("append", (self.table.id,))))

    def read(self) -> float:
        """The seconds that each delta takes, from the store to its whole manifest, with nothing remembered."""
        lake = lakebed.connect(self.folder)
        work = lake.catalog().table("orders")._scope.read()
        partition = table_state(work, self.table.id).partition
        taken = seconds(lambda: [whole_manifest(work.context, one) for one in history(work, partition)])
        lake.close()
        return taken / self.commits

    def list(self) -> float:
        """The seconds that each snapshot takes for who wants no files, but who made it, when, and how many rows."""
        lake = lakebed.connect(self.folder)
        table = lake.catalog().table("orders")
        taken = seconds(table.snapshots)
        lake.close()
        return taken / self.commits

    def sizes(self) -> tuple[int, int]:
        """The bytes of a commit in the store, and in files."""
        found = [one for one in self.folder.rglob("*") if one.is_file()]
        store = sum(one.stat().st_size for one in found if ".db" in one.name)
        return store // self.commits, (sum(one.stat().st_size for one in found) - store) // self.commits


def _in_new_lakes(apart: Callable[[], float], inline: Callable[[], float]) -> Pairs:
    return in_turn(apart, inline, rounds=ROUNDS, each=3)


def _bytes(what: str, apart: _Kind, inline: _Kind) -> Row:
    (store, files), (whole, _) = apart.sizes(), inline.sizes()
    detail = f"{store:,} in the store and {files:,} in a file against {whole:,} in the store"
    return Row(what, f"{(store + files) / whole:.2f}×", detail)


@contextmanager
def _bordered(limit: int) -> Iterator[None]:
    """With another border, which no caller of Lakebed has to choose."""
    usual, pending_delta.INLINE_BYTES = pending_delta.INLINE_BYTES, limit
    try:
        yield
    finally:
        pending_delta.INLINE_BYTES = usual
