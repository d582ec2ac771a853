"""Columns that every table has besides its own, by the names and ids that Iceberg reserves for them.

`_file` and `_pos` say where a row is. `_row_id` and `_last_updated_sequence_number` are its lineage: a file has them as
columns only for rows that were written again, else they follow from the file's `first_row_id` and sequence number.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import LONG, STRING, Field

FILE: Final = Field("_file", STRING, id=2147483646, physical_name="_file")
POSITION: Final = Field("_pos", LONG, id=2147483645, physical_name="_pos")
ROW_ID: Final = Field("_row_id", LONG, id=2147483540, physical_name="_row_id")
LAST_UPDATED: Final = Field(
    "_last_updated_sequence_number", LONG, id=2147483539, physical_name="_last_updated_sequence_number"
)

SPARK_POSITION: Final = "_tmp_metadata_row_index"
"""The column that Spark's Parquet reader fills with each row's position in its file, whatever the file has there."""

OWN_PREFIX: Final = "lakebed."
"""What the columns begin with that Spark's frames have for Lakebed alone, while rows are changed."""

METADATA_COLUMNS: Final = (FILE, POSITION, ROW_ID, LAST_UPDATED)
METADATA_IDS: Final = frozenset(one.id for one in METADATA_COLUMNS)
_NAMES = frozenset(one.name for one in METADATA_COLUMNS)


def check_free_name(name: str) -> None:
    """Refuse a name for a table's own column that is reserved; a field of a struct may have it."""
    if folded_column(name) in _NAMES:
        raise Invalid(
            "Iceberg reserves this name for a column that every table has",
            subject=name,
            expected=f"none of {', '.join(one.name for one in METADATA_COLUMNS)}, compared without case",
            advice="Choose another.",
        )
    if folded_column(name).startswith(OWN_PREFIX):
        raise Invalid("names that begin so are Lakebed's own", subject=name, found=OWN_PREFIX, advice="Choose another.")
    if folded_column(name) == SPARK_POSITION:
        raise Invalid("Spark puts its own values in a column of this name", subject=name, advice="Choose another.")


def selected(schema: Schema, columns: Iterable[str], added: Sequence[Field] = METADATA_COLUMNS) -> Schema:
    """The schema's columns of these names, or the added ones; its own are found first."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return schema.select(columns)  # which says what is wrong
    names = list(columns)
    own = {folded_column(one) for one in schema.names}
    others = [one for one in added if one.name not in own and one.name in names]
    return Schema([*schema.fields, *others], schema.id).select(names)
