"""Bytes of metadata that a one-row commit leaves, including checkpoints, against PyIceberg and deltalake."""

from functools import partial
from importlib.metadata import version
from pathlib import Path

import lakebed
from bench.data.one_row import ROW, new_table
from bench.data.peer_tables import Append, new_delta, new_iceberg
from bench.figure import Figure, Row
from bench.figures.commits import KINDS

COMMITS, PEER_COMMITS = 2_000, 100


def measure(folder: Path, commits: int = COMMITS, peer_commits: int = PEER_COMMITS) -> list[Row]:
    """All files count except those with rows. The rows of inline commits are in the database, so they count."""
    ours = [_ours(folder / kind, kind, commits) for kind in KINDS]
    iceberg, delta = folder / "iceberg", folder / "delta"
    theirs = [
        _per_commit(f"pyiceberg {version('pyiceberg')}", iceberg, new_iceberg(iceberg), peer_commits),
        _per_commit(f"deltalake {version('deltalake')}", delta, new_delta(delta), peer_commits),
    ]
    return ours + theirs


def _ours(folder: Path, kind: str, commits: int) -> Row:
    lake = lakebed.connect(folder)
    lake.catalog().create_namespace("sales")
    new_table(lake, "orders", KINDS[kind])
    lake.close()  # which empties the WAL
    before = _sizes(folder)
    lake = lakebed.connect(folder)
    table = lake.catalog().table("sales.orders")
    for _ in range(commits):
        table.append(ROW)
    lake.close()
    after = _sizes(folder)
    store, files = ((now - then) / commits for now, then in zip(after, before, strict=True))
    detail = f"of {commits:,} commits; {store:,.0f} in the store, {files:,.0f} in checkpoints"
    return Row(f"metadata of a commit, {kind}", f"{store + files:,.0f} bytes", detail)


def _per_commit(name: str, folder: Path, append: Append, commits: int) -> Row:
    before = sum(_sizes(folder))
    for _ in range(commits):
        append()
    size = (sum(_sizes(folder)) - before) / commits
    return Row(f"metadata of a commit, {name}", f"{size:,.0f} bytes", f"of the first {commits:,} commits")


def _sizes(folder: Path) -> tuple[int, int]:
    """The bytes of databases, and those of other files that are not Parquet."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    databases = [path for path in files if ".db" in path.name]
    return _total_size(databases), _total_size([path for path in files if path not in databases])


def _total_size(files: list[Path]) -> int:
    return sum(path.stat().st_size for path in files)


FIGURE = Figure(
    "metadata",
    "The metadata of one-row commits",
    measure,
    quick=partial(measure, commits=150, peer_commits=3),
)
