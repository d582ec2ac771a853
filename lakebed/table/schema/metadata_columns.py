"""Metadata columns: what every table has besides its own columns, by the names and ids that Iceberg reserves.

`_file` and `_pos` say where a row is. `_row_id` and `_last_updated_sequence_number` are its lineage. A file stores the
lineage only of rewritten rows; for others it follows from the file's `first_row_id` and sequence number.
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
"""The column that Spark's Parquet reader fills with each row's position in its file, over any column of that name."""

OWN_PREFIX: Final = "lakebed."
"""The prefix of columns that Lakebed adds to Spark's frames while rows are changed."""

METADATA_COLUMNS: Final = (FILE, POSITION, ROW_ID, LAST_UPDATED)
METADATA_IDS: Final = frozenset(column.id for column in METADATA_COLUMNS)
_ADVICE = "Choose another name."
_NAMES = frozenset(column.name for column in METADATA_COLUMNS)


def check_free_name(name: str) -> None:
    """Refuse a reserved name for a table's own column; a field of a struct may have it."""
    if folded_column(name) in _NAMES:
        raise Invalid(
            "Iceberg reserves this name for a column that every table has",
            subject=name,
            expected=f"none of {', '.join(column.name for column in METADATA_COLUMNS)}, compared without case",
            advice=_ADVICE,
        )
    if folded_column(name).startswith(OWN_PREFIX):
        raise Invalid("names with this prefix are reserved for Lakebed", subject=name, found=OWN_PREFIX, advice=_ADVICE)
    if folded_column(name) == SPARK_POSITION:
        raise Invalid("Spark puts its own values in a column of this name", subject=name, advice=_ADVICE)


def selected_columns(schema: Schema, columns: Iterable[str], added: Sequence[Field] = METADATA_COLUMNS) -> Schema:
    """The columns with these names, of the schema or else of those added to it."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return schema.select(columns)  # which refuses them
    names = list(columns)
    return with_metadata_columns(schema, [field for field in added if field.name in names]).select(names)


def with_metadata_columns(schema: Schema, added: Sequence[Field] = METADATA_COLUMNS) -> Schema:
    """The schema with columns that are added to it, except for those whose names it has itself."""
    own = {folded_column(name) for name in schema.names}
    return Schema([*schema.fields, *(field for field in added if field.name not in own)], schema.id)
