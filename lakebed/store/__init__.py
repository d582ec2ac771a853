"""Ordered, transactional key-value stores. docs/internals/store.md states what they guarantee."""

from lakebed.store.memory import MemoryStore
from lakebed.store.sqlite.read_only import ReadOnlySQLiteStore
from lakebed.store.sqlite.store import SQLiteStore
from lakebed.store.store import Ran, Store
from lakebed.store.subspace import Subspace
from lakebed.store.transaction import Committed, KeyRange, Page, RangeRead, Reads, Stale, Transaction
from lakebed.store.urls import open_store
from lakebed.store.version import Version

__all__ = [
    "Committed",
    "KeyRange",
    "MemoryStore",
    "Page",
    "Ran",
    "RangeRead",
    "ReadOnlySQLiteStore",
    "Reads",
    "SQLiteStore",
    "Stale",
    "Store",
    "Subspace",
    "Transaction",
    "Version",
    "open_store",
]
