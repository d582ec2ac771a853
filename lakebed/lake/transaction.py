"""The handle of a transaction."""

from types import TracebackType
from typing import Self

from lakebed.catalog.commits import Commit
from lakebed.catalog.scopes import Open
from lakebed.lake.objects import Objects


class Transaction(Objects):
    """Changes to any number of tables that commit together at the end of the `with`, or not at all.

    Reads see what the transaction did. An exception ends it without a trace. A `Conflict` at its end says what it had
    read and somebody else has changed.
    """

    __slots__ = ("_committed", "_open")

    def __init__(self, scope: Open) -> None:
        super().__init__(scope)
        self._open = scope
        self._committed: Commit | None = None

    @property
    def committed(self) -> Commit | None:
        """The commit, once there is one."""
        return self._committed

    def __enter__(self) -> Self:
        self._open.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._committed = self._open.commit()
        else:
            self._open.close()
