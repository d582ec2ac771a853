"""Changing the rows of a table: a call reads what it changes, writes, and commits on what it read, or does it again."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import random
from time import sleep
from typing import Any, cast
from uuid import UUID

from lakebed.catalog.commits import Argument, Commit, Request
from lakebed.catalog.file_changes import fits
from lakebed.catalog.row_change import RowChange, Written, put_change
from lakebed.catalog.scopes import Scope
from lakebed.catalog.tables import TableState, table_state
from lakebed.catalog.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError, OutcomeUnknown
from lakebed.files import Files
from lakebed.lake.engine import can_be_read_again, load_engine, write_rows
from lakebed.table.condition import Condition
from lakebed.table.filter import Filter
from lakebed.table.filter_binding import bind
from lakebed.table.merge_clause import Clause
from lakebed.table.schema import Schema

ATTEMPTS = 50
"""How often rows are read and changed before changes by others are too many. Each is lost to one that took effect."""

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.2
"""Seconds that a call which lost a race waits at most before it reads again; twice as long each time."""

Make = Callable[[Work, TableState], RowChange | None]
"""Makes a change; None if there is nothing to do, and then nothing is committed."""

Overwrite = Callable[[Work, TableState, Written], RowChange]
Discard = Callable[[RowChange, Files], None]


class Rows:
    """The calls of a table that change its rows in place. The local engine does them, in this process."""

    __slots__ = ()

    id: str
    _scope: Scope

    @property
    @abstractmethod
    def _state(self) -> TableState: ...

    def delete(
        self,
        where: str | Condition,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Take away the rows that pass. Files of which all rows go are removed unread; others get deletion vectors."""
        request = Request("delete", (self.id, str(where)), message, author, event_id)

        def make(work: Work, state: TableState) -> RowChange:
            return cast(RowChange, _arrow().delete_rows(work, state, bind(where, state.schema)))

        return self._changed("delete", make, request, str(where))

    def truncate(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Commit | None:
        """Take away all rows. No file is read."""
        request = Request("truncate", (self.id,), message, author, event_id)
        return self._changed("delete", lambda work, state: _arrow().delete_rows(work, state, None), request, "all rows")

    def update(
        self,
        values: Mapping[str, Any],
        where: str | Condition | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Change columns of the rows that pass, of all without `where`. The rows keep their ids.

        `values` are SQL expressions over the table's columns, as text, or values as `lakebed.lit(…)`: each sees the row
        as it was before.
        """
        given = _given_values(values)
        told = {name: str(value) for name, value in given.items()}
        request = Request("update", (self.id, _told(told), _condition(where)), message, author, event_id)

        def make(work: Work, state: TableState) -> RowChange:
            change = _arrow().assignments(given, state.schema)
            return cast(RowChange, _arrow().update_rows(work, state, change, _filter(where, state.schema)))

        return self._changed("update", make, request, _condition(where))

    def upsert(
        self,
        data: Any,
        on: str | Sequence[str] | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Put rows in the place of those with the same key; those whose key is not there yet are added.

        The key is the primary key, or the columns `on`. Rows are whole: columns that lack get their default. A key that
        comes twice in the data is `Invalid`. The data is held in memory.
        """
        given = _given_names(on)
        request = Request("upsert", (self.id, *given), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        names = given or _key_names(self._state.schema)
        held = _arrow().held(data)

        def make(work: Work, state: TableState) -> RowChange:
            return cast(RowChange, _arrow().upsert_rows(work, state, _arrow().keyed_rows(held, state.schema, names)))

        return self._changed("merge_rows", make, request, f"upsert by {', '.join(names)}")

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *clauses: Clause,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """SQL's MERGE: `orders.merge(changes, "order_id", when_matched_update(), when_not_matched_insert())`.

        `on` is a column, several, or `target.a = source.b AND …`. Of the clauses for a row the first whose condition is
        true decides. A row that several of the source match is `Invalid`, unless it goes anyway; so is a primary key
        that comes twice among the rows that are inserted. The source is held in memory.
        """
        given = _given_names(on)
        told = tuple(_clause_text(one) for one in clauses)
        request = Request("merge", (self.id, given, told), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        if not clauses:
            raise Invalid("a merge has no clause", expected="at least one, such as when_matched_update()")
        held = _arrow().held(source)

        def make(work: Work, state: TableState) -> RowChange:
            bound = _arrow().bind_merge(state.schema, held, on, clauses)
            return cast(RowChange, _arrow().merge_rows(work, state, bound))

        return self._changed("merge_rows", make, request, "; ".join(map(str, clauses)))

    def overwrite(
        self,
        data: Any,
        where: str | Condition | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Put rows in the place of those that pass, or of all, in one commit.

        Readers see the old rows or the new ones. The new rows need not pass `where`.
        """
        condition = None if where is None else str(where)
        request = Request("overwrite", (self.id, condition or ""), message, author, event_id)

        def make(work: Work, state: TableState, written: Written) -> RowChange:
            filter = _filter(where, state.schema)
            return cast(RowChange, _arrow().overwrite_rows(work, state, written, filter, condition))

        return self._overwritten(data, make, request, condition or "all rows")

    def overwrite_partitions(
        self,
        data: Any,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Put rows in the place of all rows of the partitions that they are in; other partitions stay.

        `Invalid` for a table without partitions, and while it has files of an older spec.
        """
        request = Request("overwrite_partitions", (self.id,), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        if not self._state.spec.fields:
            raise Invalid("the table has no partitions", subject=self.id, advice="Use overwrite(data, where).")
        return self._overwritten(data, _arrow().overwrite_partitions, request, "by partition")

    def get(self, *key: Any) -> dict[str, Any] | None:
        """The row with a primary key, None if there is none: `orders.get(17)`."""
        work = self._scope.read()
        return cast("dict[str, Any] | None", _arrow().find_row(work, table_state(work, self.id), key))

    def _changed(
        self, operation: str, make: Make, request: Request, detail: str, discard: Discard = RowChange.discard
    ) -> Commit | None:
        """Make the change on the newest state, and again if what it read was changed meanwhile."""
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        for attempt in range(ATTEMPTS - 1):
            try:
                return self._attempt(operation, make, request, detail, discard)
            except Conflict:
                if self._scope.read() is self._scope.read():
                    raise  # a transaction reads one state all along
                # Those who lost together would meet again and again if they all went on at once.
                sleep(random() * min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
        return self._attempt(operation, make, request, detail, discard)

    def _attempt(self, operation: str, make: Make, request: Request, detail: str, discard: Discard) -> Commit | None:
        seen = self._scope.read()
        state = table_state(seen, self.id)
        change = make(seen, state)
        if change is None:
            return None
        try:
            return self._scope.change(
                lambda work: put_change(work, seen, state, operation, change, detail), request, seen
            )
        except OutcomeUnknown:
            raise
        except LakebedError:
            discard(change, self._scope.home.files)
            raise

    def _overwritten(self, data: Any, make: Overwrite, request: Request, detail: str) -> Commit | None:
        """Write the rows once, unless the table's schema or spec is changed, and find what goes as often as needed."""
        rows = _WrittenOnce(data)
        try:
            return self._changed(
                "overwrite",
                lambda work, state: make(work, state, rows.written_for(work, state)),
                request,
                detail,
                RowChange.discard_vectors,
            )
        except OutcomeUnknown:
            raise
        except LakebedError:
            rows.discard(self._scope.home.files)
            raise


class _WrittenOnce:
    """Rows that are written when they are first needed, and again only for another schema or spec."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._written: Written | None = None
        self._state: TableState | None = None

    def written_for(self, work: Work, state: TableState) -> Written:
        if self._written is None or self._state is None or not fits(state, self._state):
            if self._written is not None and not can_be_read_again(self._data):
                raise Invalid(
                    "the table's schema or spec changed while rows were written that can't be read again",
                    advice="Give the rows again.",
                )
            self.discard(work.home.files)
            self._written, self._state = write_rows(work, state, self._data), state
        return self._written

    def discard(self, files: Files) -> None:
        if self._written is not None:
            RowChange(written=self._written).discard(files)


def _arrow() -> Any:
    return load_engine("arrow")


def _filter(where: str | Condition | None, schema: Schema) -> Filter | None:
    return None if where is None else bind(where, schema)


def _condition(where: str | Condition | None) -> str:
    return "" if where is None else str(where)


def _clause_text(clause: Clause) -> str:
    if not isinstance(clause, Clause):
        raise Invalid(
            "this is no clause of a merge", expected="such as lakebed.when_matched_update()", found=repr(clause)[:80]
        )
    values = "" if clause.values is None else ", ".join(f"{name} = {value}" for name, value in clause.values)
    return f"{clause} {values}".rstrip()


def _told(values: Mapping[str, str]) -> Argument:
    return cast(Argument, values)


def _given_values(values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found=f"{values!r:.80}")
    return dict(values)


def _given_names(on: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that were named, none if it is the primary key; `Invalid` for what names none."""
    if on is None:
        return ()
    names: tuple[object, ...] = (on,) if isinstance(on, str) or not isinstance(on, Sequence) else tuple(on)
    if not names or not all(isinstance(one, str) for one in names):
        raise Invalid("name the columns to match by", expected="a name, or several", found=repr(on))
    return cast("tuple[str, ...]", names)


def _key_names(schema: Schema) -> tuple[str, ...]:
    if not schema.key:
        raise Invalid("the table has no primary key", advice="Name the columns to match by: upsert(data, on=…).")
    return schema.key


def _nothing(_: Work) -> None:
    """A change that was made before."""
