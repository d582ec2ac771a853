"""Schemas as Lakebed 0.1 made them: columns are called in files as they are in the table."""

from lakebed.table.manifest.file_fields import with_column_names
from lakebed.table.schema.schema import Schema


def with_raw_names(schema: Schema) -> Schema:
    """The schema with its columns' names of today as physical names, on every level."""
    names = {id: way[-1].name for id, way in schema.ways.items()}
    return Schema(with_column_names(schema.fields, names), schema.id, schema.identifier_ids)
