"""Walking a local folder: in the order of object stores to list, in any order to sweep."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from lakebed.files.files import FileInfo
from lakebed.files.os_errors import check_root, error_for, os_errors_translated
from lakebed.files.paths import TEMPORARY, part_flaw


def info(path: str, found: os.stat_result) -> FileInfo:
    return FileInfo(path, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def walk(root: str, folder: str, prefix: str, after: str) -> Iterator[FileInfo]:
    """The files in `folder` and below whose path starts with `prefix` and sorts after `after`, in path order."""
    waiting = _entries(root, f"{folder}/" if folder else "", prefix, after)
    while waiting:
        path, entry = waiting.pop()
        if path.endswith("/"):
            waiting += _entries(root, path, prefix, after)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # deleted since its folder was read
        except OSError as error:
            raise error_for(error, path) from error
        yield info(path, found)


def _entries(root: str, folder: str, prefix: str, after: str) -> list[tuple[str, "os.DirEntry[str]"]]:
    """What a folder holds, last entry first.

    Folders sort with a slash at the end, which gives path order: `a.b`, `a/`, `a0`. Code points sort as UTF-8 does.
    """
    found = []
    for entry in _scanned(root, folder):
        if part_flaw(entry.name) is not None:
            continue  # a temporary file, or a name that no call accepts
        if entry.is_dir(follow_symlinks=False):
            path = f"{folder}{entry.name}/"
        elif entry.is_file(follow_symlinks=False):
            path = f"{folder}{entry.name}"
        else:
            continue  # a link, a socket
        if path.startswith(prefix) and (path > after or (path.endswith("/") and after.startswith(path))):
            found.append((path, entry))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return found


def _scanned(root: str, folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        check_root(root)
        return []  # gone since its parent was read
    except OSError as error:
        raise error_for(error, folder or root) from error


def sweep(root: str, folder: str, before: float) -> int:
    """Remove temporary files and empty folders not changed after `before`; return how many files were removed."""
    removed = 0
    for entry in _scanned(root, folder):
        path = f"{folder}{entry.name}"
        with os_errors_translated(path), suppress(FileNotFoundError):
            if _is_temporary(entry) and _is_old(entry, before):
                os.unlink(entry.path)
                removed += 1
            elif entry.is_dir(follow_symlinks=False) and part_flaw(entry.name) is None:
                old = _is_old(entry, before)  # before the sweep below changes it
                removed += sweep(root, f"{path}/", before)
                if old:
                    with suppress(OSError):  # most are not empty
                        os.rmdir(entry.path)
    return removed


def _is_temporary(entry: "os.DirEntry[str]") -> bool:
    return entry.name.startswith(TEMPORARY) and entry.is_file(follow_symlinks=False)


def _is_old(entry: "os.DirEntry[str]", before: float) -> bool:
    return entry.stat(follow_symlinks=False).st_mtime <= before
