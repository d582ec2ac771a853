"""The columns of a feed: the table's by its newest schema, then what happened to each row, by Spark's names."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from lakebed.errors import Invalid
from lakebed.table.manifest.file_fields import ABSENT
from lakebed.table.schema.evolution import widens
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import STRING, TIMESTAMPTZ, Decimal, Field, children_of, with_children

INSERT: Final = "insert"
DELETE: Final = "delete"
PREIMAGE: Final = "update_preimage"
POSTIMAGE: Final = "update_postimage"

# Iceberg reserves the id of the first. Its own columns of a feed have other names than Spark's for the other two.
CHANGE_TYPE: Final = Field("_change_type", STRING, id=2147483543, physical_name="_change_type")
COMMIT_VERSION: Final = Field("_commit_version", Decimal(29, 0), id=2147480001, physical_name="_commit_version")
COMMIT_TIME: Final = Field("_commit_timestamp", TIMESTAMPTZ, id=2147480002, physical_name="_commit_timestamp")
FEED_COLUMNS: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME, ROW_ID)

_ABSENT_IDS = 2_000_000_000
"""Added to the ids of columns that an edition does not have."""

FEED_NAMES: Final = frozenset(column.name for column in FEED_COLUMNS)


def feed_schema(shown: Schema, columns: Iterable[str] | None = None) -> Schema:
    """The columns of a feed's rows: those asked for of the table, and always those of the feed."""
    own = shown if columns is None else _selected(shown, columns)
    for field in own.fields:
        if folded_column(field.name) in FEED_NAMES:
            raise Invalid(
                "the table has a column with the name of a column of the feed",
                subject=field.name,
                advice="Name the other columns with columns=, or rename it with evolve().",
            )
    return Schema([*own.fields, *FEED_COLUMNS])


def _selected(shown: Schema, columns: Iterable[str]) -> Schema:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        return shown.select(columns)  # which refuses them
    own = {folded_column(name) for name in shown.names}
    return shown.select(
        [name for name in columns if folded_column(str(name)) in own or folded_column(str(name)) not in FEED_NAMES]
    )


def shown_schema(newest: Schema, others: Iterable[Schema]) -> Schema:
    """The newest schema, with types that hold the values of all other schemas; every column may be null.

    A later schema is never narrower, but one that was restored, or that of another branch, can be.
    """
    fields = {field.id: field for field in newest.fields}
    for other in sorted(others, key=lambda schema: schema.id):
        for field in other.fields:
            if field.id in fields and fields[field.id].type != field.type:
                fields[field.id] = _wider(fields[field.id], field, other.id > newest.id)
    return Schema([replace(field, required=False) for field in fields.values()], newest.id)


def _wider(field: Field, other: Field, is_later: bool) -> Field:
    if widens(field.type, other.type):
        return replace(field, type=other.type, widened_from=field.widened_from or field.type)
    return replace(field, type=other.type) if is_later and not widens(other.type, field.type) else field


def read_by_name(schema: Schema, shown: Schema) -> Schema:
    """How files of another edition are read: its columns by name, null for those that have another type or are missing.

    Ids and names inside the files are the edition's own.
    """
    own = {folded_column(field.name): field for field in schema.fields}
    return Schema([_same_or_absent(own.get(folded_column(field.name)), field) for field in shown.fields])


def _same_or_absent(own: Field | None, shown: Field) -> Field:
    if own is not None and own.type == shown.type:
        return replace(own, name=shown.name, required=False)
    if own is not None and widens(own.type, shown.type):
        first = own.widened_from or own.type
        return replace(own, name=shown.name, type=shown.type, widened_from=first, required=False)
    return _absent(shown)


def _absent(field: Field) -> Field:
    """A field that no file has: the ids of two editions mean other columns."""
    children = tuple(map(_absent, children_of(field.type)))
    return replace(
        field,
        type=with_children(field.type, children) if children else field.type,
        required=False,
        id=_ABSENT_IDS + field.id,
        physical_name=f"{ABSENT}{field.id}",
        initial_default=None,
        write_default=None,
        widened_from=None,
    )
