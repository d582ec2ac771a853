"""A line, a line at a version, or a share of one, as catalogs hold it."""

from abc import ABC, abstractmethod
from typing import Self

from lakebed.catalog.refs import refs
from lakebed.catalog.refs.shares import forbidden
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.scopes import Do, Live
from lakebed.errors import Forbidden
from lakebed.store import Version


class LineHandle(ABC):
    """One line of a catalog; `_version` is None on a line as it goes on, `_share` unless a share shows some of it."""

    __slots__ = ()

    _home: Context
    _ref: Ref
    _version: Version | None
    _share: str | None

    @abstractmethod
    def _opened(
        self, ref: Ref, version: Version | None = None, *, tag: str | None = None, share: str | None = None
    ) -> Self:
        """A handle of the same kind on another line."""

    def _check_unshared(self, operation: str) -> None:
        """Refuse through a share what reaches beyond it."""
        if self._share is not None:
            raise forbidden(operation)

    def _check_live(self, operation: str) -> None:
        """Refuse a change through a handle that can only be read."""
        self._check_unshared(operation)
        if self._version is not None:
            raise Forbidden(
                f"{operation.replace('_', ' ')} can't change the past",
                subject=f"a handle at version {self._version}",
                advice="Use the handle without at(…), or create a branch at this version and write there.",
            )

    def _refs(self, operation: str) -> Live:
        """The catalog's refs, as they are now whatever version the handle is at."""
        self._check_unshared(operation)
        return refs.ref_scope(self._home, self._ref)

    def _change_refs(self, do: Do, request: Request) -> Commit:
        self._check_live(request.operation)
        return self._refs(request.operation).change(do, request)
