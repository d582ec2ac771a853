"""Changing the rows of a table: a call reads what it changes, writes, and commits on what it read, or does it again."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from random import random
from time import sleep
from typing import TYPE_CHECKING, Any, Self, cast
from uuid import UUID

from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_changes import Discard, RowChange, overwrite_partitions, put_change
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.engines import load_engine
from lakebed.lake.growing import Evolution, Growing, asked_evolution
from lakebed.lake.retry import WrittenOnce
from lakebed.lake.row_engines import Make, Overwrite, RowEngine, copying, row_engine
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.filter.condition import Condition
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 50
"""How often rows are read and changed before changes by others are too many, unless an engine says less."""

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.2
"""Seconds that a call which lost a race waits at most before it reads again; twice as long each time."""


class Rows(Growing):
    """The calls of a table that change its rows in place.

    The local engine does them, in this process; or Spark, if it is given a session, or a DataFrame as data.
    """

    __slots__ = ()

    id: str
    _scope: Scope

    @property
    @abstractmethod
    def _state(self) -> TableState: ...

    def delete(
        self,
        where: str | Condition,
        spark: "SparkSession | None" = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Take away the rows that pass. Files of which all rows go are removed unread; others get deletion vectors.

        With a session Spark looks for the rows, and `where` may be any condition of its SQL.
        """
        request = Request("delete", (self.id, str(where)), message, author, event_id)
        engine = row_engine(spark)
        return self._made("delete", engine, engine.delete(where), request, str(where))

    def truncate(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Commit | None:
        """Take away all rows. No file is read."""
        request = Request("truncate", (self.id,), message, author, event_id)
        return self._changed("delete", _everything, request, "all rows")

    def update(
        self,
        values: Mapping[str, Any],
        where: str | Condition | None = None,
        spark: "SparkSession | None" = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Change columns of the rows that pass, of all without `where`. The rows keep their ids.

        `values` are SQL expressions over the table's columns, as text, or values as `lakebed.lit(…)`: each sees the row
        as it was before. With a session Spark changes them, and both may be any SQL that it knows.
        """
        given = _given_values(values)
        told = {name: str(value) for name, value in given.items()}
        request = Request("update", (self.id, _told(told), _condition(where)), message, author, event_id)

        engine = row_engine(spark)
        return self._made("update", engine, engine.update(given, where), request, _condition(where))

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
        comes twice in the data is `Invalid`. Arrow and pandas are held in memory, a DataFrame by its executors.
        """
        given = _given_names(on)
        request = Request("upsert", (self.id, *given), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        names = given or _key_names(self._state.schema)
        engine = row_engine(data=data)
        with about(self._scope.read(), self.id):
            make = engine.upsert(data, names)
        return self._made("merge_rows", engine, make, request, f"upsert by {', '.join(names)}")

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
        that comes twice among the rows that are inserted. Arrow and pandas are held in memory; with a DataFrame Spark
        merges, and `on`, conditions and values may be any SQL that it knows.
        """
        given = _given_names(on)
        told = tuple(_clause_text(one) for one in clauses)
        request = Request("merge", (self.id, given, told), message, author, event_id)
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        if not clauses:
            raise Invalid("a merge has no clause", expected="at least one, such as when_matched_update()")
        engine = row_engine(data=source)
        with about(self._scope.read(), self.id):
            make = engine.merge(source, on, clauses)
        return self._made("merge_rows", engine, make, request, "; ".join(map(str, clauses)))

    def overwrite(
        self,
        data: Any,
        where: str | Condition | None = None,
        *,
        evolve: Evolution = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Put rows in the place of those that pass, or of all, in one commit.

        Readers see the old rows or the new ones. The new rows need not pass `where`. With `evolve="add"`, columns that
        the table lacks are added to it in the same commit.
        """
        condition = None if where is None else str(where)
        asked = asked_evolution(evolve)
        request = Request("overwrite", (self.id, condition or "", *asked), message, author, event_id)

        def write(table: Self, rows: Any, request: Request) -> Commit | None:
            engine = row_engine(data=rows)
            return table._overwritten(rows, engine, engine.overwrite(where), request, condition or "all rows")

        return self._grown(data, request, write) if asked else write(self, data, request)

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
        return self._overwritten(data, row_engine(data=data), overwrite_partitions, request, "by partition")

    def get(self, *key: Any) -> dict[str, Any] | None:
        """The row with a primary key, None if there is none: `orders.get(17)`."""
        work = self._scope.read()
        return cast("dict[str, Any] | None", load_engine("arrow").find_row(work, table_state(work, self.id), key))

    def _made(self, operation: str, engine: RowEngine, make: Make, request: Request, detail: str) -> Commit | None:
        """Make a change by an engine, as the table wants its rows changed."""
        return self._changed(operation, copying(engine, make), request, detail, attempts=engine.attempts)

    def _changed(
        self,
        operation: str,
        make: Make,
        request: Request,
        detail: str,
        discard: Discard = RowChange.discard,
        attempts: int = ATTEMPTS,
    ) -> Commit | None:
        """Make the change on the newest state, and again if what it read was changed meanwhile."""
        if self._scope.replayed(request) is not None:
            return self._scope.change(_nothing, request)
        for attempt in range(attempts):
            try:
                return self._attempt(operation, make, request, detail, discard)
            except Conflict as error:
                if self._scope.read() is self._scope.read():
                    raise  # a transaction reads one state all along
                if attempt + 1 == attempts:
                    error.advice = f"{error.advice} {_lost_advice(attempts)}".lstrip()
                    raise
                # Those who lost together would meet again and again if they all went on at once.
                sleep(random() * min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
        raise AssertionError("the last attempt answers or raises")

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
            discard(change, self._scope.context.files)
            raise

    def _overwritten(
        self, data: Any, engine: RowEngine, make: Overwrite, request: Request, detail: str
    ) -> Commit | None:
        """Write the rows once, unless the table's schema or spec is changed, and find what goes as often as needed."""
        rows = WrittenOnce(data)

        def made(work: Work, state: TableState) -> RowChange:
            return make(work, state, rows.written_for(work, state))

        change = copying(engine, made, RowChange.discard_vectors)

        def used(work: Work, state: TableState) -> RowChange | None:
            with rows.used(work.context.files):
                return change(work, state)

        try:
            return self._changed("overwrite", used, request, detail, RowChange.discard_vectors, engine.attempts)
        except OutcomeUnknown:
            raise
        except LakebedError:
            rows.discard(self._scope.context.files)
            raise


def _lost_advice(attempts: int) -> str:
    return f"It was made {attempts} times, each time on newer rows. Run it again when fewer write, or for fewer rows."


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


def _everything(work: Work, state: TableState) -> RowChange:
    """All rows go: no engine has to look at them."""
    return RowChange([one.file for one in plan(work, state).files])


def _nothing(_: Work) -> None:
    """A change that was made before."""
