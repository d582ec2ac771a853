"""A local folder as a lake's files, and files outside it."""

from pathlib import Path

import pytest

from lakebed.files import LocalFiles
from lakebed.testing.files import Outside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def files(root: Path) -> LocalFiles:
    return LocalFiles(root)


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    def put(name: str, data: bytes) -> str:
        path = tmp_path / "outside" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    return put
