"""The footers of Parquet files: read through `Files`, and checked before Arrow sees them.

The entry of a file has a checksum of its footer. A footer without one, of a file that is about to be added or that was
added by an older Lakebed, is checked field by field (`table/parquet/footer.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.deferred import pyarrow
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.table.manifest.frame import crc32c
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.parquet.footer import Skipped, check_footer, footer_length

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

TAIL = 1 << 16
"""How many bytes are read at first: 20 columns and 8 row groups take 15 kB. Files of this size are read whole."""


@dataclass(frozen=True, slots=True)
class Footer:
    """A footer of a Parquet file, and the file's last bytes, which may be all of it."""

    data: bytes
    tail: bytes
    size: int

    @property
    def checksum(self) -> int:
        return crc32c(self.data)

    @property
    def whole(self) -> bytes | None:
        """The whole file, if it is so small that it was read with its footer."""
        return self.tail if len(self.tail) == self.size else None

    def check(self) -> Skipped:
        """Check it field by field; `Invalid` if Arrow can't be asked for what is in it."""
        return check_footer(self.data, self.size)

    def metadata(self) -> FileMetaData:
        """Arrow's view of a footer that was checked."""
        return pyarrow.parquet.read_metadata(pyarrow.BufferReader(self.data))


def read_footer(files: Files, path: str, size: int) -> Footer:
    """The footer of a file of this size, unchecked; `Invalid` if it has none."""
    tail = files.read(path, max(size - TAIL, 0), min(size, TAIL))
    length = footer_length(tail, size)
    data = tail[-length:] if length <= len(tail) else files.read(path, size - length, length)
    return Footer(data, tail, size)


def footer_of(file: bytes) -> Footer:
    """The footer of a whole file in memory."""
    return Footer(file[-footer_length(file, len(file)) :], file, len(file))


def entry_footer(files: Files, entry: DataFileRef) -> Footer:
    """The footer of a table's file; `Corrupt` if it is not the one that was committed."""
    try:
        footer = read_footer(files, entry.path, entry.file_size)
        if not entry.HasField("footer_checksum"):
            footer.check()
    except Invalid as error:
        raise damaged_footer(entry.path, "a Parquet footer", error.problem) from error
    if entry.HasField("footer_checksum") and footer.checksum != entry.footer_checksum:
        raise damaged_footer(entry.path, f"the checksum {entry.footer_checksum:08x}", f"{footer.checksum:08x}")
    return footer


def check_footers(files: Files, entries: Iterable[DataFileRef]) -> None:
    """Compare footers that another engine will read with their checksums; `Corrupt` names the first that differs.

    Entries without a checksum are left to the engine: only Arrow ends the process at what it can't read.
    """
    for entry in entries:
        if entry.HasField("footer_checksum"):
            entry_footer(files, entry)


def damaged_footer(path: str, expected: str, found: str) -> Corrupt:
    """The error for a footer that is not as it was written."""
    return Corrupt(
        "the data file is damaged: its footer",
        subject=path,
        expected=expected,
        found=found,
        advice="Restore it from a copy.",
    )
