"""The address of a lake: a folder, or a file: URL with options."""

import os
import shlex
from collections import deque
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import UUID

from lakebed.errors import Corrupt, Invalid, NotFound
from lakebed.files.paths import can_be_path
from lakebed.table.types.synonyms import nearest

DATABASE = "catalog.db"
"""The file, in the lake's folder, that has all but the data."""

TABLES = "tables"
"""The folder, in the lake's folder, that has the files of tables by their ids."""

OPTIONS = ("create", "project", "read_only")
"""What may follow `?` in a URL."""

DEPTH = 3
LOOKED_AT = 1_000
"""How deep, and how many folders, a folder without a lake is searched for tables with locations of their own."""

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Address:
    """A folder, and the options of its URL by name."""

    folder: str
    options: dict[str, str]

    def flag(self, name: str, given: bool | None) -> bool | None:
        """A flag: as it is given, or else as the URL has it."""
        found = self.options.get(name)
        if given is not None and not isinstance(given, bool):
            raise Invalid(f"{name} is True or False", found=repr(given))
        if given is not None or found is None:
            return given
        if found.lower() not in _FLAGS:
            raise Invalid("an option of the lake's URL is neither true nor false", subject=name, found=repr(found))
        return _FLAGS[found.lower()]

    def check_creatable(self, create: bool | None, read_only: bool) -> None:
        """Refuse a folder without a lake where none is to be created: unless asked, only in an existing folder.

        Where data lies, there was a lake: none is ever begun there.
        """
        was_one = has_data(self.folder) or _has_remains(self.folder)  # first: whoever creates a lake writes these last
        if self.has_lake():
            return
        elsewhere = None if was_one else table_elsewhere(self.folder)
        if (was_one or elsewhere) and not self.has_lake():
            raise lost_catalog(self.folder, f"no {DATABASE}, or an empty one", elsewhere)
        if read_only:
            advice = "Fix the path, or connect without read_only=True to create a lake."
            raise NotFound("there is no lake", subject=self.folder, advice=advice)
        if create is False:
            raise NotFound("there is no lake", subject=self.folder, advice="Fix the path, or pass create=True.")
        parent = os.path.dirname(os.path.abspath(self.folder))
        if create is None and not os.path.isdir(parent):
            raise NotFound(
                "there is no lake, and no folder to create it in",
                subject=self.folder,
                found=f"no folder {parent}",
                advice="Fix the path, or pass create=True.",
            )

    def check_private(self, permissions: int) -> None:
        """Refuse a folder that is not empty, and that other users can open."""
        if permissions & 0o077:
            raise Invalid(
                "other users may open this folder, and there is something in it",
                subject=self.folder,
                expected="mode 700",
                found=f"mode {permissions:o}",
                advice=f"If it is to be yours alone, run: chmod -R go-rwx {shlex.quote(self.folder)}",
            )

    def has_lake(self) -> bool:
        """Whether there is a database in the folder; that of a creation that was killed is empty."""
        try:
            return os.stat(os.path.join(self.folder, DATABASE)).st_size > 0
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # somebody else's, perhaps: opening it will tell


def has_data(folder: str) -> bool:
    """Whether files of tables are in the folder, as a lake has them: in tables/<id of a table>/."""
    try:
        with os.scandir(os.path.join(folder, TABLES)) as entries:
            return any(files for entry in entries if _is_id(entry.name) for _, _, files in os.walk(entry.path))
    except OSError:
        return False


def _has_remains(folder: str) -> bool:
    """Whether files that belong to a catalog are in the folder."""
    return any(_size(os.path.join(folder, f"{DATABASE}{suffix}")) for suffix in ("-newest", "-wal"))


def table_elsewhere(folder: str) -> str | None:
    """A folder of a table that is not in tables/, as `location=` makes them: .../<id>/data/<id>.parquet.

    Folders are looked at down to a depth, and so many: others may have much in here. Those of another lake are its own.
    """
    pending = deque([(folder, 0)])
    for _ in range(LOOKED_AT):
        if not pending:
            break
        place, depth = pending.popleft()
        if place != folder and _size(os.path.join(place, DATABASE)):
            continue
        names = _folders(place)
        if any(_is_id(name) and _has_files(os.path.join(place, name, "data")) for name in names):
            return f"{os.path.relpath(place, folder)}/"
        pending += [(os.path.join(place, name), depth + 1) for name in names if depth < DEPTH and not _is_id(name)]
    return None


def _folders(place: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _has_files(place: str) -> bool:
    """Whether files with names that Lakebed gives are in a folder."""
    try:
        with os.scandir(place) as entries:
            return any(_is_id(os.path.splitext(entry.name)[0]) for entry in entries)
    except OSError:
        return False


def lost_catalog(folder: str, found: str, elsewhere: str | None) -> Corrupt:
    """The error of a folder that has what belongs to a lake, and no catalog that knows of it."""
    tables = [f"{TABLES}/"] if os.path.exists(os.path.join(folder, TABLES)) else []
    left = [elsewhere] if elsewhere else tables
    return Corrupt(
        "there was a lake, but its catalog is lost",
        subject=folder,
        expected=DATABASE,
        found=found,
        advice="Restore a backup: a folder that lake.backup made can be used in its place. "
        f"To begin a new lake here, move {' and '.join([*left, f'{DATABASE}-*'])} away.",
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def parse_address(url: str | os.PathLike[str]) -> Address:
    """The address that a text, path or URL is; `Invalid` for another one, and for options that nobody knows."""
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
    if not isinstance(text, str) or not text or not can_be_path(text):
        raise Invalid("this is not the address of a lake", subject=ascii(url), expected="a folder or a file: URL")
    if not text.startswith("file:"):
        if "://" in text:
            raise Invalid("a lake of this kind can't be opened yet", subject=text, expected="a folder or a file: URL")
        return Address(os.path.expanduser(text), {})
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise Invalid("a file: URL names another machine", subject=text, expected="file:///path")
    if parts.fragment:
        raise Invalid(
            "a lake's URL has nothing after #",
            subject=text,
            advice='A version belongs to a catalog: lake.catalog("default#17"). In a path write %23.',
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        check_option(name, OPTIONS, "a lake's URL has no such option")
    return Address(unquote(parts.path), options)


def check_option(name: str, known: tuple[str, ...], problem: str) -> None:
    """Refuse an option that is not known."""
    if name not in known:
        near = nearest(name, known)
        advice = f"Did you mean {near}?" if near else ""
        raise Invalid(problem, subject=name, expected=f"one of {', '.join(known)}", advice=advice)
