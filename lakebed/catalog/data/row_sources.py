"""Where the rows of a table's entries are: in files, whose sizes are checked, or inline in the metastore."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from lakebed.catalog.transaction.tombstones import is_purged
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, Expired, NotFound
from lakebed.files import Files
from lakebed.metastore import Metastore
from lakebed.table.manifest.inline import BODY_KIND, inline_id, inline_path, is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Sources:
    """What an engine reads a table's rows from. `pending` are inline rows by id that no commit has written yet.

    A task in another process has no metastore: `pending` then has all of its inline rows.
    """

    files: Files
    table: str
    metastore: Metastore | None
    pending: Mapping[int, bytes] = field(default_factory=dict)

    def inline_rows(self, entries: Sequence[DataFileRef]) -> list[bytes]:
        """The bodies of inline entries, in one round trip; `Corrupt` names an entry whose body is missing.

        `Expired` if they were erased with their table.
        """
        ids = [inline_id(entry) for entry in entries]
        stored = [number for number in ids if number not in self.pending]
        bodies = {**self.pending, **dict(zip(stored, self._stored(stored) if stored else [], strict=True))}
        return [self._checked(entry, bodies[number]) for entry, number in zip(entries, ids, strict=True)]

    def check_whole(self, file: DataFileRef) -> None:
        """Check a file's size, without opening it; `Expired` if it was erased with its table."""
        try:
            check_whole(self.files, [file])
        except Corrupt:
            self._check_not_purged()
            raise

    def _stored(self, ids: Sequence[int]) -> list[bytes | None]:
        if self.metastore is None:
            return [None] * len(ids)
        try:
            return self.metastore.bodies([(self.table, BODY_KIND, number) for number in ids])
        except Corrupt as error:
            if len(ids) > 1:  # read one by one, to name the damaged body
                return [body for number in ids for body in self._stored([number])]
            raise Corrupt(
                "inline rows are not those that were written",
                subject=f"{inline_path(ids[0])} of table {self.table}",
                found=str(error),
                advice="Restore the metastore from a copy.",
            ) from error

    def _checked(self, entry: DataFileRef, body: bytes | None) -> bytes:
        if body is None:
            self._check_not_purged()
        if body is None or len(body) != entry.file_size:
            raise Corrupt(
                "inline rows are not those that were written",
                subject=f"{entry.path} of table {self.table}",
                expected=f"{entry.file_size} bytes",
                found="none" if body is None else f"{len(body)} bytes",
                advice="Restore the metastore from a copy.",
            )
        return body

    def _check_not_purged(self) -> None:
        """Rows are erased with their table: a scan that was planned before is out of date, and nothing is damaged."""
        if self.metastore is not None and is_purged(self.metastore, self.table):
            raise Expired(
                "the table was purged after the scan was planned",
                subject=f"table {self.table}",
                advice="Its rows can't be brought back: restore them from a copy.",
            )


def sources(work: Work, table: str) -> Sources:
    """Where the rows of a table are, including those that the work itself has added."""
    return Sources(work.context.files, table, work.context.metastore, work.bodies(table, BODY_KIND))


def location_of(files: Files, entry: DataFileRef) -> str:
    """Where other engines find a file. Inline rows, which they can't read, have only their path."""
    return entry.path if is_inline(entry) else files.location(entry.path)


def format_of(entry: DataFileRef) -> str:
    """How the rows of an entry are stored."""
    return "inline" if is_inline(entry) else "parquet"


def is_own_file(path: str) -> bool:
    """Whether a path is in the folder of a table, where Lakebed alone writes: the folder has the table's id."""
    return "://" not in path and any(map(_is_id, path.split("/")[:-1]))


def _is_id(part: str) -> bool:
    with suppress(ValueError):
        return str(UUID(part)) == part
    return False


def check_whole(files: Files, entries: Sequence[DataFileRef]) -> None:
    """Check each file's size, without opening it: `Corrupt` names a file that is missing or has another size.

    Inline rows are skipped: reading them checks them.
    """
    for entry in entries:
        if is_inline(entry):
            continue
        size = _size_of(files, entry.path)
        if size != entry.file_size:
            raise Corrupt(
                "the data file is not the one that was written",
                subject=entry.path,
                expected=f"{entry.file_size} bytes",
                found="no file" if size is None else f"{size} bytes",
                advice="Restore it from a copy, or write the rows again.",
            )


def _size_of(files: Files, path: str) -> int | None:
    try:
        return files.size(path)
    except NotFound:
        return None
