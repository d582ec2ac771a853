"""The files of a source, and which of them are new."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from glob import has_magic
from os import PathLike, fspath

from lakebed.catalog.data.imports import ImportedFile, imported_files
from lakebed.catalog.data.live_files import live_among
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.files.external import absolute_path, is_external
from lakebed.lake.engines import arrow_importer
from lakebed.lake.imports.answer import Misfit
from lakebed.table.manifest.manifest_pb2 import DataFileRef

Checksum = Callable[[str], int]
"""The checksum of a file, by its path, as it is remembered."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source: its path in terms of the lake's files, where the user found it, size and time in µs."""

    path: str
    place: str
    size: int
    modified: int

    def imported(self, checksum: int) -> ImportedFile:
        """The file as a table remembers it."""
        return ImportedFile(self.path, self.size, checksum, self.modified)


@dataclass(slots=True)
class Sorted:
    """The files of a source by what is to be done with them: `known` were imported before."""

    new: list[SourceFile] = field(default_factory=list)
    known: int = 0
    misfits: list[Misfit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Source:
    """Addresses as they were given, and what is listed there."""

    addresses: tuple[str, ...]

    @property
    def text(self) -> str:
        """The source as answers and properties spell it."""
        return ", ".join(map(_absolute, self.addresses))

    @property
    def root(self) -> str:
        """The folder below which Hive's folders say values: what is given, without `month=2026-01` at its end."""
        folder = os.path.commonpath([_fixed_part(address) for address in self.addresses])
        while "=" in os.path.basename(folder):
            folder = os.path.dirname(folder)
        return folder.rstrip("/")

    def files(self, files: Files) -> list[SourceFile]:
        """The files, in the order of their addresses and names."""
        for address in self.addresses:
            _check_plain(_absolute(address))
        return [_found(files, path, place) for path, place in arrow_importer().listed(files, self.addresses).items()]


def sorted_files(work: Work, table: str | None, found: Sequence[SourceFile], checksum: Checksum) -> Sorted:
    """Tell new files from those that were imported before; one that was changed since is a misfit."""
    known = {} if table is None else imported_files(work, table)
    live = (
        {}
        if table is None
        else live_among(work, table_state(work, table), {file.path: DataFileRef(path=file.path) for file in found})
    )
    result = Sorted()
    for file in found:
        before = known.get(file.path)
        if before is None and file.path not in live:
            result.new.append(file)
        elif before is not None and not _is_same(file, before, checksum):
            problem = "it was changed after it was imported: its new rows belong in a new file"
            result.misfits.append(Misfit(file.path, problem))
        else:
            result.known += 1
    if table is not None:
        result.notes += _gone(work, table, known.keys() - {file.path for file in found})
    return result


def _gone(work: Work, table: str, unlisted: Iterable[str]) -> list[str]:
    """A note about files in place that the source no longer has."""
    live = live_among(work, table_state(work, table), {path: DataFileRef(path=path) for path in unlisted})
    gone = sorted(path for path in live if not work.context.files.exists(path))
    if not gone:
        return []
    files = "1 file in place is" if len(gone) == 1 else f"{len(gone):,} files in place are"
    return [f"{files} gone, such as {gone[0]}: reads of its rows fail"]


def _is_same(file: SourceFile, before: ImportedFile, checksum: Checksum) -> bool:
    if file.size != before.size:
        return False
    return file.modified == before.modified or checksum(file.path) == before.checksum


def _found(files: Files, path: str, place: str) -> SourceFile:
    info = files.head(path)
    return SourceFile(path, place, info.size, int(info.modified.timestamp() * 1_000_000))


def _absolute(address: str) -> str:
    return absolute_path(address.rstrip("/")) if is_external(address) else os.path.abspath(address)


def plain_folder(address: str | PathLike[str]) -> str:
    """The absolute path of a table's folder, with links as they are."""
    given = fspath(address) if isinstance(address, str | PathLike) else None
    if not isinstance(given, str) or not given:
        raise Invalid("a table is given by its folder", subject=repr(address), expected="a path or a URL")
    return _absolute(given)


def _fixed_part(address: str) -> str:
    """The folder of an address: before the first part that is a pattern, or around a file."""
    place = _absolute(address)
    if os.path.isdir(place):
        return place
    while has_magic(place) and not os.path.exists(place):
        place = os.path.dirname(place)
    return place if os.path.isdir(place) else os.path.dirname(place)


_FORMATS = {"_delta_log": ("a Delta table", "Call import_delta."), ".hoodie": ("a Hudi table", "")}


def _check_plain(folder: str) -> None:
    """Refuse the folder of a table of another format: its files also have rows that the table no longer has."""
    marks = (mark for mark in _FORMATS if os.path.isdir(os.path.join(folder, mark)))
    format, advice = _FORMATS.get(next(marks, ""), (None, ""))
    metadata = os.path.join(folder, "metadata")
    if os.path.isdir(metadata) and any(name.endswith(".metadata.json") for name in os.listdir(metadata)):
        format, advice = "an Iceberg table", "Call import_iceberg."
    if format is not None:
        advice = advice or "Read its rows by an engine that knows the format, and append(…) them."
        raise Invalid(f"this folder is {format}, which also has files of its past", subject=folder, advice=advice)
