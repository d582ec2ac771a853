"""Names of types in SQL, as Spark has them."""

from typing import TYPE_CHECKING

from lakebed.errors import Invalid
from lakebed.table.sql.tree import shown_node
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    Decimal,
    Type,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

# By sqlglot's names. Spark's TIMESTAMP is an instant; of a zone-less moment it says TIMESTAMP_NTZ.
_TYPES: dict[str, Type] = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "BIGINT": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMPTZ,
    "TIMESTAMPTZ": TIMESTAMPTZ,
    "TIMESTAMPLTZ": TIMESTAMPTZ,
    "TIMESTAMPNTZ": TIMESTAMP,
}
_DECIMAL = (10, 0)  # Spark's DECIMAL without numbers


def sql_type(node: "Node") -> Type:
    """The type that CAST names; `Invalid` for one that no table has, or that only Spark casts to."""
    name = getattr(node.this, "name", "")
    if name == "DECIMAL":
        return _decimal(node)
    found = _TYPES.get(name)
    if found is None or node.expressions:
        raise Invalid(
            "the local engine does not cast to this type",
            subject=shown_node(node),
            expected="boolean, int, bigint, float, double, decimal(p, s), string, binary, date, timestamp or "
            "timestamp_ntz",
            advice="The local engine can not: read with Spark, change the rows there, and overwrite.",
        )
    return found


def _decimal(node: "Node") -> Decimal:
    given = [int(one.this.this) for one in node.expressions]
    precision, scale = (*given, *_DECIMAL[len(given) :])
    return Decimal(precision, scale)
