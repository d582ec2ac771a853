"""A lake in memory, and the state that the functions of the catalog work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakebed import Catalog, Lake
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the lake's files are."""
    return tmp_path / "files"


@pytest.fixture
def lake(folder: Path) -> Iterator[Lake]:
    store = MemoryStore()
    metastore = RecordsMetastore(store)
    project = open_project(metastore, DEFAULT, "ada")
    with Lake(Context(metastore, LocalFiles(folder), Bodies(metastore), project, "ada")) as lake:
        yield lake
        assert check(store) == []


@pytest.fixture
def main(lake: Lake) -> Catalog:
    return lake.catalog()
