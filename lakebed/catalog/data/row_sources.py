"""Where the rows of a table's files are: in files, or inline in the metastore; with the vectors of what was deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt, NotFound
from lakebed.files import Files
from lakebed.metastore import Metastore
from lakebed.table.manifest.inline import BODY_KIND, inline_id, inline_path, is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@dataclass(frozen=True, slots=True)
class Sources:
    """What an engine reads a table's rows from. `pending` are inline rows by id that no commit has written yet.

    Without a metastore, in a task elsewhere, they are all the inline rows that there are.
    """

    files: Files
    table: str
    metastore: Metastore | None
    pending: Mapping[int, bytes] = field(default_factory=dict)

    def inline_rows(self, wanted: Sequence[DataFileRef]) -> list[bytes]:
        """The bodies of inline entries, in one round trip; `Corrupt` names one that is not there."""
        ids = [inline_id(one) for one in wanted]
        stored = [one for one in ids if one not in self.pending]
        bodies = self._stored(stored) if stored else []
        found = {**self.pending, **dict(zip(stored, bodies, strict=True))}
        return [self._checked(one, found[number]) for one, number in zip(wanted, ids, strict=True)]

    def _stored(self, ids: Sequence[int]) -> list[bytes | None]:
        if self.metastore is None:
            return [None] * len(ids)
        try:
            return self.metastore.bodies([(self.table, BODY_KIND, one) for one in ids])
        except Corrupt as error:
            if len(ids) > 1:  # asked for one by one, to tell which it is
                return [body for one in ids for body in self._stored([one])]
            raise Corrupt(
                "inline rows are not those that were written",
                subject=f"{inline_path(ids[0])} of table {self.table}",
                found=str(error),
                advice="Restore the metastore from a copy.",
            ) from error

    def _checked(self, file: DataFileRef, body: bytes | None) -> bytes:
        if body is None or len(body) != file.file_size:
            raise Corrupt(
                "inline rows are not those that were written",
                subject=f"{file.path} of table {self.table}",
                expected=f"{file.file_size} bytes",
                found="none" if body is None else f"{len(body)} bytes",
                advice="Restore the metastore from a copy.",
            )
        return body


def sources(work: Work, table: str) -> Sources:
    """Where the rows of a table are, those included that the work itself has added."""
    return Sources(work.context.files, table, work.context.metastore, work.bodies(table, BODY_KIND))


def location_of(files: Files, file: DataFileRef) -> str:
    """Where other engines find a file. Inline rows, which they can't read, have their path alone."""
    return file.path if is_inline(file) else files.location(file.path)


def format_of(file: DataFileRef) -> str:
    """What the rows of a file are kept as."""
    return "inline" if is_inline(file) else "parquet"


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
