"""Lakes in memory, whose records are proved to agree when a test is over."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakebed import Catalog, Lake
from lakebed.arrow.read import stored
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.tables import properties
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import KeyRange, MemoryStore, Store

Open = Callable[..., Lake]
Unchanged = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def store() -> Iterator[Store]:
    with MemoryStore() as store:
        yield store
        assert check(store) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the lake's files are."""
    return tmp_path / "files"


@pytest.fixture
def open_lake(folder: Path) -> Open:
    """Open a lake on any store; it lasts as long as that does."""

    def open_lake(store: Store, author: str = "ada") -> Lake:
        metastore = RecordsMetastore(store)
        project = open_project(metastore, DEFAULT, author)
        return Lake(Context(metastore, LocalFiles(folder), Bodies(metastore), project, author))

    return open_lake


@pytest.fixture
def lake(store: Store, open_lake: Open) -> Lake:
    return open_lake(store)


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return lake.catalog()


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appends write files however few their rows are: for tests of what becomes of files."""
    monkeypatch.setattr(properties, "INLINE_BYTES", replace(properties.INLINE_BYTES, default=0))


@pytest.fixture(params=["0", "64000"], ids=["files", "inline"])
def inline(request: pytest.FixtureRequest) -> str:
    """How large an append may be that writes no file: none, and all those of tests."""
    return str(request.param)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The Parquet files that the local engine has opened."""
    found = list[Any]()
    own = stored.ParquetFile

    def noted(source: Any, **options: Any) -> Any:
        found.append(source)
        return own(source, **options)

    monkeypatch.setattr(stored, "ParquetFile", noted)
    return found


@pytest.fixture
def files(folder: Path, lake: Lake) -> Callable[[], dict[str, bytes]]:
    """The lake's files with their bytes."""

    def files() -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return files


@pytest.fixture
def unchanged(store: Store, files: Callable[[], dict[str, bytes]]) -> Unchanged:
    """Law 10: what happens inside changes no byte of the store and no file."""

    @contextmanager
    def unchanged() -> Iterator[None]:
        rows, contents, stamp = dump(store), files(), newest(store)
        yield
        assert newest(store) == stamp
        assert dump(store) == rows
        assert files() == contents

    return unchanged


def dump(store: Store) -> list[tuple[bytes, bytes]]:
    return store.read(lambda transaction: transaction.snapshot.get_range(KeyRange(b"", b"\xff")).entries)


def newest(store: Store) -> bytes:
    return store.read(lambda transaction: transaction.read_stamp)
