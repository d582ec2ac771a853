"""The columns of a table's file, by its footer."""

import pyarrow

from lakebed.catalog.data.footers import damaged_footer, entry_footer
from lakebed.files import Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def arrow_form(files: Files, file: DataFileRef) -> pyarrow.Schema:
    """The columns of a file in Arrow's types; `Corrupt` if its footer is not the one that was committed."""
    footer = entry_footer(files, file)
    try:
        return footer.metadata().schema.to_arrow_schema()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise damaged_footer(file.path, "columns that can be read", str(error)) from error
