"""Changing a table's rows: a call reads what it changes, writes, and commits on what it read, or does it again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from lakebed.catalog.data.engine import Engine, Fill, KeptRows, Where
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_changes import (
    Discard,
    RowChange,
    Written,
    put_change,
    without_vectors,
)
from lakebed.catalog.data.row_changes import overwrite_partitions as replace_partitions
from lakebed.catalog.data.target import target_of
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.properties import RowChanges, row_changes, table_properties
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.bound import asked_id
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Scope, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.engines import engine_for
from lakebed.lake.rows.written import WrittenOnce, checks_in
from lakebed.table.expression.assignments import Values
from lakebed.table.expression.merge_clauses import Clause, Then
from lakebed.table.expression.statement_text import as_written
from lakebed.table.filter.condition import Condition
from lakebed.table.keys.uniqueness import is_part_of_key, merge_keeps_keys, sets_key
from lakebed.table.manifest.summary import given_summary
from lakebed.table.partition.explicit import ExplicitValues
from lakebed.table.schema.schema import Schema

ATTEMPTS = 50
"""How often rows are read and changed before concurrent changes are too many, unless an engine has a lower limit."""

Make = Callable[[Work, TableState], RowChange | None]
"""Makes a change; None if there is nothing to do, and then nothing is committed."""

UPDATED = "Give each row a key of its own, or pass `where` to update fewer rows."
UPSERTED = "Upsert by the primary key, or keep one row for each key."
MERGED = "Match by the primary key, or let the clauses give each row a key of its own."
OVERWRITTEN = "Keep one row for each key, or overwrite the rows that have these keys, too."
"""What to do about two rows with one key, after each operation."""


def delete(scope: Scope, table: str, where: str | Condition, engine: Engine, request: Request) -> Commit | None:
    """Delete the rows that pass."""
    make = _by(engine, lambda work, state: engine.delete(target_of(work, state), where), "delete")
    return change_rows(scope, table, "delete", make, request, as_written(where), attempts=engine.attempts)


def truncate(scope: Scope, table: str, request: Request) -> Commit | None:
    """Delete all rows. No engine has to look at them."""

    def every_file(work: Work, state: TableState) -> RowChange:
        return RowChange([planned.file for planned in plan(work, state).files])

    return change_rows(scope, table, "truncate", every_file, request, "all rows")


def update_values(
    scope: Scope,
    table: str,
    values: Values,
    where: Callable[[Work], Where],
    engine: Engine,
    request: Request,
    also: Callable[[Work], None],
) -> Commit | None:
    """Set columns of all rows of an explicit partition, and change the partition in the same commit."""

    def make_rows(work: Work, state: TableState) -> RowChange:
        change = engine.update(target_of(work, state), values, where(work))
        return _with_single_keys(engine, work, state, change, UPDATED) if sets_key(state.schema, values) else change

    make = _by(engine, make_rows, "update")
    return change_rows(scope, table, "alter_partition", make, request, "renamed", attempts=engine.attempts, also=also)


def update(scope: Scope, table: str, values: Values, where: Where, engine: Engine, request: Request) -> Commit | None:
    """Set columns of the rows that pass."""

    def make_rows(work: Work, state: TableState) -> RowChange:
        change = engine.update(target_of(work, state), values, where)
        return _with_single_keys(engine, work, state, change, UPDATED) if sets_key(state.schema, values) else change

    make = _tested(scope, _by(engine, make_rows, "update"))
    detail = "" if where is None else as_written(where)
    return change_rows(scope, table, "update", make, request, detail, attempts=engine.attempts)


def upserting(on: Sequence[str], fill: Fill) -> Callable[[Scope, str, object, Request], Commit | None]:
    """What replaces the rows with the same key, and inserts the rest."""

    def upsert(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
        names = on or _key_names(table_state(scope.read(), table).schema)
        engine = engine_for(data)

        def make(kept: KeptRows, work: Work, state: TableState) -> RowChange:
            change = kept.upsert(target_of(work, state), names, fill)
            if is_part_of_key(state.schema, names):
                return change
            return _with_single_keys(engine, work, state, change, UPSERTED)

        return _with_source(scope, table, data, engine, make, request, "upsert", f"by {', '.join(names)}")

    return lambda scope, table, data, request: once(scope, request, lambda: upsert(scope, table, data, request))


@dataclass(frozen=True, slots=True)
class Joined:
    """A deletion or an update of the rows that a source matches, and its condition as it was written."""

    then: Then
    where: str


def merge(
    scope: Scope,
    table: str,
    source: object,
    on: str | Sequence[str],
    clauses: Sequence[Clause],
    request: Request,
    joined: Joined | None = None,
) -> Commit | None:
    """SQL's MERGE; `joined` says that it is a DELETE or an UPDATE with a source."""
    mode = "merge" if joined is None else joined.then.value
    operation, detail = "merge_rows", "; ".join(map(str, clauses))
    if joined is not None:
        operation, detail = mode, joined.where

    def make_it() -> Commit | None:
        if not clauses:
            raise Invalid("a merge has no clause", expected="at least one, such as when_matched_update()")
        engine = engine_for(source)

        def make(kept: KeptRows, work: Work, state: TableState) -> RowChange:
            change = kept.merge(target_of(work, state), on, clauses)
            keeps = not state.schema.key or merge_keeps_keys(on, clauses, state.schema, kept.schema(state.schema))
            return change if keeps else _with_single_keys(engine, work, state, change, MERGED)

        return _with_source(scope, table, source, engine, make, request, operation, detail, mode)

    return once(scope, request, make_it)


