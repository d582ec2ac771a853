"""Whether other engines see the same rows and columns in a table's files as a scan shows."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice

import pyarrow

from lakebed.arrow.read.stored import damage
from lakebed.arrow.types import schema_of
from lakebed.catalog.data.footers import entry_footer
from lakebed.catalog.data.row_sources import Sources
from lakebed.errors import Invalid
from lakebed.table.manifest.file_fields import field_ids_of
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import METADATA_IDS
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type, children_of, walk

FOOTER_THREADS = 8
SHOWN = 3
"""How many reasons an error lists."""


def check_plain(sources: Sources, files: Sequence[DataFileRef], schema: Schema, are_all_columns: bool) -> None:
    """Refuse files in which another engine would see other rows or columns than these.

    Other columns matter only if a scan shows all of the table's: otherwise an engine is asked for some of them.
    """
    reasons = list(islice(_reasons(sources, files, schema, are_all_columns), SHOWN + 1))
    if reasons:
        raise Invalid(
            "other engines would not see the same rows and columns in the files",
            found="; ".join([*reasons[:SHOWN], *(["…"] if len(reasons) > SHOWN else [])]),
            advice="Hand them the rows, `scan(…).to_dataset()`, or the table, `export_iceberg()`. `compact()` folds in"
            " deleted and inline rows; for the columns of compacted files use `scan(columns=[…]).files()`.",
        )


def _reasons(sources: Sources, files: Sequence[DataFileRef], schema: Schema, are_all_columns: bool) -> Iterator[str]:
    for field in schema.fields:
        if field.id in METADATA_IDS:
            yield f"{field.name} is in no file"
        elif field.name != field.physical_name:
            yield f"{field.name} has another name in the files: {field.physical_name}"
        elif any(part.name != part.physical_name for *_, part in walk((field,))):
            yield f"fields inside {field.name} have other names in the files"
    deleted = sum(file.HasField("dv_path") for file in files)
    yield from [f"deleted rows in {deleted} files"] if deleted else []
    inline = sum(map(is_inline, files))
    yield from [f"inline rows, which are in no file, in {inline} entries"] if inline else []
    stored = [file for file in files if not is_inline(file)]
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        yield from chain.from_iterable(
            pool.map(lambda file: list(_differences(sources, file, schema, are_all_columns)), stored)
        )


def _differences(sources: Sources, file: DataFileRef, schema: Schema, are_all_columns: bool) -> Iterator[str]:
    """The columns that are different in a file."""
    with damage(file.path):
        form = entry_footer(sources.files, file).metadata().schema.to_arrow_schema()
    held, found = field_ids_of(file), {column.name: column for column in form}
    for field in schema.fields:
        column = found.get(field.name)
        if column is None or (held is not None and field.id not in held):
            yield f"{file.path} does not have {field.name}"
        elif not _is_of_type(column, field.type):
            yield f"{file.path} has {field.name} as {column.type}"
    others = found.keys() - set(schema.names) if are_all_columns else ()
    yield from (f"{file.path} has {name} too" for name in sorted(others))


def _is_of_type(column: pyarrow.Field, type: Type) -> bool:
    try:
        [found] = schema_of(pyarrow.schema([column])).fields
    except Invalid:
        return False
    return _shape(found.type) == _shape(type)


def _shape(type: Type) -> object:
    """A type without what other engines don't see: ids, and which fields are required."""
    parts = children_of(type)
    return (type.__class__, tuple((part.name, _shape(part.type)) for part in parts)) if parts else type
