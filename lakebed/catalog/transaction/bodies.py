"""A table's immutable bodies: schemas, partition specs, sort orders. Each is decoded once."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from lakebed.errors import Corrupt
from lakebed.metastore import Metastore
from lakebed.table.partition.json import order_from_json, spec_from_json
from lakebed.table.partition.sort_order import UNSORTED, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec
from lakebed.table.schema.json import schema_from_json
from lakebed.table.schema.schema import Schema

SCHEMA = "schema"
SPEC = "spec"
SORT_ORDER = "sort_order"
FIELD = "field"
PARTITION_FIELD = "partition_field"
"""Kinds of a table's bodies, and of the ids that its allocators give out."""

CACHE_SIZE = 1000

Made = TypeVar("Made")


class Bodies:
    """Schemas, specs and sort orders by table and id. Recent ones are cached: else an append takes a tenth longer."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self.get = lru_cache(maxsize=CACHE_SIZE)(self._schema)
        self._spec = lru_cache(maxsize=CACHE_SIZE)(self._stored_spec)
        self._order = lru_cache(maxsize=CACHE_SIZE)(self._stored_order)

    def spec(self, table: str, spec_id: int) -> PartitionSpec:
        """A partition spec; id 0 is the empty spec."""
        return UNPARTITIONED if spec_id == 0 else self._spec(table, spec_id)

    def sort_order(self, table: str, order_id: int) -> SortOrder:
        """A sort order; id 0 means unsorted."""
        return UNSORTED if order_id == 0 else self._order(table, order_id)

    def _schema(self, table: str, schema_id: int) -> Schema:
        return self._stored(table, SCHEMA, schema_id, schema_from_json)

    def _stored_spec(self, table: str, spec_id: int) -> PartitionSpec:
        return self._stored(table, SPEC, spec_id, spec_from_json)

    def _stored_order(self, table: str, order_id: int) -> SortOrder:
        return self._stored(table, SORT_ORDER, order_id, order_from_json)

    def _stored(self, table: str, kind: str, body_id: int, decode: Callable[[bytes], Made]) -> Made:
        [body] = self._metastore.bodies([(table, kind, body_id)])
        if body is None:
            raise Corrupt(
                f"a table's {kind.replace('_', ' ')} is missing", subject=f"{kind} {body_id} of table {table}"
            )
        return decode(body)
