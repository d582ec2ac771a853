"""Adding rows to a table: appends, and existing files."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike, fspath

from lakebed.catalog.data import changes
from lakebed.catalog.data.add_files import add_files as put_files
from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.checks import are_tested
from lakebed.catalog.tables.properties import looks_at_keys, table_properties
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Scope, SeenStateChanged, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.engines import arrow_engine, engine_for
from lakebed.lake.rows.writes import change_rows
from lakebed.lake.rows.written import ChecksOf, WrittenOnce, check_same_values, check_tested, checks_in, write_rows
from lakebed.table.manifest.inline import file_paths
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues

ATTEMPTS = 5
"""How often rows or files are written or read again before changes of their table's schema are too many."""

Address = str | PathLike[str]

Into = Callable[[Work], ExplicitValues | None]
"""The values, in a work, of the explicit partition that rows are for; None if they are for the whole table."""


EntriesOf = Callable[[TableState], Sequence[DataFileRef]]
"""Makes the entries of files for a table in a state."""


def _anywhere(_: Work) -> None:
    return None


def append(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
    """Add rows: files are written first, then one commit shows them all."""
    return once(scope, request, lambda: _append(scope, table, data, request))


def appending_to(into: Into) -> Callable[[Scope, str, object, Request], Commit | None]:
    """What adds rows to an explicit partition: those without its columns get its values."""
    return lambda scope, table, data, request: once(scope, request, lambda: _append(scope, table, data, request, into))


def append_new_keys(scope: Scope, table: str, data: object, request: Request) -> Commit | None:
    """Add rows whose primary keys are neither repeated nor in the table: `Invalid` names one that is."""
    return once(scope, request, lambda: _append_new_keys(scope, table, data, request))


def add_files(scope: Scope, table: str, addresses: tuple[str, ...], request: Request, *, verify: bool) -> Commit | None:
    """Add Parquet files where they are."""
    return once(scope, request, lambda: _add_files(scope, table, addresses, request, verify))


def _add_files(scope: Scope, table: str, addresses: tuple[str, ...], request: Request, verify: bool) -> Commit | None:
    files, engine = scope.context.files, arrow_engine()

    def entries(state: TableState) -> Sequence[DataFileRef]:
        return engine.add_files(files, state.schema, state.spec, addresses, verify=verify)

    return add_entries(scope, table, entries, request)


def given_addresses(paths: Address | Iterable[Address]) -> tuple[str, ...]:
    """The paths of files as text, one or many; `Invalid` for anything else."""
    if isinstance(paths, str | PathLike):
        return (_address(paths),)
    if isinstance(paths, bytes) or not isinstance(paths, Iterable):
        raise Invalid(
            "files are given by their paths", subject=repr(paths), expected="a file, a folder, a pattern, or a list"
        )
    return tuple(_address(path) for path in paths)


def _append(scope: Scope, table: str, data: object, request: Request, into: Into = _anywhere) -> Commit | None:
    read = changes.state_for_rows if scope.is_transaction else table_state
    seen, state = _read(scope, table, read)
    checks_of = checks_in(scope)
    if _looks_at_keys(seen, state):
        return _append_new_keys(scope, table, data, request, into)

    def is_worth(_: Conflict) -> bool:
        nonlocal seen, state
        before = state, checks_of(seen, table)
        seen, state = _read(scope, table, read)
        tested = are_tested(before[1], before[0].schema, checks_of(seen, table), state.schema)
        return can_be_read_again(data) and not (tested and changes.fits(state, before[0]))

    return retried(
        ATTEMPTS, lambda: _write_and_commit(scope, seen, state, data, checks_of, request, into, read), is_worth
    )


def _write_and_commit(
    scope: Scope,
    seen: Work,
    state: TableState,
    data: object,
    checks_of: ChecksOf,
    request: Request,
    into: Into,
    read: changes.ReadState,
) -> Commit | None:
    checks = checks_of(seen, state.id)
    values = into(seen)
    rows = write_rows(seen, state, data, into=values)

    def commit(work: Work) -> None:
        check_same_values(values, into(work))
        check_tested(checks, state, checks_of(work, state.id), read(work, state.id))
        changes.append(work, state, rows.files, rows.bodies, request.summary, read)

    try:
        return scope.change(commit, request, seen)
    except OutcomeUnknown:
        raise
    except LakebedError:
        # Nobody can see them; what can't be deleted now is left for garbage collection.
        scope.context.files.delete_many(file_paths(rows.files))
        raise


def _append_new_keys(scope: Scope, table: str, data: object, request: Request, into: Into = _anywhere) -> Commit | None:
    """Write the rows once, and look for their keys as often as others change the table."""
    values = into(scope.read())
    rows, engine = WrittenOnce(data, checks_in(scope), into=values), engine_for(data)

    def make(work: Work, state: TableState) -> RowChange:
        check_same_values(values, into(work))
        written = rows.written_for(work, state)
        with rows.in_use(work.context.files):
            engine.check_keys(target_of(work, state), RowChange(written=written))
        return RowChange(written=written)

    try:
        return change_rows(scope, table, "insert", make, request, "", discard=RowChange.discard_vectors)
    except OutcomeUnknown:
        raise
    except LakebedError:  # nothing else: after Ctrl-C the commit may have taken effect
        rows.discard(scope.context.files)
        raise


def add_entries(
    scope: Scope, table: str, entries_of: EntriesOf, request: Request, *, new_keys: bool = False
) -> Commit | None:
    """Add files that others wrote, by entries that are made for the table as it is.

    `new_keys`: their primary keys are looked for, whatever the table's properties say.
    """
    seen, state = _read(scope, table)

    def attempt() -> Commit | None:
        files, written, base = scope.context.files, state, seen
        entries = entries_of(written)
        looks = _looks_at_keys(base, written) or (new_keys and bool(written.schema.identifier_ids))
        if looks:
            arrow_engine().check_keys(target_of(base, written), RowChange(written=Written(entries)))
        files.sync(entry.path for entry in entries)

        def put(work: Work) -> None:
            if looks and work is not base:
                raise SeenStateChanged("keys that were looked for")
            put_files(work, written, entries, request.summary)

        return scope.change(put, request, base)

    def is_worth(_: Conflict) -> bool:
        nonlocal seen, state
        before = state
        seen, state = _read(scope, table)
        return _looks_at_keys(seen, state) or not changes.is_same(state, before)

    return retried(ATTEMPTS, attempt, is_worth)


def _looks_at_keys(work: Work, state: TableState) -> bool:
    return bool(state.schema.identifier_ids) and looks_at_keys(table_properties(work, state.id))


def _read(scope: Scope, table: str, read: changes.ReadState = table_state) -> tuple[Work, TableState]:
    seen = scope.read()
    return seen, read(seen, table)


def _address(path: Address) -> str:
    found = fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(found, str):
        raise Invalid("a file is named by text or a path", expected="str or pathlib.Path", found=type(path).__name__)
    return found
