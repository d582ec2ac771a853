"""Changes of explicit partitions, as the handles call them. Each is one commit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import cast
from uuid import UUID

from lakebed.catalog.data import changes as data_changes
from lakebed.catalog.data.add_files import check_new
from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.objects import properties
from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.partitions import changes, staged
from lakebed.catalog.partitions.changes import NewPartition, check_explicit, find_dropped_partition
from lakebed.catalog.partitions.partition import find_partition, partition_by_id, partition_by_values
from lakebed.catalog.partitions.seen import paths_ever
from lakebed.catalog.tables.properties import looks_at_keys, table_properties
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Scope, SeenStateChanged, once
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, NotFound
from lakebed.lake.engines import arrow_engine, check_keys
from lakebed.lake.objects import dropped
from lakebed.lake.partitions.opened import Opened, Values, source
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues, check_values, given_values

ATTEMPTS = 5
"""How often files are read again before changes of their table's schema are too many."""

Entries = Callable[[Work, TableState], Sequence[DataFileRef]]
"""Makes the entries of files that others wrote, for a table in a state."""

Put = Callable[[Work, TableState, Sequence[DataFileRef]], None]
"""Puts them into a work."""


def new_partition(
    location: str | None, format: str | None, properties: Mapping[str, str] | None, id: str | UUID | None
) -> NewPartition:
    """What a caller says of a partition to create; `Invalid` if it can't be."""
    if location is not None and not isinstance(location, str | PathLike):
        raise Invalid("a location is a folder", expected="a path or a URL", found=repr(location))
    given = None if id is None else check_id(id)
    found = changes.check_partition_properties(properties)
    return NewPartition(None if location is None else fspath(location), changes.check_format(format), found, given)


def new_arguments(table: str, values: Values, new: NewPartition) -> tuple[Argument, ...]:
    """What the request of a new partition has."""
    properties = cast(Argument, dict(new.properties or {}))
    return table, values_argument(values), new.location, properties, None if new.id is None else str(new.id)


def values_argument(values: Values | None) -> Argument:
    """Values as a request has them."""
    if values is None:
        return None
    return {str(name): str(value) for name, value in check_values(values).items()}


def create(
    scope: Scope, table: str, values: Values, new: NewPartition, request: Request, *, if_not_exists: bool = False
) -> str:
    """Create an explicit partition, with the files at its location, and answer its id."""
    known = scope.replayed(request)
    if known is not None:
        return _created(known)
    seen = scope.read()
    state = table_state(seen, table)
    found = find_partition(seen, state, given_values(values, state.schema, state.spec)) if if_not_exists else None
    if found is not None:
        return found.id
    made: list[str] = []

    def put(work: Work, state: TableState, entries: Sequence[DataFileRef]) -> None:
        asked = given_values(values, state.schema, state.spec)
        check_new(work, state, {file.path: file for file in entries})
        location = None if new.location is None else arrow_engine().folder(work.context.files, new.location)
        made.append(changes.create(work, state, asked, replace(new, location=location), entries))

    commit = _register(scope, table, _at(new.location, values), put, request)
    return made[-1] if commit is None or made else _created(commit)


def stage(scope: Scope, table: str, values: Values, new: NewPartition, request: Request) -> str:
    """Stage a partition, and answer its id."""
    known = scope.replayed(request)
    if known is not None:
        return _created(known)
    made: list[str] = []

    def do(work: Work) -> None:
        state = table_state(work, table)
        asked = given_values(values, state.schema, state.spec)
        made.append(staged.stage(work, state, asked, new.id, dict(new.properties or {})))

    scope.change(do, request)
    return made[-1]


def commit(scope: Scope, table: str, partition: str, request: Request, *, over_newer: bool) -> Commit | None:
    """Swap a staged partition in."""
    return scope.change(lambda work: staged.commit(work, table, partition, check_keys, over_newer=over_newer), request)


def discard(scope: Scope, table: str, partition: str, request: Request) -> Commit | None:
    """Give a staged partition up."""
    return scope.change(lambda work: staged.discard(work, table, partition), request)


def add_files(
    scope: Scope, table: str, partition: str, addresses: Sequence[str], request: Request, *, verify: bool
) -> Commit | None:
    """Add Parquet files, where they are, to a partition; without addresses, those at its location that are new."""

    def entries(work: Work, state: TableState) -> Sequence[DataFileRef]:
        opened = Opened.in_work(work, table, partition)
        values = check_explicit(work, state, opened.partition)
        if addresses:
            return arrow_engine().add_files(
                work.context.files, state.schema, state.spec, addresses, values.fields(state.schema), verify=verify
            )
        return _new_files(work, opened, values, verify)

    def put(work: Work, state: TableState, files: Sequence[DataFileRef]) -> None:
        opened = Opened.in_work(work, table, partition)
        check_new(work, state, {file.path: file for file in files})
        if not files:
            return
        delta = replace(delta_of(state, "insert"), added=tuple(files), summary=request.summary)
        change_files(work, state, delta, f"partition {opened.partition.text(state.schema)}")

    return once(scope, request, lambda: _register(scope, source(scope, table, partition), entries, put, request))


def move(scope: Scope, table: str, partition: str, location: str, request: Request) -> Commit | None:
    """Let the files at another location be those of a partition, all of them and no others."""

    def entries(work: Work, state: TableState) -> Sequence[DataFileRef]:
        return _at_location(work, state, location, _values(work, table, partition))

    def put(work: Work, state: TableState, files: Sequence[DataFileRef]) -> None:
        opened = _shown(work, table, partition)
        folder = arrow_engine().folder(work.context.files, location)
        changes.swap_files(work, state, "alter_partition", check_explicit(work, state, opened.partition), files)
        changes.alter(work, state, replace(opened.partition, location=folder), f"location {folder}")

    return once(scope, request, lambda: _register(scope, table, entries, put, request))


