"""No call opens the files of the catalog beside SQLite: closing them would drop its locks."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import LakebedError

_SQLITES = ("catalog.db", "catalog.db-wal", "catalog.db-shm")
_opened: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes):
        _opened.append(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())


@contextmanager
def watched() -> Iterator[list[str]]:
    global _opened
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


@pytest.fixture(scope="module", autouse=True)
def _watching() -> None:
    sys.addaudithook(_hook)


def test_no_call_on_an_open_lake_opens_the_files_that_sqlite_has_locked(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    pq.write_table(pa.table({"a": [3]}), tmp_path / "x.parquet")
    with lakebed.connect(str(folder)) as lake, watched() as opened:
        main = lake.catalog()
        table = main.create_table("t", {"a": "long"})
        table.append([{"a": 1}])
        table.add_files([str(tmp_path / "x.parquet")])
        table.upsert([{"a": 1}], on=["a"])
        for name in _SQLITES:
            with suppress(LakebedError):
                table.add_files([str(folder / name)])
        with suppress(LakebedError):
            table.add_files(str(folder))
        table.compact()
        table.checkpoint()
        lake.backup(str(tmp_path / "copy"))
        lake.backup(str(tmp_path / "copy"))
        assert lake.check(deep=True) == []
        assert list(lake.check()) == []
        lake.usage()
        with suppress(LakebedError):
            lake.backup(str(folder))
        with lakebed.connect(str(folder)) as again, lakebed.connect(str(folder), read_only=True) as reader:
            assert again.catalog().table("t").scan().count() == reader.catalog().table("t").scan().count() == 2
        locked = {str(folder / name) for name in _SQLITES}
        assert not [path for path in opened if path in locked]
        assert any(path.startswith(str(folder)) for path in opened), "the watch sees something"
        assert table.scan().count() == 2
