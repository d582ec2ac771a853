"""Data files as a commit relies on them."""

from collections.abc import Sequence

from lakebed.errors import Corrupt, NotFound
from lakebed.files import Files
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef


def check_whole(files: Files, data_files: Sequence[DataFileRef]) -> None:
    """Look at each file once, without opening it: `Corrupt` names one that is not there or has another size.

    Inline rows are no file; whoever reads them looks at theirs.
    """
    for one in data_files:
        if is_inline(one):
            continue
        found = _found(files, one.path)
        if found != one.file_size:
            raise Corrupt(
                "the data file is not the one that was written",
                subject=one.path,
                expected=f"{one.file_size} bytes",
                found="no file" if found is None else f"{found} bytes",
                advice="Restore it from a copy, or write the rows again.",
            )


def _found(files: Files, path: str) -> int | None:
    try:
        return files.size(path)
    except NotFound:
        return None
