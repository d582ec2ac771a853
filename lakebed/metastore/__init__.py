"""The versioned object tree. docs/internals/metastore.md states what it guarantees."""

from lakebed.metastore.change import (
    AttributeRead,
    Change,
    Clash,
    Commit,
    DataChange,
    DataRead,
    Holder,
    ListingRead,
    NameRead,
    Operation,
    State,
)
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.line import ROOT, Line
from lakebed.metastore.metastore import TOMBSTONE, Child, Dropped, Metastore, Reader, UnfinishedCheckpoint
from lakebed.metastore.pages import Page
from lakebed.metastore.records.form import RecordsMetastore

__all__ = [
    "ROOT",
    "TOMBSTONE",
    "AttributeRead",
    "Change",
    "Child",
    "Clash",
    "Commit",
    "DataChange",
    "DataRead",
    "Dropped",
    "Holder",
    "Line",
    "ListingRead",
    "Metastore",
    "NameRead",
    "Operation",
    "Page",
    "Reader",
    "RecordsMetastore",
    "State",
    "UnfinishedCheckpoint",
    "life",
    "new_id",
]
