"""Sources that others wrote."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

Put = Callable[..., str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder outside the lake."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def put(source: Path) -> Put:
    """Write a Parquet file below the source, and answer its path."""

    def put(name: str, columns: Any, **options: Any) -> str:
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns)
        pyarrow.parquet.write_table(table, path, **options)
        return str(path)

    return put


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """The files of a folder, with their bytes and times."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def rows(table: Any, *columns: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a table, sorted."""
    found = table.scan(columns=list(columns) or None).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)
