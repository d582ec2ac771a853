"""Metadata columns: where a row is and where it came from, computed from the place that Spark's reader gives it.

A row's place is its file's ordinal, which is its index among the files that are read, and its position there. What
depends on the file is looked up by the ordinal in one constant array, made from one text: a join costs each row more,
and a literal for each of 10,000 files would take seconds to send.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.spark.read.source import ORDINAL
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import FILE, LAST_UPDATED, METADATA_COLUMNS, POSITION, ROW_ID
from lakebed.table.schema.schema import Schema, physical_names
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import INT, Field

ORDINAL_COLUMN: Final = Field(ORDINAL, INT, id=-1, physical_name=ORDINAL)
ADDED_COLUMNS: Final = (*METADATA_COLUMNS, ORDINAL_COLUMN)

_ADDED_IDS = frozenset(field.id for field in ADDED_COLUMNS)
_LINEAGE_IDS = frozenset({ROW_ID.id, LAST_UPDATED.id})
_END = "\0"  # which no path contains


@dataclass(frozen=True, slots=True)
class Places:
    """The names of the columns with a row's place while it is read."""

    ordinal: str
    position: str


def free_places(columns: Iterable[Field]) -> Places:
    """Names that none of the columns has."""
    end = "_" * max((len(field.physical_name) for field in columns), default=0)
    return Places(f"ordinal{end}", f"position{end}")


def is_added(field: Field) -> bool:
    """Whether a column is not one of the table's own, by its id."""
    return field.id in _ADDED_IDS


def stored_lineage(schema: Schema, asked: Schema) -> list[Field]:
    """The lineage columns that are asked for, which files have for rows that were rewritten."""
    own = physical_names(schema)
    wanted = [field for field in asked.fields if field.id in _LINEAGE_IDS]
    return [field for field in wanted if folded_column(field.physical_name) not in own]


def added_column(field: Field, data_files: Sequence[DataFileRef], places: Places, own: Column | None) -> Column:
    """The column for rows with places; `own` is the lineage stored in their files, null if there is none.

    Rows that no commit has numbered yet, in a running transaction, have no lineage; staged ones no sequence number.
    """
    ordinal, position = F.col(places.ordinal), F.col(places.position)
    match field.id:
        case FILE.id:
            return F.get(lookup([file.path for file in data_files]), ordinal)
        case POSITION.id:
            return position
        case ROW_ID.id:
            inherited = F.get(numbers([_first_row_id(file) for file in data_files]), ordinal) + position
        case LAST_UPDATED.id:
            inherited = F.get(numbers([_sequence_number(file) for file in data_files]), ordinal)
        case _:
            return ordinal
    return inherited if own is None else F.coalesce(own, inherited)


def _first_row_id(file: DataFileRef) -> int | None:
    return file.first_row_id if file.HasField("first_row_id") else None


def _sequence_number(file: DataFileRef) -> int | None:
    return file.seq_max or None if file.HasField("first_row_id") else None


def numbers(values: Sequence[int | None]) -> Column:
    """A constant array of whole numbers."""
    return lookup(["" if value is None else str(value) for value in values]).try_cast("array<bigint>")


def lookup(values: Sequence[str]) -> Column:
    """A constant array of texts, none of which has a NUL character."""
    return F.split(F.lit(_END.join(values)), _END)