def overwriting_values(into: ExplicitValues) -> Callable[[Scope, str, object, Request], Commit | None]:
    """What replaces the rows with the values of an explicit partition."""

    def overwrite(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
        engine = engine_for(data)

        def make(work: Work, state: TableState, written: Written) -> RowChange:
            return engine.overwrite(target_of(work, state), written, into.condition(state.schema))

        detail = str(into.condition(table_state(scope.read(), table).schema))
        return _overwrite(scope, table, data, engine, make, request, detail, into)

    return overwrite


def overwriting(where: Where) -> Callable[[Scope, str, object, Request], Commit | None]:
    """What replaces the rows that pass, or all, by new ones."""

    def overwrite(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
        engine = engine_for(data)

        def make(work: Work, state: TableState, written: Written) -> RowChange:
            return engine.overwrite(target_of(work, state), written, where)

        return _overwrite(scope, table, data, engine, make, request, "all rows" if where is None else as_written(where))

    return overwrite


def overwrite_partitions(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
    """Replace all rows of the partitions that the new rows are in."""

    def make_it() -> Commit | None:
        if not table_state(scope.read(), table).spec.fields:
            raise Invalid("the table has no partitions", subject=table, advice="Use overwrite(data, where).")
        return _overwrite(scope, table, data, engine_for(data), replace_partitions, request, "by partition")

    return once(scope, request, make_it)


def change_rows(
    scope: Scope,
    table: str,
    operation: str,
    make: Make,
    request: Request,
    detail: str,
    *,
    discard: Discard = RowChange.discard,
    attempts: int = ATTEMPTS,
    also: Callable[[Work], None] | None = None,
) -> Commit | None:
    """Make a change on the newest state, and again if what it read was changed meanwhile.

    `also` is done in the same commit. `discard` deletes what an attempt that lost has written. A transaction reads one
    state all along: a conflict in it is final.
    """
    is_final = scope.is_transaction

    def attempt() -> Commit | None:
        seen = scope.read()
        state = table_state(seen, table)
        change = make(seen, state)
        if change is None:
            return None

        def put(work: Work) -> None:
            put_change(work, seen, state, operation, change, detail, request.summary)
            if also is not None:
                also(work)

        try:
            return scope.change(put, request, seen)
        except OutcomeUnknown:
            raise
        except LakebedError:
            discard(change, scope.context.files)
            raise

    def make_it() -> Commit | None:
        try:
            return retried(attempts, attempt, lambda _: not is_final)
        except Conflict as error:
            if not is_final:
                error.advice = f"{error.advice} {_lost_advice(attempts)}".lstrip()
            raise

    return once(scope, request, make_it)


def given_names(on: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that were named, none for the primary key; `Invalid` if they are not names."""
    if on is None:
        return ()
    names: tuple[object, ...] = (on,) if isinstance(on, str) or not isinstance(on, Sequence) else tuple(on)
    if not names or not all(isinstance(name, str) for name in names):
        raise Invalid("name the columns to match by", expected="a name, or several", found=repr(on))
    return cast("tuple[str, ...]", names)


def given_fill(fill: str) -> Fill:
    """What an upsert does about missing columns; `Invalid` for anything but its words."""
    try:
        return Fill(fill)
    except ValueError:
        expected = " or ".join(repr(known.value) for known in Fill)
        raise Invalid("missing columns can't be filled like this", expected=expected, found=repr(fill)) from None


def check_alike(data: object, fill: Fill) -> None:
    """Refuse dicts with different columns if missing ones are to be kept: a null would replace what a row has."""
    rows = data if isinstance(data, list | tuple) else ()
    if fill is not Fill.KEEP or not all(isinstance(row, Mapping) for row in rows):
        return
    for place, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise Invalid(
                "the rows have different columns, so that missing values can't be kept",
                subject=f"row {place}",
                expected=", ".join(map(str, rows[0])),
                found=", ".join(map(str, row)),
                advice='Upsert rows with the same columns together, write None for a null, or pass fill="default".',
            )


def later_words(**words: str | bool | None) -> tuple[Argument, ...]:
    """What a request has of arguments that came later: a call without them keeps its fingerprint."""
    given: dict[str, Argument] = {name: word for name, word in words.items() if word}
    return (given,) if given else ()


def update_arguments(table: str, values: Values, where: Where) -> tuple[Argument, ...]:
    """What the request of an update has."""
    texts = {name: str(value) for name, value in values.items()}
    return table, cast(Argument, texts), "" if where is None else str(where)


def given_values(values: Values) -> Values:
    """Values by column, as they were given; `Invalid` for anything but a mapping."""
    if not isinstance(values, Mapping):
        raise Invalid("values are given by column", expected='such as {"price": "price * 2"}', found=f"{values!r:.80}")
    return dict(values)


def merge_request(
    table: str,
    on: str | Sequence[str],
    clauses: Sequence[Clause],
    message: str | None,
    author: str | None,
    event_id: str | UUID | None,
    summary: Mapping[str, str] | None = None,
) -> Request:
    """What a merge was asked for."""
    asked = given_names(on), tuple(clause_text(clause) for clause in clauses)
    return Request("merge", (asked_id(table), *asked), message, author, event_id, given_summary(summary))


def clause_text(clause: Clause) -> str:
    """A clause of a merge as a request has it."""
    if not isinstance(clause, Clause):
        raise Invalid(
            "this is not a clause of a merge",
            expected="such as lakebed.when_matched_update()",
            found=repr(clause)[:80],
        )
    values = "" if clause.values is None else ", ".join(f"{name} = {value}" for name, value in clause.values)
    return f"{clause} {values}".rstrip()


def _by(engine: Engine, make: Make, operation: str, discard: Discard = RowChange.discard) -> Make:
    """A change as the table wants the operation: with vectors, or with copies of the files that it deletes rows from.

    `discard` deletes what the change had written if the copies fail.
    """

    def made(work: Work, state: TableState) -> RowChange | None:
        wanted = row_changes(table_properties(work, state.id), operation)
        change = make(work, state)
        if change is None or wanted is RowChanges.MERGE_ON_READ:
            return change
        return without_vectors(work, target_of(work, state), change, engine.rewrite, discard)

    return made


def _tested(scope: Scope, make: Make) -> Make:
    """A change that is made again if the table's checks change before it is committed."""
    checks_of = checks_in(scope)

    def made(work: Work, state: TableState) -> RowChange | None:
        checks_of(work, state.id)
        return make(work, state)

    return made


def _with_source(
    scope: Scope,
    table: str,
    data: object,
    engine: Engine,
    make: Callable[[KeptRows, Work, TableState], RowChange],
    request: Request,
    operation: str,
    detail: str,
    mode: str = "merge",
) -> Commit | None:
    with about(scope.read(), table):
        kept = engine.keep(data)
    change = _tested(scope, _by(engine, lambda work, state: make(kept, work, state), mode))
    return change_rows(scope, table, operation, change, request, detail, attempts=engine.attempts)


def _with_single_keys(
    engine: Engine, work: Work, state: TableState, change: RowChange, advice: str, discard: Discard = RowChange.discard
) -> RowChange:
    """The change; if the table has a primary key and two rows would have one, `discard` it and raise `Invalid`.

    The error ends with this advice.
    """
    if not state.schema.key:
        return change
    try:
        engine.check_keys(target_of(work, state), change)
    except BaseException as error:
        discard(change, work.context.files)
        if isinstance(error, Invalid):
            error.advice = f"Nothing was changed. {advice}"
        raise
    return change


def _overwrite(
    scope: Scope,
    table: str,
    data: object,
    engine: Engine,
    make: Callable[[Work, TableState, Written], RowChange],
    request: Request,
    detail: str,
    into: ExplicitValues | None = None,
) -> Commit | None:
    """Write the rows once, unless the table changes so that they don't fit, and find what goes as often as needed."""
    rows, keep_rows = WrittenOnce(data, checks_in(scope), "overwrite", into), RowChange.discard_vectors

    def make_rows(work: Work, state: TableState) -> RowChange:
        change = make(work, state, rows.written_for(work, state))
        return _with_single_keys(engine, work, state, change, OVERWRITTEN, keep_rows)

    change = _by(engine, make_rows, "overwrite", keep_rows)

    def make_change(work: Work, state: TableState) -> RowChange | None:
        with rows.in_use(work.context.files):
            return change(work, state)

    try:
        return change_rows(
            scope, table, "overwrite", make_change, request, detail, discard=keep_rows, attempts=engine.attempts
        )
    except OutcomeUnknown:
        raise
    except LakebedError:
        rows.discard(scope.context.files)
        raise


def _key_names(schema: Schema) -> tuple[str, ...]:
    if not schema.key:
        raise Invalid("the table has no primary key", advice="Name the columns to match by: upsert(data, on=…).")
    return schema.key


def _lost_advice(attempts: int) -> str:
    return f"It was made {attempts} times, each time on newer rows. Run it again when fewer write, or for fewer rows."
