"""Two states of a table, compared: the rows that only one of them has, and how differences of rows are shown.

    change (inserted, deleted, updated), row_id, key (if the table has one), columns (that differ), before, after

Rows are matched by their ids. What is left of tables with a primary key is matched by the key, where each side has it
once: a row that was deleted and inserted again is an update.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakebed.catalog.feed.ends import End, common_version, end_at
from lakebed.catalog.feed.feed import Feed, feed_of
from lakebed.catalog.feed.steps import Step
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import Scope
from lakebed.errors import Invalid, NotFound
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import LONG, STRING, Field, List, Struct

INSERTED: Final = "inserted"
DELETED: Final = "deleted"
UPDATED: Final = "updated"

CHANGE: Final = "change"
ROW: Final = "row_id"
KEY: Final = "key"
COLUMNS: Final = "columns"
BEFORE: Final = "before"
AFTER: Final = "after"


@dataclass(frozen=True, slots=True)
class Compared:
    """What is read to compare two states.

    `table` are the columns of the second state, of the first if the second has no table, and `shown` those of them that
    are compared and shown. `key` has the names that lead to each part of the primary key, by its path. `step` is None
    if no file differs. `dropped` are columns that the first state has dropped: they are shown, but not compared, since
    most of its rows still have their values, in files that are not read.
    """

    table: Schema
    shown: Schema
    key: Mapping[str, tuple[str, ...]]
    step: Step | None
    dropped: frozenset[str] = frozenset()

    @property
    def form(self) -> Schema:
        """The columns of a difference of rows."""
        keys = [replace(self._part(way), name=path, required=False) for path, way in self.key.items()]
        values = Struct(self.shown.fields)
        fields = [
            Field(CHANGE, STRING),
            Field(ROW, LONG),
            *([Field(KEY, Struct(tuple(keys)))] if keys else []),
            Field(COLUMNS, List(STRING)),
            Field(BEFORE, values),
            Field(AFTER, values),
        ]
        return Schema(fields)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that are part of the key, or contain a part of it."""
        return tuple(dict.fromkeys(way[0] for way in self.key.values()))

    def read(self, tested: Iterable[str] = ()) -> Schema:
        """The columns that have to be read: those shown, those of the key, and those that a condition tests."""
        wanted = {*self.shown.names, *self.key_columns, *tested}
        return Schema([field for field in self.table.fields if field.name in wanted])

    def _part(self, way: tuple[str, ...]) -> Field:
        return self.table.way(way)[-1]


def compared(first: End, second: End, columns: Iterable[str] | None) -> Compared:
    """What two states of a table have different; an end without a state has no rows."""
    feed, state = _feed_between(first, second)
    shown = feed.schema if columns is None else feed.schema.select(columns)
    if columns is not None and not shown.fields:
        raise Invalid("name the columns to compare", expected="at least one column", found="[]")
    ways = {id: feed.schema.way_by_id(id) for id in state.schema.identifier_ids}
    key = {feed.schema.path_of(id): tuple(field.name for field in way) for id, way in ways.items()}
    step = feed.steps[0] if feed.steps else None
    return Compared(feed.schema, shown, key, step, frozenset(_dropped_columns(first, second)))


def _dropped_columns(first: End, second: End) -> Iterator[str]:
    """The columns of the second state that the first had, and has no more."""
    if first.state is None or second.state is None or first.holder != second.holder:
        return
    missing = [field for field in second.state.schema.fields if field.id not in first.state.schema.ways]
    common = second.at(common_version(first, second)).state if missing else None
    for field in missing:
        if common is not None and field.id in common.schema.ways:
            yield field.name


def end_of(scope: Scope, table: str, *, is_there: bool) -> End:
    """A state of a table to compare; without a state if it is not there, as before it was created or once dropped."""
    work = scope.read()
    return end_at(scope, table, work.base) if is_there else End(scope, work, table, None)


def _feed_between(first: End, second: End) -> tuple[Feed, TableState]:
    if second.state is not None:
        return feed_of(first, second, net=True), second.state
    if first.state is None:
        raise NotFound("neither state has the table", subject=f"table {first.table}")
    feed = feed_of(second, first, net=True)
    steps = tuple(replace(step, removed=step.added, added=step.removed) for step in feed.steps)
    return replace(feed, steps=steps), first.state
