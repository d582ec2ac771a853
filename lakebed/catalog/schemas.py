"""The schemas of tables: immutable bodies, so that each is read and decoded once."""

from functools import lru_cache

from lakebed.errors import Corrupt
from lakebed.metastore import Metastore
from lakebed.table.schema import Schema
from lakebed.table.schema_json import schema_from_json

KIND = "schema"
REMEMBERED = 1000


class Schemas:
    """Schemas by table and id, the last ones kept in memory: a read would cost an append a tenth more."""

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self.get = lru_cache(maxsize=REMEMBERED)(self._stored)

    def _stored(self, table: str, schema_id: int) -> Schema:
        [body] = self._metastore.bodies([(table, KIND, schema_id)])
        if body is None:
            raise Corrupt("a table's schema is not there", subject=f"schema {schema_id} of table {table}")
        return schema_from_json(body)
