"""Metadata columns, which say where a row is and when it was changed last, computed while it is read."""

from dataclasses import dataclass

import numpy
import pyarrow
import pyarrow.compute

from lakebed.arrow.from_numpy import int64_array
from lakebed.arrow.types import FIELD_ID
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import FILE, LAST_UPDATED, METADATA_IDS, POSITION, ROW_ID
from lakebed.table.types.types import Field

LINEAGE_IDS = frozenset({ROW_ID.id, LAST_UPDATED.id})


@dataclass(frozen=True, slots=True)
class Place:
    """Consecutive rows of a file: the position of the first row, and how many there are."""

    file: DataFileRef
    start: int
    rows: int


def is_metadata(field: Field) -> bool:
    return field.id in METADATA_IDS


def holds_lineage(form: pyarrow.Schema, field: Field) -> bool:
    """Whether the file itself has a lineage column, as it does for rows that were written again.

    It is recognized by its id: a table's own column could have the name.
    """
    place = form.get_field_index(field.physical_name)
    return field.id in LINEAGE_IDS and place >= 0 and _id(form.field(place)) == field.id


def metadata_column(field: Field, place: Place, own: pyarrow.Array | None) -> pyarrow.Array:
    """The column's values for rows of a file; `own` is the file's own lineage column, null where it has no value.

    Rows that the running transaction wrote have no lineage yet, and staged ones no sequence number.
    """
    file = place.file
    if field.id == FILE.id:
        return pyarrow.repeat(file.path, place.rows)
    if field.id == POSITION.id:
        return _count(place.start, place.rows)
    if not file.HasField("first_row_id"):
        return pyarrow.nulls(place.rows, pyarrow.int64()) if own is None else own
    if field.id == ROW_ID.id:
        inherited = _count(file.first_row_id + place.start, place.rows)
    else:
        inherited = pyarrow.repeat(pyarrow.scalar(file.seq_max or None, pyarrow.int64()), place.rows)
    return inherited if own is None else pyarrow.compute.coalesce(own, inherited)


def _count(first: int, rows: int) -> pyarrow.Array:
    return int64_array(numpy.arange(first, first + rows, dtype=numpy.int64))


def _id(field: pyarrow.Field) -> int | None:
    text = (field.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)
