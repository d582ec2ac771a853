"""The rows of an entry as they are stored: in a Parquet file, or inline as an Arrow stream."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow
from pyarrow.parquet import ParquetFile

from lakebed.catalog.data.footers import Footer, entry_footer
from lakebed.catalog.data.row_sources import Sources, is_own_file
from lakebed.errors import Corrupt, Invalid
from lakebed.files import Files
from lakebed.files.os_errors import error_for
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef

BATCH_ROWS = 1 << 17
LARGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Group:
    """A row group: its number in the file, the position of its first row, and how many rows it has."""

    number: int
    start: int
    rows: int


class StoredRows(Protocol):
    """Rows by their physical columns."""

    form: pyarrow.Schema
    """The columns that are stored, whichever engine wrote them."""

    def groups(self, row_groups: Sequence[int] | None) -> list[Group]:
        """The row groups of these numbers, None for all."""

    def batches(self, group: Group, names: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        """The group's rows, with the columns that are stored; `Corrupt` if their number is not the group's."""


@contextmanager
def opened(sources: Sources, file: DataFileRef) -> Iterator[StoredRows]:
    """Open an entry's rows; inside the `with`, anything that can't be read is `Corrupt`."""
    with damage(file.path):
        if is_inline(file):
            [rows] = inline_rows(sources, [file])
            yield rows
            return
        sources.check_whole(file)
        with opened_parquet(sources.files, file.path, entry_footer(sources.files, file)) as parquet:
            yield ParquetRows(file, parquet)


def opened_parquet(files: Files, path: str, footer: Footer) -> ParquetFile:
    """Open a file whose footer was checked; a small file has been read with its footer, and is not read again."""
    source = files.location(path) if footer.whole is None else pyarrow.BufferReader(footer.whole)
    return ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


def read_whole(files: Files, file: DataFileRef) -> None:
    """Read all rows of a data file with the checksums of its pages; `Corrupt` if it is not what was written."""
    with opened(Sources(files, "", None), file) as stored:
        for group in stored.groups(None):
            for _ in stored.batches(group, stored.form.names):
                pass


def inline_rows(sources: Sources, files: Sequence[DataFileRef]) -> Iterator["InlineRows"]:
    """The rows of inline entries in their order; consecutive entries with the same columns come together.

    Otherwise, with 1,000 entries of one row, most of the time would go into casting each to the table's columns.
    """
    waiting: list[tuple[DataFileRef, pyarrow.Table]] = []
    for file, body in zip(files, sources.inline_rows(files), strict=True):
        table = _inline_table(file, body)
        if waiting and not waiting[0][1].schema.equals(table.schema):
            yield InlineRows(waiting)
            waiting = []
        waiting.append((file, table))
    if waiting:
        yield InlineRows(waiting)


def _inline_table(file: DataFileRef, body: bytes) -> pyarrow.Table:
    with damage(file.path):
        table = pyarrow.ipc.open_stream(body).read_all()
        table.validate(full=True)
        check_rows(file, file.num_rows, table.num_rows)
        return table


class InlineRows:
    """Rows of inline entries with the same columns; all of them are one group."""

    def __init__(self, entries: Sequence[tuple[DataFileRef, pyarrow.Table]]) -> None:
        self.files = tuple(file for file, _ in entries)
        self.form: pyarrow.Schema = entries[0][1].schema
        self.whole = Group(0, 0, sum(file.num_rows for file in self.files))
        tables = [table for _, table in entries]
        self._table = (pyarrow.concat_tables(tables) if len(tables) > 1 else tables[0]).combine_chunks()

    def groups(self, row_groups: Sequence[int] | None) -> list[Group]:
        return _chosen_groups(self.files[0], [self.whole.rows], row_groups)

    def batches(self, group: Group, names: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        stored = [name for name in names if name in self.form.names]
        for batch in self._table.to_batches():
            for start in range(0, group.rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS).select(stored)


class ParquetRows:
    """Rows of a Parquet file, whose row groups have been counted."""

    def __init__(self, file: DataFileRef, parquet: ParquetFile) -> None:
        self._file, self._parquet, self._is_own = file, parquet, is_own_file(file.path)
        self._rows = [int(parquet.metadata.row_group(number).num_rows) for number in range(parquet.num_row_groups)]
        # The footer has a total too, but readers go by the row groups.
        check_rows(file, file.num_rows, sum(self._rows))
        self.form: pyarrow.Schema = parquet.schema_arrow

    def groups(self, row_groups: Sequence[int] | None) -> list[Group]:
        return _chosen_groups(self._file, self._rows, row_groups)

    def batches(self, group: Group, names: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        rows = 0
        # Threads cost a small file a third of its time.
        threads = self._file.file_size >= LARGE_BYTES
        for batch in self._parquet.iter_batches(BATCH_ROWS, [group.number], list(names), use_threads=threads):
            if not self._is_own:
                _check_values(self._file.path, batch)
            rows += batch.num_rows
            yield batch
        check_rows(self._file, group.rows, rows)


def _check_values(path: str, batch: pyarrow.RecordBatch) -> None:
    """`Corrupt` if rows of another writer's file are not what they should be: it may have no checksums, nor UTF-8."""
    try:
        batch.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        raise Corrupt(
            "the file has values that its columns can't have",
            subject=path,
            found=str(error),
            advice="Restore it from a copy; or write its rows to another file, add that, and revert the commit that"
            " added this one.",
        ) from error


def _chosen_groups(file: DataFileRef, rows: Sequence[int], row_groups: Sequence[int] | None) -> list[Group]:
    groups, start = [], 0
    for number, count in enumerate(rows):
        groups.append(Group(number, start, count))
        start += count
    if row_groups is None:
        return groups
    if row_groups and not 0 <= min(row_groups) <= max(row_groups) < len(rows):
        raise damaged(file.path, f"row groups {', '.join(map(str, row_groups))}", f"{len(rows)} row groups")
    return [groups[number] for number in sorted(set(row_groups))]


def check_rows(file: DataFileRef, expected: int, found: int) -> None:
    if found != expected:
        raise damaged(file.path, f"{expected} rows", f"{found} rows")


@contextmanager
def damage(path: str) -> Iterator[None]:
    """Raise what Arrow can't read inside the `with` as `Corrupt`, and errors of the system as what they mean."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # an error of the system; Arrow's errors have no number
            raise error_for(error, path) from error
        raise damaged(path, "rows that can be read", str(error)) from error
    except (pyarrow.ArrowException, ValueError, Invalid) as error:  # a name that is not UTF-8 is a ValueError
        raise damaged(path, "rows that can be read", str(error)) from error


def damaged(path: str, expected: str, found: str) -> Corrupt:
    """The error for rows that are not as they were written."""
    return Corrupt(
        "the data file is damaged",
        subject=path,
        expected=expected,
        found=found,
        advice="Restore it from a copy.",
    )
