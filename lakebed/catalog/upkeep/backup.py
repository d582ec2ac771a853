"""A copy of a lake, made while others use it. The steps, any of which a crash may follow:

    backup.json            names the lake: the folder is a backup, and not finished as long as it has no catalog
    catalog.db.new         all records as of one moment
    the files              all that those records refer to, each durable before the next step
    catalog.db             the records, renamed: from here on the folder is a lake

A file that the records refer to can be missing only because a purge deleted it after they were copied: then they are
copied again. The next backup into the same folder copies only what is new. As long as it runs, and if it fails, the
folder is the backup that it was.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import google_crc32c

from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.catalog.upkeep.begun import DATABASE, MARK
from lakebed.catalog.upkeep.references import Reference, every_reference, lake_paths
from lakebed.errors import Corrupt, Invalid, NotFound, OutcomeUnknown, Unavailable
from lakebed.files import LocalFiles
from lakebed.files.external import is_external
from lakebed.files.paths import TEMPORARY
from lakebed.metastore import Metastore
from lakebed.store import Version

_NEW: Final = "catalog.db.new"
_FORMAT: Final = 1
_ATTEMPTS: Final = 3
_CHUNK: Final = 8 << 20

OpenCopy = Callable[[str], Metastore]
"""Opens the records in a file."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup has: its folder, the newest version in it, and the files and bytes that were copied now.

    `outside` are the addresses of files outside the lake, which tables refer to and which were not copied.
    """

    path: str
    version: Version
    files: int
    bytes: int
    outside: tuple[str, ...]

    def __str__(self) -> str:
        left = f"; not copied: {_counted(len(self.outside))} outside the lake" if self.outside else ""
        return f"{self.path}: version {self.version}, {_counted(self.files)} copied, {self.bytes:,} bytes{left}"


def _counted(files: int) -> str:
    return f"{files:,} {'file' if files == 1 else 'files'}"


def backup(context: Context, folder: str, open_copy: OpenCopy) -> Backup:
    """Copy the lake into an empty folder, or add to a backup of it what is new since."""
    _check_elsewhere(context, folder)
    with _disk_errors(folder):
        return _backed_up(context, LocalFiles(folder, private=_is_private(context)), open_copy)


@contextmanager
def _disk_errors(folder: str) -> Iterator[None]:
    """A disk that fails meanwhile as `Unavailable`: nothing is committed by a backup, so no outcome is unknown."""
    try:
        yield
    except (OutcomeUnknown, OSError) as error:
        raise Unavailable(
            "the disk failed while a backup was written; it is not finished",
            subject=folder,
            found=error if isinstance(error, OSError) else error.found,
            advice="Check the system's log, fix the disk, and call backup again: it goes on where it stopped.",
        ) from error


def _backed_up(context: Context, target: LocalFiles, open_copy: OpenCopy) -> Backup:
    _check_target(context, target, open_copy)
    if _mark(target) is None:
        _put_mark(target, _Mark(context.metastore.lake_id, ()))
    for _ in range(_ATTEMPTS):
        try:
            return _copy(context, target, open_copy)
        except NotFound as error:
            missing = error
    raise Corrupt(
        "a file that the lake refers to is missing",
        subject=missing.subject,
        advice="Run lake.check(), which names its table.",
    ) from missing


def _copy(context: Context, target: LocalFiles, open_copy: OpenCopy) -> Backup:
    new = f"{target.root}/{_NEW}"
    _remove_database(new)
    context.metastore.copy_to(new)
    copied = open_copy(new)
    try:
        version = copied.newest()
        references = lake_paths(every_reference(_with_records(context, copied))).values()
    finally:
        copied.close()
    inside = [one for one in references if not is_external(one.path)]
    sizes = [size for one in inside if (size := _copy_file(context, target, one)) is not None]
    _replace_catalog(target, new, context.metastore.lake_id, str(version))
    outside = tuple(one.path for one in references if is_external(one.path))
    return Backup(target.root, version, len(sizes), sum(sizes), outside)


def _replace_catalog(target: LocalFiles, new: str, lake: str, version: str) -> None:
    """Rename the new records. A crash before or after it leaves a mark that knows the version of either."""
    before = _mark(target)
    known = () if before is None else before.versions
    _put_mark(target, _Mark(lake, (*known, version)))
    os.replace(new, f"{target.root}/{DATABASE}")
    os.replace(f"{new}-newest", f"{target.root}/{DATABASE}-newest")  # else the copy would be scanned when it is opened
    _remove_database(new)
    target.sync([DATABASE])
    _put_mark(target, _Mark(lake, (version,)))


def _copy_file(context: Context, target: LocalFiles, reference: Reference) -> int | None:
    """Copy a file unless it is there with the same size; the number of bytes copied. Files never change."""
    size = context.files.size(reference.path)
    if target.exists(reference.path):
        if target.size(reference.path) == size:
            return None
        target.delete(reference.path)  # the rest of a backup that was killed
    with target.create(reference.path) as copy:
        for start in range(0, size, _CHUNK):
            copy.write(context.files.read(reference.path, start, min(_CHUNK, size - start)))
    return size


def _is_private(context: Context) -> bool:
    """Whether other users can't open the lake; then they can't open a new backup either."""
    return isinstance(context.files, LocalFiles) and not context.files.permissions & 0o077


def _check_elsewhere(context: Context, folder: str) -> None:
    address, lake = Path(os.path.realpath(folder)).as_uri(), context.files.url
    if f"{address}/".startswith(f"{lake}/") or f"{lake}/".startswith(f"{address}/"):
        raise Invalid(
            "a lake can't be backed up into its own folder, or into one around it",
            subject=folder,
            advice="Choose another folder, best on another disk.",
        )


def _check_target(context: Context, target: LocalFiles, open_copy: OpenCopy) -> None:
    """Refuse a folder that has anything but a backup of this lake, and one that was written to since."""
    if all(name.startswith(TEMPORARY) for name in os.listdir(target.root)):
        return  # empty, but for what a backup has left that was killed at its first step
    mark = _mark(target)
    if mark is None or mark.lake != context.metastore.lake_id:
        raise Invalid(
            "the folder is not empty, and has no backup of this lake",
            subject=target.root,
            expected="an empty folder, or a backup of this lake",
            advice="Choose another folder.",
        )
    if target.exists(DATABASE):
        _check_unused(target, mark, open_copy)


def _check_unused(target: LocalFiles, mark: "_Mark", open_copy: OpenCopy) -> None:
    newest = _newest_in(f"{target.root}/{DATABASE}", open_copy)
    if newest not in mark.versions:
        raise Invalid(
            "the backup was written to since it was made",
            subject=target.root,
            expected=f"version {' or '.join(mark.versions)}",
            found=f"version {newest}",
            advice="It is a lake of its own now: choose another folder.",
        )
    # SQLite would take a journal that is left there for one of the new catalog.
    if os.path.exists(f"{target.root}/{DATABASE}-wal"):
        raise Invalid("the backup is open elsewhere", subject=target.root, advice="Close it first.")


def _newest_in(database: str, open_copy: OpenCopy) -> str:
    opened = open_copy(database)
    try:
        return str(opened.newest())
    finally:
        opened.close()


@dataclass(frozen=True, slots=True)
class _Mark:
    """Which lake a folder is a backup of, and the versions that its catalog may have: two while it is replaced."""

    lake: str
    versions: tuple[str, ...]

    @property
    def fields(self) -> dict[str, object]:
        return {"format-version": _FORMAT, "lake-id": self.lake, "versions": list(self.versions)}

    @property
    def checksum(self) -> str:
        """CRC32C of the fields as they are written, in hexadecimal digits."""
        return f"{google_crc32c.value(json.dumps(self.fields).encode()):08x}"


def _mark(target: LocalFiles) -> _Mark | None:
    """What the folder says that it is a backup of; None if it says nothing that can be read."""
    try:
        found = json.loads(target.read(MARK))
        mark = _Mark(str(found["lake-id"]), tuple(map(str, found["versions"])))
        # Marks of older backups have no checksum.
        is_whole = found.get("crc32c", mark.checksum) == mark.checksum
        return mark if found["format-version"] == _FORMAT and is_whole else None
    except (NotFound, ValueError, TypeError, KeyError, AttributeError):
        return None


def _put_mark(target: LocalFiles, mark: _Mark) -> None:
    target.put(MARK, json.dumps({**mark.fields, "crc32c": mark.checksum}).encode())


def _with_records(context: Context, records: Metastore) -> Context:
    """The lake's files, read through other records."""
    return Context(records, context.files, Bodies(records), context.project)


def _remove_database(path: str) -> None:
    """Remove a copy that a killed backup has left, with the files that SQLite and its lock put beside it."""
    for name in (path, f"{path}-wal", f"{path}-shm", f"{path}-lock", f"{path}-newest"):
        with suppress(FileNotFoundError):
            os.unlink(name)
