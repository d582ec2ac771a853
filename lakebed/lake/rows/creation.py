"""Creating tables: empty or with their first rows, and in place of others, each in one commit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.tables import tables
from lakebed.catalog.tables.known_properties import check_table_properties
from lakebed.catalog.tables.tables import Layout
from lakebed.catalog.transaction import objects
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name
from lakebed.catalog.transaction.retry import retried
from lakebed.catalog.transaction.scopes import Open, Scope
from lakebed.catalog.transaction.work import Work
from lakebed.lake.arguments import SchemaLike, may_be_rows, schema_of
from lakebed.lake.engines import arrow_engine, engine_for, is_of_spark
from lakebed.lake.rows.appends import append, append_new_keys
from lakebed.metastore.kinds import TABLE
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import (
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    Field,
    Fields,
    Type,
    children_of,
    with_children,
)

ATTEMPTS = 5
"""How often rows in memory are written before others win the name once more."""

_MICROSECONDS: dict[Type, Type] = {TIMESTAMP_NS: TIMESTAMP, TIMESTAMPTZ_NS: TIMESTAMPTZ}


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to be created: its columns, properties and layout, and its first rows, None for an empty one."""

    name: Name
    columns: Schema
    properties: dict[str, str]
    comment: str | None
    layout: Layout
    rows: object = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What is asked for, as a request has it: of a table with rows neither the rows nor their columns."""
        columns = schema_to_json(self.columns).decode() if self.rows is None else "rows"
        return parse_name(self.name), columns, self.properties, self.comment, *self.layout.arguments

    def create(self, work: Work) -> str:
        """Create it without rows, and answer its id."""
        check_table_properties(self.properties, with_ids(self.columns, 1, 1))
        return tables.create_table(work, self.name, self.columns, self.properties, self.comment, self.layout)

    def replace(self, work: Work) -> str:
        """Drop the table that has its name, if there is one, and create it without rows."""
        if objects.exists(work, self.name, TABLE):
            objects.drop(work, tables.find_table(work, self.name))
        return self.create(work)


def columns_and_rows(given: SchemaLike) -> tuple[Schema, object]:
    """The schema that is given, and None; or the columns of the rows that are given, and the rows.

    No column of rows is required: whether it has nulls, only later rows show.
    """
    if not may_be_rows(given):
        return schema_of(given), None
    columns, rows = engine_for(given).columns_of(given)
    if not is_of_spark(rows):
        arrow_engine().check_typed(rows)
    is_pandas = type(given).__module__.partition(".")[0] == "pandas"
    return Schema(_optional(columns.fields, _MICROSECONDS if is_pandas else {})), rows


def create_table(scope: Scope, new: NewTable, make: Callable[[Work], str], request: Request) -> str:
    """Create a table by `make`, with its rows, in one commit, and answer its id."""
    known = scope.replayed(request)
    if known is not None:
        return _created(known)
    if isinstance(scope, Open):
        with scope.all_or_none():
            return _make(scope, new, make)
    if new.rows is None:
        made: list[str] = []
        scope.change(lambda work: made.append(make(work)), request)
        return made[-1]
    attempts = ATTEMPTS if can_be_read_again(new.rows) else 1
    return retried(attempts, lambda: _created(_commit(Open(scope.context, scope.ref, request), new, make)))


def _commit(own: Open, new: NewTable, make: Callable[[Work], str]) -> Commit:
    own.begin()
    try:
        _make(own, new, make)
        return own.commit_or_newest()
    finally:
        own.close()


def _make(scope: Open, new: NewTable, make: Callable[[Work], str]) -> str:
    made: list[str] = []
    scope.change(lambda work: made.append(make(work)), Request("create_table"))
    if new.rows is not None:
        fill = append_new_keys if new.layout.primary_key else append
        fill(scope, made[0], new.rows, Request("append"))
    return made[0]


def _created(commit: Commit) -> str:
    return next(done.object_id for done in commit.operations if done.type == "create")


def _optional(fields: Fields, types: dict[Type, Type]) -> Fields:
    return tuple(_optional_field(field, types) for field in fields)


def _optional_field(field: Field, types: dict[Type, Type]) -> Field:
    type = with_children(field.type, _optional(children_of(field.type), types))
    return replace(field, type=types.get(type, type), required=False)
