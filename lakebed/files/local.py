"""Files in a local folder: a temporary file is fsynced, then linked or renamed, then its folder is fsynced."""

import io
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from lakebed.errors import Invalid, LakebedError
from lakebed.files.external import (
    absolute_path,
    check_not_external,
    find,
    folders_above,
    full_path,
    is_external,
    url_of,
)
from lakebed.files.files import Contents, Data, DeleteFailure, DeleteFailures, FileInfo, Files, pieces
from lakebed.files.fsync import make_folders, make_private_folder, opened, sync_file, sync_folder, write_whole
from lakebed.files.listing import info, sweep, walk
from lakebed.files.os_errors import (
    change_error,
    check_root,
    error_for,
    link_found,
    negative,
    not_found,
    os_errors_translated,
    path_taken,
    sync_error,
    unknown_outcome,
    vanished,
    wrong_kind,
)
from lakebed.files.paths import TEMPORARY, can_be_path, check_path, check_prefix
from lakebed.files.ranges import read_range

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
ATTEMPTS = 10  # an attempt fails only if a sweep removes the folder that was just made
BUFFER = 1 << 18


class LocalFiles(Files):
    """The files below a folder, which is created if it is missing; `Invalid` if it is a file.

    No file or folder below it has a permission that it does not have itself: in a folder of mode 700 all files are the
    owner's alone. With `private` it gets that mode if it is new or empty.
    """

    def __init__(self, root: str | os.PathLike[str], *, private: bool = False) -> None:
        # Resolved once: links may lead to the root itself, but not to anything below it.
        self.root = os.path.realpath(root)
        with os_errors_translated(self.root):
            if private:
                make_private_folder(self.root)
            make_folders(self.root, "/")
            self.permissions = permissions_of_folder(self.root)

    @property
    def url(self) -> str:
        return Path(self.root).as_uri()

    def location(self, path: str) -> str:
        """The absolute path, unquoted."""
        return full_path(path) if is_external(path) else f"{self.root}/{check_path(path)}"

    def path_of(self, location: str) -> str:
        if not location or not can_be_path(location):
            raise Invalid("this is not the address of a file", subject=ascii(location), expected="a path or a URL")
        # With links resolved: a file that can be reached in two ways is one file.
        full = os.path.realpath(absolute_path(location) if is_external(location) else location)
        inside = full.startswith(f"{self.root}/")
        return check_path(full[len(self.root) + 1 :]) if inside else url_of(full)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        with self._opened(path) as (descriptor, size):
            return read_range(descriptor, path, size, start, max(size - start, 0) if length is None else length)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Contents:
        with self._opened(path) as (descriptor, size):
            return [read_range(descriptor, path, size, start, length) for start, length in ranges]

    def head(self, path: str) -> FileInfo:
        return info(path, self._find(path)[1])

    def put(self, path: str, data: Data) -> None:
        full, found = self._look(path)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise wrong_kind(path, "a file", "a folder")
        self._publish(full, path, data, os.replace)

    def put_if_absent(self, path: str, data: Data) -> None:
        # Looking first saves a loser the write, but the link decides.
        self._publish(self._absent(path), path, data, os.link)

    @contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        full = self._absent(path)
        descriptor = self._open_new(full, path)
        try:
            with io.BufferedWriter(_NewFile(descriptor, path), BUFFER) as file:
                yield file
            with os_errors_translated(path):
                os.fsync(descriptor)
        except BaseException:
            with suppress(OSError):
                os.unlink(full)
            raise
        finally:
            os.close(descriptor)
        _sync_change(full, path)

    def list(self, prefix: str = "", *, after: str | None = None, limit: int | None = None) -> Iterator[FileInfo]:
        folder = check_prefix(prefix)
        if folder:
            self._look(folder)  # refuses links
        if limit is not None and limit < 0:
            raise negative("limit", limit, prefix)
        return islice(walk(self.root, folder, prefix, after or ""), limit)

    def delete(self, path: str) -> None:
        for failure in self.delete_many([path]):
            raise failure.error

    def delete_many(self, paths: Iterable[str]) -> DeleteFailures:
        failures: DeleteFailures = []
        folders: dict[str, set[str]] = {}
        for path in paths:
            try:
                folders.setdefault(self._unlink(path), set()).add(path)
            except LakebedError as error:
                failures.append(DeleteFailure(path, error))
        for folder, gone in folders.items():
            # Also for files that were missing: an earlier delete may have failed to sync the folder.
            try:
                with suppress(FileNotFoundError, NotADirectoryError):
                    sync_folder(folder)
            except OSError as error:
                failures += [DeleteFailure(path, unknown_outcome(error, path)) for path in sorted(gone)]
        return failures

    def delete_folder(self, folder: str) -> DeleteFailures:
        failures = super().delete_folder(folder)
        for inside, _, _ in os.walk(f"{self.root}/{check_path(folder)}", topdown=False):
            with suppress(OSError):  # a folder that is not empty stays
                os.rmdir(inside)
        return failures

    def sync(self, paths: Iterable[str]) -> None:
        files = {path: self._find(path)[0] for path in paths}
        folders = {folder for path in files if not is_external(path) for folder in _folders_of(path)}
        for path, full in files.items():
            with os_errors_translated(path, sync_error):
                sync_file(full, 0o777 if is_external(path) else self.permissions)
        for folder in sorted(folders, key=len, reverse=True):
            with os_errors_translated(folder or self.root, sync_error):
                sync_folder(f"{self.root}/{folder}", self.permissions)
        _sync_outside([full for path, full in files.items() if is_external(path)])

    def sweep_temporaries(self, older_than_seconds: float) -> int:
        if older_than_seconds < 0:
            raise negative("older_than_seconds", older_than_seconds, self.root)
        return sweep(self.root, "", time.time() - older_than_seconds)

    def _look(self, path: str) -> tuple[str, os.stat_result | None]:
        """The full path and its status; `Invalid` if a part of it is a link."""
        check_not_external(path)
        full, found = self.root, None
        for part in check_path(path).split("/"):
            full = f"{full}/{part}"
            try:
                found = os.lstat(full)
            except (FileNotFoundError, NotADirectoryError):
                check_root(self.root)
                return f"{self.root}/{path}", None
            except OSError as error:
                raise error_for(error, path) from error
            if stat.S_ISLNK(found.st_mode):
                raise link_found(path, full)
        return full, found

    def _find(self, path: str) -> tuple[str, os.stat_result]:
        if is_external(path):
            return find(path)
        full, found = self._look(path)
        if found is None or not stat.S_ISREG(found.st_mode):
            raise not_found(path, f"{'nothing' if found is None else 'something other than a file'} at {full}")
        return full, found

    def _absent(self, path: str) -> str:
        full, found = self._look(path)
        if found is None:
            return full
        if not stat.S_ISREG(found.st_mode):
            raise wrong_kind(path, "a file", "a folder")
        raise path_taken(path, f"a file of {found.st_size} bytes")

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[int, int]]:
        full, _ = self._find(path)
        with os_errors_translated(path), opened(full) as descriptor:
            yield descriptor, os.fstat(descriptor).st_size

    def _open_new(self, full: str, path: str) -> int:
        """A descriptor of a new file; creates its folder if missing, and again if a sweep removes it."""
        with os_errors_translated(path):
            for _ in range(ATTEMPTS):
                with suppress(FileNotFoundError):
                    try:
                        return os.open(full, NEW, 0o666 & self.permissions)
                    except FileExistsError:
                        raise path_taken(path, "a file") from None
                with suppress(FileNotFoundError):
                    make_folders(os.path.dirname(full), self.root, self.permissions)
        advice = f"Check that {self.root} is mounted, and run again."
        raise vanished(path, f"no folder {os.path.dirname(full)}", advice)

    def _publish(self, full: str, path: str, data: Data, step: Callable[[str, str], None]) -> None:
        """Write the data to a temporary file, and let `step` give it its name."""
        temporary = f"{os.path.dirname(full)}/{TEMPORARY}{os.urandom(12).hex()}"
        descriptor = self._open_new(temporary, path)
        try:
            try:
                _write(descriptor, path, data)
            finally:
                os.close(descriptor)
            _show(temporary, full, path, step)
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        _sync_change(full, path)

    def _unlink(self, path: str) -> str:
        """Remove the file if it exists, and return its folder."""
        full, found = self._look(path)
        if found is not None and stat.S_ISREG(found.st_mode):
            try:
                with suppress(FileNotFoundError):
                    os.unlink(full)
            except OSError as error:
                raise change_error(error, path) from error
        return os.path.dirname(full)


