"""A table of orders, with columns inside a struct and a list, for tests of schemas that change under their rows."""

from typing import Any

import pyarrow

from lakebed import Catalog, Field, Schema, Table
from lakebed.table.types.types import INT, LONG, parse_type

SCHEMA = Schema(
    [
        Field("id", LONG, required=True),
        Field("price", INT),
        Field("address", parse_type("struct<city: string>")),
        Field("tags", parse_type("list<struct<name: string>>")),
    ]
)
ROWS = pyarrow.Table.from_pylist(
    [
        {"id": 1, "price": 10, "address": {"city": "Rome"}, "tags": [{"name": "new"}]},
        {"id": 2, "price": None, "address": None, "tags": []},
    ],
    pyarrow.schema(
        [
            pyarrow.field("id", pyarrow.int64(), nullable=False),
            ("price", pyarrow.int32()),
            ("address", pyarrow.struct([("city", pyarrow.string())])),
            ("tags", pyarrow.list_(pyarrow.struct([("name", pyarrow.string())]))),
        ]
    ),
)


def create_orders(catalog: Catalog, name: str = "orders") -> Table:
    """The table, with two rows."""
    table = catalog.create_table(name, SCHEMA)
    table.append(ROWS)
    return table


def rows(table: Any, read: Any = "arrow", **asked: Any) -> list[dict[str, Any]]:
    """A table's rows as Python has them; `read` is `arrow`, or the Spark session that reads them."""
    if read == "arrow":
        found: list[dict[str, Any]] = table.scan(**asked).to_arrow().to_pylist()
        return found
    collected = [one.asDict(recursive=True) for one in table.read(read, **asked).collect()]
    return sorted(collected, key=lambda row: str(row.get("id", row.get("a"))))  # Spark has its own order of files
