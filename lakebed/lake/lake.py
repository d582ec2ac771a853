"""Opening a lake."""

import getpass
import os
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit
from uuid import UUID

from lakebed.catalog import catalogs
from lakebed.catalog.branches import find_branch
from lakebed.catalog.commits import Request
from lakebed.catalog.home import Home
from lakebed.catalog.schemas import Schemas
from lakebed.errors import Invalid, NotFound
from lakebed.files import LocalFiles
from lakebed.lake.catalog import Catalog
from lakebed.metastore import RecordsMetastore
from lakebed.store import SQLiteStore

DATABASE = "catalog.db"
"""The file, in the lake's folder, that has all but the data."""


def connect(url: str | os.PathLike[str], *, project: str = catalogs.DEFAULT, author: str | None = None) -> "Lake":
    """Open the lake in a folder, which is made if it is not there.

    `author` signs the commits; unless given, it is the name of whoever runs this.
    """
    files = LocalFiles(_folder(url))
    metastore = RecordsMetastore(SQLiteStore(f"{files.root}/{DATABASE}"))
    signed = _user() if author is None else author
    try:
        opened = catalogs.open_project(metastore, project, signed)
    except BaseException:
        metastore.close()
        raise
    return Lake(Home(metastore, files, Schemas(metastore), opened, signed))


class Lake:
    """A metastore and the storage under it; the root of all handles. Close it, or use it in a `with`."""

    __slots__ = ("_home",)

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def url(self) -> str:
        """The lake's address, as `connect` takes it."""
        return self._home.files.url

    @property
    def format_version(self) -> int:
        """The version of the format that the lake is kept in."""
        return self._home.metastore.format_version

    def create_catalog(
        self,
        name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Catalog:
        """Make a catalog with nothing in it."""
        request = Request("create_catalog", (self._home.project, name), message, author, event_id)
        return Catalog(self._home, catalogs.create_catalog(self._home, name, request))

    def catalog(self, name: str = catalogs.DEFAULT) -> Catalog:
        """The catalog with this name, or `NotFound`. `name@branch` is a branch of it, `name#17` it at a version.

        What follows `#` is a version's number or a time in ISO 8601.
        """
        if not isinstance(name, str):
            raise Invalid("a catalog's name is text", expected="name, name@branch or name#version", found=repr(name))
        rest, pinned, pin = name.partition("#")
        own, has_ref, ref = rest.partition("@")
        found = catalogs.find_catalog(self._home, own)
        if has_ref:
            found = find_branch(self._home, found, ref)
        opened = Catalog(self._home, found)
        if not pinned:
            return opened
        return opened.at(version=pin) if pin.isdigit() else opened.at(time=pin)

    def catalogs(self) -> list[Catalog]:
        """The trunks of all catalogs of the project."""
        return [self.catalog(name) for name in catalogs.catalog_names(self._home)]

    def catalog_exists(self, name: str) -> bool:
        try:
            catalogs.find_catalog(self._home, name)
        except NotFound:
            return False
        return True

    def close(self) -> None:
        """Let go of the lake's files. Handles of a closed lake are of no use."""
        self._home.metastore.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lake({self.url!r})"


def _folder(url: str | os.PathLike[str]) -> str:
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise Invalid("this is not the address of a lake", subject=repr(url), expected="a folder or a file: URL")
    if "\0" in text:
        raise Invalid("this is not the address of a lake", subject=repr(url), expected="a folder or a file: URL")
    if text.startswith("file:"):
        address = urlsplit(text)
        if address.netloc not in ("", "localhost"):
            raise Invalid("a file: URL names another machine", subject=text, expected="file:///path")
        return unquote(address.path)
    if "://" in text:
        raise Invalid("a lake of this kind can't be opened yet", subject=text, expected="a folder or a file: URL")
    return os.path.expanduser(text)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in many containers
        return ""