class _NewFile(io.FileIO):
    """The raw file under `create`: turns the system's errors during a write into Lakebed's."""

    def __init__(self, descriptor: int, path: str) -> None:
        # The descriptor stays open when the writer closes the file, so that it can be fsynced.
        super().__init__(descriptor, "wb", closefd=False)
        self.path = path

    def write(self, data: Any) -> int:
        with os_errors_translated(self.path):
            return super().write(data)


def _write(descriptor: int, path: str, data: Data) -> None:
    for piece in pieces(path, data):  # outside `os_errors_translated`: an error of the caller's iterable is not ours
        with os_errors_translated(path):
            write_whole(descriptor, piece)
    with os_errors_translated(path):
        os.fsync(descriptor)


def _show(temporary: str, full: str, path: str, step: Callable[[str, str], None]) -> None:
    try:
        step(temporary, full)
    except FileExistsError:
        raise path_taken(path, "a file that was put in the meantime") from None
    except FileNotFoundError:
        raise vanished(path, "that a sweep removed it", "Sweep with a longer age, and run again.") from None
    except OSError as error:
        raise change_error(error, path) from error


def _sync_change(full: str, path: str) -> None:
    try:
        sync_folder(os.path.dirname(full))
    except OSError as error:
        raise unknown_outcome(error, path) from error


def _sync_outside(files: Sequence[str]) -> None:
    for folder in sorted({folder for full in files for folder in folders_above(full)}, key=len, reverse=True):
        with os_errors_translated(folder, sync_error), suppress(PermissionError):
            # A folder that this user may not even list existed long before the file in it.
            sync_folder(folder)


def permissions_of_folder(root: str) -> int:
    """What all that is in a folder may be allowed at most; `Invalid` if it is a file."""
    mode = os.stat(root).st_mode
    if not stat.S_ISDIR(mode):
        raise wrong_kind(root, "a folder", "a file")
    return mode & 0o777 | 0o700


def _folders_of(path: str) -> Iterator[str]:
    """The folders above a path, up to the root, which is the empty text."""
    while path:
        path = path.rpartition("/")[0]
        yield path
