"""The files that a user means: by their addresses, by folders, or by patterns such as `data/**/*.parquet`."""

import os
from collections.abc import Iterator, Sequence
from glob import glob, has_magic

from lakebed.errors import Invalid, NotFound
from lakebed.files import Files
from lakebed.files.external import absolute_path, is_external
from lakebed.files.os_errors import error_for

_HIDDEN = ("_", ".")


def given_files(files: Files, given: Sequence[str]) -> dict[str, str]:
    """(path) -> where the user found it, with links as they are; in the given order, of a folder by name.

    A folder stands for all files in it and in the folders below. Folders and files whose names begin with `_` or `.`
    are skipped there, as Spark and Hive skip them. `Invalid` for a folder or a pattern without files and for a file
    that comes twice, `NotFound` with all missing files.
    """
    found: dict[str, str] = {}
    for address in given:
        for place in _meant(address):
            path = files.path_of(place)
            if path in found:
                raise Invalid("a file is given twice", subject=address, found=f"{found[path]} too")
            found[path] = place
    _check_exist(files, list(found))
    return found


def given_folder(address: str) -> str:
    """The absolute path of a folder; `NotFound` if it is not there, `Invalid` if it is a file."""
    place = _absolute(address)
    if not os.path.exists(place):
        raise NotFound("there is no such folder", subject=place, advice="Check the path.")
    if not os.path.isdir(place):
        raise Invalid("the location of a partition is a folder", subject=place, found="a file")
    return place


def has_files(folder: str) -> bool:
    """Whether a folder, or one below it, has files that are not hidden."""
    return next(_inside(folder), None) is not None


def _meant(address: str) -> list[str]:
    """The absolute paths of the files that an address names."""
    place = _absolute(address)
    if os.path.isdir(place):
        return _some(place, sorted(_inside(place)), "the folder has no files")
    if has_magic(place) and not os.path.exists(place):
        return _some(place, sorted(_matching(place)), "no file matches the pattern")
    return [place]


def _absolute(address: str) -> str:
    if not address or "\0" in address:
        raise Invalid("this is not the address of a file", subject=ascii(address), expected="a path or a URL")
    return absolute_path(address.rstrip("/")) if is_external(address) else os.path.abspath(address)


def _some(place: str, found: list[str], problem: str) -> list[str]:
    if not found:
        advice = "Check the path. Names that begin with _ or . are skipped."
        raise Invalid(problem, subject=place, expected="Parquet files", advice=advice)
    return found


def _matching(pattern: str) -> Iterator[str]:
    """The files that a pattern matches, and those inside the folders that it matches."""
    root = next(part for part in _folders_above(pattern) if not has_magic(part))
    matches = [os.path.normpath(match) for match in glob(pattern, recursive=True) if _is_shown(match, root)]
    # `data/**` matches a folder and all that is in it.
    yield from {file for match in matches for file in (_inside(match) if os.path.isdir(match) else (match,))}


def _folders_above(path: str) -> Iterator[str]:
    while True:
        path = os.path.dirname(path)
        yield path


def _inside(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN) and not _is_loop(parent, name)]
        yield from (os.path.join(parent, name) for name in names if not name.startswith(_HIDDEN))


def _is_loop(parent: str, name: str) -> bool:
    """Whether a folder is a link to a folder that it is in."""
    return f"{os.path.realpath(parent)}/".startswith(f"{os.path.realpath(os.path.join(parent, name))}/")


def _is_shown(match: str, root: str) -> bool:
    return not any(part.startswith(_HIDDEN) for part in os.path.relpath(match, root or ".").split("/") if part != ".")


def _raise(error: OSError) -> None:
    raise error_for(error, str(error.filename)) from error


def _check_exist(files: Files, paths: Sequence[str]) -> None:
    missing = [path for path in paths if not files.exists(path)]
    if missing:
        raise NotFound(
            "there is no such file" if len(missing) == 1 else f"{len(missing)} files are missing",
            subject=", ".join(missing),
            expected="files that exist",
            advice="Nothing was added. Check the paths.",
        )
