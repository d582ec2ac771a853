"""A table's immutable bodies: schemas, partition specs, sort orders. Each is decoded once."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from lakebed.caches import Recent
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
DROPPED_FIELD = "dropped_field"
PARTITION_FIELD = "partition_field"
"""Kinds of a table's bodies, and of the ids that its allocators give out."""

CACHE_SIZE = 3000

_DECODE: dict[str, Callable[[bytes], Any]] = {
    SCHEMA: schema_from_json,
    SPEC: spec_from_json,
    SORT_ORDER: order_from_json,
}

BodyKey = tuple[str, str, int]
"""A table, a kind and an id."""


class Bodies:
    """Schemas, specs and sort orders by table and id. Recent ones are cached: else an append takes a tenth longer."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self._known: Recent[BodyKey, Any] = Recent(CACHE_SIZE)

    def get(self, table: str, schema_id: int) -> Schema:
        """A schema."""
        return cast(Schema, self._stored((table, SCHEMA, schema_id)))

    def spec(self, table: str, spec_id: int) -> PartitionSpec:
        """A partition spec; id 0 is the empty spec."""
        return UNPARTITIONED if spec_id == 0 else cast(PartitionSpec, self._stored((table, SPEC, spec_id)))

    def sort_order(self, table: str, order_id: int) -> SortOrder:
        """A sort order; id 0 means unsorted."""
        return UNSORTED if order_id == 0 else cast(SortOrder, self._stored((table, SORT_ORDER, order_id)))

    def load(self, wanted: Iterable[BodyKey]) -> None:
        """Read bodies that will be needed, in one round trip; those that are missing are left to whoever asks."""
        new = [key for key in dict.fromkeys(wanted) if key[2] and self._known.get(key) is None]
        for key, body in zip(new, self._metastore.bodies(new) if new else (), strict=True):
            if body is not None:
                self._known.put(key, _DECODE[key[1]](body))

    def _stored(self, key: BodyKey) -> Any:
        known = self._known.get(key)
        return self._loaded(key) if known is None else known

    def _loaded(self, key: BodyKey) -> Any:
        table, kind, body_id = key
        [body] = self._metastore.bodies([key])
        if body is None:
            raise Corrupt(
                f"a table's {kind.replace('_', ' ')} is missing", subject=f"{kind} {body_id} of table {table}"
            )
        made = _DECODE[kind](body)
        self._known.put(key, made)
        return made