def drop(
    scope: Scope,
    table: str,
    values: Values | None,
    partition: str | None,
    request: Request,
    *,
    if_exists: bool = False,
) -> Commit | None:
    """Drop an explicit partition with its rows, by its values or its id."""

    def is_there() -> bool:
        work = scope.read()
        state = table_state(work, table)
        asked = None if values is None else given_values(values, state.schema, state.spec)
        return asked is None or find_partition(work, state, asked) is not None

    def do(work: Work) -> None:
        state = table_state(work, table)
        if partition is not None:
            found = _shown(work, table, partition).partition
        else:
            found = partition_by_values(work, state, given_values(values or {}, state.schema, state.spec))
        changes.drop(work, state, found)

    return dropped(lambda: scope.change(do, request), is_there, if_exists)


def undrop(scope: Scope, table: str, values: Values | None, id: str | UUID | None, request: Request) -> Commit | None:
    """Bring back a dropped partition with its rows."""
    if (values is None) is (id is None):
        raise Invalid("a dropped partition is named by its values or by its id", expected="one of the two")

    def do(work: Work) -> None:
        state = table_state(work, table)
        asked = None if values is None else given_values(values, state.schema, state.spec)
        changes.undrop(work, state, find_dropped_partition(work, state, asked, id), check_keys)

    return scope.change(do, request)


def set_properties(scope: Scope, table: str, partition: str, values: dict[str, str], request: Request) -> Commit | None:
    """Set some properties of an explicit partition."""
    given = changes.check_partition_properties(values)

    def do(work: Work) -> None:
        _check_explicit(work, table, partition)
        properties.set_properties(work, partition, given)

    return scope.change(do, request)


def unset_properties(scope: Scope, table: str, partition: str, keys: Sequence[str], request: Request) -> Commit | None:
    """Remove some properties of an explicit partition."""

    def do(work: Work) -> None:
        _check_explicit(work, table, partition)
        properties.unset_properties(work, partition, keys)

    return scope.change(do, request)


def _check_explicit(work: Work, table: str, partition: str) -> None:
    state = table_state(work, table)
    check_explicit(work, state, partition_by_id(work, state, partition))


def _register(scope: Scope, table: str, entries_of: Entries, put: Put, request: Request) -> Commit | None:
    """Read the files that others wrote, then commit; again if the table changed so that they have to be read again."""
    seen = scope.read()
    state = table_state(seen, table)

    def attempt() -> Commit | None:
        base, written = seen, state
        entries = entries_of(base, written)
        looks = _looks_at_keys(base, written) and bool(entries)
        if looks:
            check_keys(base, written, (), entries)
        base.context.files.sync(entry.path for entry in entries)

        def do(work: Work) -> None:
            if looks and work is not base:
                raise SeenStateChanged("keys that were looked for")
            put(work, data_changes.check_fits(work, written, data_changes.is_same), entries)

        return scope.change(do, request, base)

    def is_worth(_: Conflict) -> bool:
        nonlocal seen, state
        before = state
        seen, state = scope.read(), table_state(scope.read(), table)
        return _looks_at_keys(seen, state) or not data_changes.is_same(state, before)

    return retried(ATTEMPTS, attempt, is_worth)


def _at(location: str | None, values: Values) -> Entries:
    def entries(work: Work, state: TableState) -> Sequence[DataFileRef]:
        asked = given_values(values, state.schema, state.spec)
        return [] if location is None else _at_location(work, state, location, asked)

    return entries


def _at_location(work: Work, state: TableState, location: str, values: ExplicitValues) -> Sequence[DataFileRef]:
    files, fields = work.context.files, values.fields(state.schema)
    return arrow_engine().files_in(files, state.schema, state.spec, location, fields)


def _new_files(work: Work, opened: Opened, values: ExplicitValues, verify: bool) -> list[DataFileRef]:
    """The files at a partition's location that the table never had."""
    location = opened.partition.location
    if location is None:
        raise Invalid(
            "the partition has no location",
            subject=values.text(opened.schema),
            advice="Name the files: add_files([…]), or give it a location by alter(location=…).",
        )
    files, table = work.context.files, opened.table
    address, live = files.location(location), {file.path for file in opened.files()}
    unknown = arrow_engine().files_in(
        files, table.schema, table.spec, address, values.fields(table.schema), verify=verify, without=live
    )
    ever = paths_ever(work, opened.table) if unknown else set()
    return [file for file in unknown if file.path not in ever]


def _values(work: Work, table: str, partition: str) -> ExplicitValues:
    opened = _shown(work, table, partition)
    return check_explicit(work, opened.table, opened.partition)


def _shown(work: Work, table: str, partition: str) -> Opened:
    """A partition that is shown; `Invalid` if it is staged."""
    opened = Opened.in_work(work, table, partition)
    if opened.is_staged:
        raise Invalid("the partition is staged", subject=partition, advice="commit() shows it, discard() gives it up.")
    return opened


def _looks_at_keys(work: Work, state: TableState) -> bool:
    return bool(state.schema.identifier_ids) and looks_at_keys(table_properties(work, state.id))


def _created(commit: Commit) -> str:
    found = next((done.object_id for done in commit.operations if done.type in ("create", "stage")), None)
    if found is None:
        raise NotFound("the commit created no partition", subject=commit.id)
    return found
