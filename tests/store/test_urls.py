"""Opening a store by its URL."""

import os
from pathlib import Path

import pytest

from lakebed.errors import Invalid
from lakebed.store import MemoryStore, SQLiteStore, open_store
from lakebed.testing.store.steps import put, state


def test_a_store_in_memory_is_opened() -> None:
    with open_store("memory:") as store:
        assert isinstance(store, MemoryStore)
        assert store.url == "memory:"


def test_a_file_is_opened_and_its_url_opens_it_again(tmp_path: Path) -> None:
    with open_store(f"sqlite:{tmp_path}/lake.db") as store:
        assert isinstance(store, SQLiteStore)
        put(store, a=b"1")
    with open_store(store.url) as store:
        assert state(store) == {b"a": b"1"}


def test_a_relative_path_starts_in_the_working_directory_and_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:lake/lake.db") as store:
        os.chdir("/")
        put(store, a=b"1")
    assert store.url == f"sqlite:{tmp_path}/lake/lake.db"
    assert (tmp_path / "lake" / "lake.db").is_file()


def test_three_slashes_begin_an_absolute_path(tmp_path: Path) -> None:
    with open_store(f"sqlite://{tmp_path}/lake.db") as store:
        assert store.url == f"sqlite:{tmp_path}/lake.db"


@pytest.mark.parametrize(
    "url",
    [
        "",
        ":",
        "memory",
        "memory:x",
        "MEMORY:",
        "sqlite",
        "sqlite:",
        "sqlite::memory:",
        "sqlite://lake.db",
        "sqlite:nul\x00byte",
        "sqlite:/",
        "/tmp/lake.db",
        "file:lake.db",
        "postgresql://host/lake",
        "http://host:8181",
    ],
)
def test_a_bad_url_is_refused_and_nothing_is_made(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid):
        open_store(url)
    assert list(tmp_path.iterdir()) == []
