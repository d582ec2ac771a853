"""What is written once of a table and never changed: schemas, partition specs, sort orders. Each is decoded once."""

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

REMEMBERED = 1000

Made = TypeVar("Made")


class Bodies:
    """Schemas, specs and orders by table and id, the last ones in memory: a read would cost an append a tenth more."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self.get = lru_cache(maxsize=REMEMBERED)(self._schema)
        self._spec = lru_cache(maxsize=REMEMBERED)(self._stored_spec)
        self._order = lru_cache(maxsize=REMEMBERED)(self._stored_order)

    def spec(self, table: str, spec_id: int) -> PartitionSpec:
        """A partition spec; 0 is that of a table without any."""
        return UNPARTITIONED if spec_id == 0 else self._spec(table, spec_id)

    def sort_order(self, table: str, order_id: int) -> SortOrder:
        """A sort order; 0 is none."""
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
                f"a table's {kind.replace('_', ' ')} is not there", subject=f"{kind} {body_id} of table {table}"
            )
        return decode(body)
