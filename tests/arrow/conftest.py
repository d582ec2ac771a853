"""Parquet files that others wrote."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest


@pytest.fixture
def put(tmp_path: Path):
    """Write a table to a file outside the lake, and answer its path."""

    def put(table, name="a.parquet", **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, path, **options)
        return str(path)

    return put
