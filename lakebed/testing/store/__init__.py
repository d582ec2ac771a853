"""The suite that every store passes. An outside backend subclasses it and gives it a `store`.

class TestMyStore(StoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with MyStore(tmp_path) as store:
            yield store

    @pytest.fixture
    def other(self, store, tmp_path):        # a second handle on the same data, where the backend has one
        with MyStore(tmp_path) as other:
            yield other
"""

from collections.abc import Iterator

import pytest

from lakebed.store import Store
from lakebed.testing.store.conflicts import ConflictsSuite
from lakebed.testing.store.keys import KeysSuite
from lakebed.testing.store.limits import LimitsSuite
from lakebed.testing.store.stamps import StampsSuite


class StoreSuite(KeysSuite, ConflictsSuite, StampsSuite, LimitsSuite):
    """What a store promises, whatever is under it. `store` is empty; `other` sees the same data."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("the subclass says how to open an empty store")

    @pytest.fixture
    def other(self, store: Store) -> Iterator[Store]:
        yield store
