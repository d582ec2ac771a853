"""Writes that give their table the columns that it lacks, in the same commit."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.scopes import Open, Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid
from lakebed.lake.engines import can_be_read_again, columns_of
from lakebed.lake.evolve import Evolve
from lakebed.table.schema.evolution import new_columns
from lakebed.table.schema.schema import Schema

WRITES = 5
"""How often rows in memory are written before changes of their table are too many."""

ADD = "add"
Evolution = Literal["add"] | None
"""How a table evolves to hold the rows that it is given: with `add`, by the columns that it lacks."""


class Growing:
    """What a table's handle does for calls that may add columns."""

    __slots__ = ()

    id: str
    _scope: Scope

    @property
    @abstractmethod
    def _state(self) -> TableState: ...

    def _grown(
        self, data: Any, request: Request, write: Callable[[Self, Any, Request], Commit | None]
    ) -> Commit | None:
        """Add the columns that the table lacks, and write the rows, in one commit."""
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        given, rows = columns_of(data)
        if not new_columns(self._state.schema, given):
            return write(self, rows, request)
        if isinstance(self._scope, Open):
            with self._scope.all_or_none():
                self._add_columns(given)
                return write(self, rows, request)
        return self._in_one_commit(given, rows, request, write)

    def _in_one_commit(
        self, given: Schema, rows: Any, request: Request, write: Callable[[Self, Any, Request], Commit | None]
    ) -> Commit:
        """Make both changes on the newest state, and again if that was changed meanwhile and the rows are in memory."""
        attempts = WRITES if can_be_read_again(rows) else 1
        for attempt in range(attempts):
            scope = Open(self._scope.context, self._scope.ref, request)
            scope.begin()
            try:
                table = type(self)(self.id, scope)  # type: ignore[call-arg]
                table._add_columns(given)
                write(table, rows, Request(request.operation, request.arguments))
                return scope.commit()
            except Conflict:
                if attempt + 1 == attempts:
                    raise
            finally:
                scope.close()
        raise AssertionError("the last attempt answers or raises")

    def _add_columns(self, given: Schema) -> None:
        with Evolve(self.id, self._scope, None, None, None) as change:
            for path, type in new_columns(self._state.schema, given):
                change.add_column(path, type)


def asked_evolution(evolve: str | None) -> tuple[str, ...]:
    """How a call is asked to evolve its table, as its request has it; `Invalid` for any other way than `add`."""
    if evolve is None:
        return ()
    if evolve != ADD:
        raise Invalid("a table can't evolve so by a write", expected=repr(ADD), found=repr(evolve))
    return (evolve,)


def _nothing(_: Work) -> None:
    """A change that was made before."""
