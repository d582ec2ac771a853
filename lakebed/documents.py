"""The JSON documents of source document 001, each with a form that reads and writes it: `METADATA.from_json(text)`."""

from lakebed.catalog.inspect.documents import (
    DATA_FILES,
    MANIFEST,
    MANIFEST_LIST,
    METADATA,
    PARTITION_SPECS,
    PARTITION_VALUES,
    PROPERTIES,
    SNAPSHOT,
    SNAPSHOTS,
    SUMMARY,
    Form,
)

__all__ = [
    "DATA_FILES",
    "MANIFEST",
    "MANIFEST_LIST",
    "METADATA",
    "PARTITION_SPECS",
    "PARTITION_VALUES",
    "PROPERTIES",
    "SNAPSHOT",
    "SNAPSHOTS",
    "SUMMARY",
    "Form",
]
