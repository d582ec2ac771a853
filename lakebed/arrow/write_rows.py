"""Writing rows for a work: few of them inline in its commit, the others to files."""

from dataclasses import replace
from typing import Any

from lakebed.arrow.inline import Inlined, inline
from lakebed.arrow.write import write
from lakebed.arrow.write_options import WriteOptions
from lakebed.catalog.row_change import Written
from lakebed.catalog.settings import (
    BLOOM_COLUMNS,
    BLOOM_FPP,
    KEYED_GROUP_ROWS,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    TARGET_FILE_BYTES,
    inline_bytes,
    number,
    text,
)
from lakebed.catalog.tables import TableState
from lakebed.catalog.work import Work
from lakebed.errors import Invalid
from lakebed.table.bloom import FPP
from lakebed.table.column_names import folded_column
from lakebed.table.inline import BUDGET_BYTES
from lakebed.table.manifest_pb2 import DataFileRef
from lakebed.table.schema import Schema
from lakebed.table.types import Field


def write_rows(work: Work, state: TableState, data: Any) -> Written:
    """Write rows for a table as it is in `state`: inline where the commit has room for them, else to files."""
    limit, room = inline_bytes(work, state.id), BUDGET_BYTES - work.inline_bytes()
    if limit and room > 0:
        kept = inline(state.schema, data, limit, state.spec, state.sort_order, room_bytes=room)
        if isinstance(kept, Inlined):
            return Written(kept.entries, kept.bodies)
        data = kept
    return Written(write_files(work, state, data))


def write_files(work: Work, state: TableState, data: Any) -> list[DataFileRef]:
    """Write rows to files, as large as the table wants them, under names that no other attempt has."""
    files, options = work.home.files, write_options(work, state)
    return write(files, state.data_folder, state.schema, data, state.spec, state.sort_order, options)


def write_options(work: Work, state: TableState) -> WriteOptions:
    """How the table's properties say that its files are written; `Invalid` names a property that can't be."""
    return WriteOptions(
        file_bytes=number(work, state.id, TARGET_FILE_BYTES),
        group_bytes=number(work, state.id, ROW_GROUP_BYTES),
        group_rows=number(work, state.id, ROW_GROUP_ROWS if not state.schema.key else KEYED_GROUP_ROWS),
        blooms=_bloom_ids(text(work, state.id, BLOOM_COLUMNS), state.schema),
        bloom_fpp=_bloom_fpp(text(work, state.id, BLOOM_FPP)),
    )


def _bloom_ids(columns: str | None, schema: Schema) -> frozenset[int]:
    # A column that was dropped or renamed since has none: no append should fail for it.
    names = {folded_column(one.strip()) for one in (columns or "").split(",") if one.strip()}
    return frozenset(id for id, way in schema.ways.items() if folded_column(schema.path_of(id)) in names and way)


def _bloom_fpp(found: str | None) -> float:
    try:
        return FPP if found is None else float(found)
    except ValueError as error:
        raise Invalid(
            "a property of the table is no rate", subject=BLOOM_FPP, expected="such as 0.01", found=repr(found)
        ) from error


def with_columns(state: TableState, *columns: Field) -> TableState:
    """The table with columns of lineage behind its own, for rows that are written again."""
    schema = Schema((*state.schema.fields, *columns), state.schema.id, state.schema.identifier_ids)
    return replace(state, schema=schema)
