"""What a compaction says in the log of the files that it took and of those that it made."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.files import Files
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Extent:
    """How many files there are, what they take, and how many rows of theirs are deleted."""

    files: int
    bytes: int
    deleted_rows: int = 0

    @classmethod
    def of(cls, files: Files, entries: Sequence[DataFileRef]) -> "Extent":
        """That of these files. A vector is read only where the entry has not counted it."""
        deleted = sum(one.num_rows - live_rows(files, one) for one in entries)
        return cls(len(entries), sum(one.file_size for one in entries), deleted)

    def __str__(self) -> str:
        told = [_counted(self.files, "file"), _counted(self.bytes, "byte")]
        return ", ".join([*told, *([_counted(self.deleted_rows, "deleted row")] if self.deleted_rows else [])])


def report(before: Extent, after: Extent, left: int = 0) -> str:
    """`5 files, 4,160 bytes, 3 deleted rows -> 1 file, 1,230 bytes`; `left` are groups that others kept changing."""
    told = f"{before} -> {after}"
    return f"{told}; left alone: {_counted(left, 'group')} that others changed meanwhile" if left else told


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
