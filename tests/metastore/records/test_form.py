"""The records form passes the suite on every store, and leaves records that agree."""

import pytest

from lakebed.metastore.records.form import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore, SQLiteStore
from lakebed.testing.metastore import MetastoreSuite

pytestmark = pytest.mark.sampled(3)


class RecordsSuite(MetastoreSuite):
    @pytest.fixture
    def metastore(self, store):
        metastore = RecordsMetastore(store)
        yield metastore
        assert check(store) == []
        metastore.close()

    @pytest.fixture
    def reopen(self, store):
        return lambda: RecordsMetastore(store)


class TestInMemory(RecordsSuite):
    @pytest.fixture
    def store(self):
        return MemoryStore()


class TestInSQLite(RecordsSuite):
    @pytest.fixture
    def store(self, tmp_path):
        return SQLiteStore(tmp_path / "lake.db")

    @pytest.fixture
    def reopen(self, tmp_path):
        stores = []

        def again():
            stores.append(SQLiteStore(tmp_path / "lake.db"))
            return RecordsMetastore(stores[-1])

        yield again
        for store in stores:
            store.close()
