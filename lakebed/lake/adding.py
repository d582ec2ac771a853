"""Adding files to a table that are there already."""

from collections.abc import Iterable
from os import PathLike, fspath
from uuid import UUID

from lakebed.catalog.data.add_files import add_files
from lakebed.catalog.data.changes import fits
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid
from lakebed.lake.engines import load_engine
from lakebed.lake.writes import Rows

ATTEMPTS = 5
"""How often files are looked at before changes of their table are too many."""

Address = str | PathLike[str]


class Adding(Rows):
    """The calls that change a table's rows, and the one that adds rows without writing them."""

    __slots__ = ()

    def add_files(
        self,
        paths: Iterable[Address],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Add Parquet files where they are: none is copied or changed, and Lakebed never deletes them.

        Paths are absolute, relative to the working folder, or `file:///…`. Columns are found by the names that they
        have in the table's files; those that a file lacks are null or have their default; those that the table lacks
        are not shown, now or later. Each file has rows of one partition. `Invalid` has every reason why files don't
        fit, `AlreadyExists` those that the table has.
        """
        given = _addresses(paths)
        request = Request("add_files", (self.id, *given), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        for _ in range(ATTEMPTS - 1):
            seen = self._scope.read()
            try:
                return self._add(given, request, seen)
            except Conflict:
                if fits(self._state, table_state(seen, self.id)):
                    raise
        return self._add(given, request, self._scope.read())

    def _add(self, given: tuple[str, ...], request: Request, seen: Work) -> Commit | None:
        files, state = self._scope.context.files, table_state(seen, self.id)
        entries = load_engine("arrow").added_files(files, state.schema, state.spec, given)
        files.sync(one.path for one in entries)
        return self._scope.change(lambda work: add_files(work, state, entries), request, seen)


def _addresses(paths: Iterable[Address]) -> tuple[str, ...]:
    if isinstance(paths, str | bytes | PathLike) or not isinstance(paths, Iterable):
        raise Invalid("files are given as a list", subject=repr(paths), expected=f"[{paths!r}]")
    return tuple(_address(one) for one in paths)


def _address(path: Address) -> str:
    found = fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(found, str):
        raise Invalid("a file is named by text or a path", expected="str or pathlib.Path", found=type(path).__name__)
    return found


def _nothing(_: Work) -> None:
    """A change that was made before."""
