"""The table that an engine reads and changes, as a value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from lakebed.catalog.data.levels import keyed_alike
from lakebed.catalog.data.planning import plan, plan_keys
from lakebed.catalog.data.row_sources import Sources, sources
from lakebed.catalog.tables.properties import (
    Check,
    Properties,
    WriteOptions,
    checks_of,
    inline_bytes,
    table_properties,
    write_options,
)
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.files import Files
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.filter.filter import Filter
from lakebed.table.keys.levels import IsKeyed
from lakebed.table.manifest.inline import BUDGET_BYTES
from lakebed.table.plan.plan import Plan
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

ENOUGH_BYTES: Final = 1 << 20
"""Files must have this size to estimate the bytes of a row: in smaller files footers take too much."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table at one state, with all that an engine needs to read and write its rows.

    `plan` answers the files that may have rows for a filter; a concurrent change of such a row is a conflict. So does
    `plan_keys`, for changes that rely on which primary keys there are: there it is one at every level of isolation.
    `row_bytes` answers how many bytes a row takes in the table's files, None if they are too small to tell. Properties
    are parsed on use, so that a bad value fails only the calls that need it.
    """

    name: str
    state: TableState
    sources: Sources
    properties: Properties
    inline_room: int
    plan: Callable[[Filter | None], Plan]
    plan_keys: Callable[[Filter | None], Plan]
    row_bytes: Callable[[], float | None]
    is_keyed: IsKeyed
    purpose: str = "append to"
    """What rows are written for, before the table's name, as people are shown it while that takes time."""

    @property
    def schema(self) -> Schema:
        return self.state.schema

    @property
    def files(self) -> Files:
        return self.sources.files

    @property
    def checks(self) -> tuple[Check, ...]:
        return checks_of(self.properties)

    @property
    def inline_bytes(self) -> int:
        """The most bytes of inline rows in one write."""
        return inline_bytes(self.properties)

    @property
    def write_options(self) -> WriteOptions:
        return write_options(self.properties, self.schema)

    def with_columns(self, *columns: Field) -> "Target":
        """The table with lineage columns after its own, for rows that are written again."""
        return replace(self, state=with_columns(self.state, *columns))


def target_of(work: Work, state: TableState) -> Target:
    """A table as a work sees it."""
    return Target(
        name=spelled(name_of(work, state.id)),
        state=state,
        sources=sources(work, state.id),
        properties=table_properties(work, state.id),
        inline_room=BUDGET_BYTES - work.inline_bytes(),
        plan=partial(plan, work, state),
        plan_keys=partial(plan_keys if state.schema.identifier_ids else plan, work, state),
        row_bytes=partial(_row_bytes, work, state),
        is_keyed=keyed_alike(work, state),
    )


def with_columns(state: TableState, *columns: Field) -> TableState:
    """The table with more columns after its own."""
    schema = Schema((*state.schema.fields, *columns), state.schema.id, state.schema.identifier_ids)
    return replace(state, schema=schema)


def _row_bytes(work: Work, state: TableState) -> float | None:
    newest = work.reader.history(state.partition, Attribute.DATA, limit=1).items
    totals = cast(pb.TableHistory, newest[0].record).totals if newest else {}
    rows, size = totals.get("rows", 0), totals.get("bytes", 0)
    return size / rows if rows and size >= ENOUGH_BYTES else None
