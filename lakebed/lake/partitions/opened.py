"""A partition as a call finds it: its table's state, what is stored of it, its rows and files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.catalog.data.engine import Where
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.data.planning import plan
from lakebed.catalog.partitions.members import has_values, members_unread, rows_of
from lakebed.catalog.partitions.partition import (
    STAGED,
    PartitionState,
    explicit_partitions,
    partition_by_id,
    partition_by_values,
    root_of,
)
from lakebed.catalog.partitions.staged import cell_of
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.filter.column import col
from lakebed.table.filter.condition import Condition, all_conditions, any_condition
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues, given_values, python_value
from lakebed.table.schema.schema import Schema

Values = Mapping[str, Any]
"""Values by column, as a caller gives them."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A partition in a work."""

    work: Work
    table: TableState
    partition: PartitionState

    @classmethod
    def of(cls, scope: Scope, table: str, partition: str) -> "Opened":
        """The partition of a table by its id, as a scope shows it now."""
        return cls.in_work(scope.read(), table, partition)

    @classmethod
    def in_work(cls, work: Work, table: str, partition: str) -> "Opened":
        state = table_state(work, table)
        found = partition_by_id(work, state, partition)
        return cls(work, table_state(work, cell_of(state, found.id)) if found.state == STAGED else state, found)

    @property
    def is_staged(self) -> bool:
        return self.partition.state == STAGED

    @property
    def within(self) -> ExplicitValues | None:
        """The values that tell its rows from others of the same data; None if all are its own, and for the root."""
        return None if self.is_staged else self.partition.values

    @property
    def schema(self) -> Schema:
        return self.table.schema

    def condition(self) -> Condition | None:
        """What its rows alone pass; None if that is all rows."""
        if self.is_staged:
            return None
        if self.partition.values is not None:
            return self.partition.values.condition(self.schema)
        others = [_outside(one.values, self.schema) for one in explicit_partitions(self.work, self.table) if one.values]
        return all_conditions(others) if others else None

    def where(self, where: Where) -> Where:
        """A condition on its rows as one on the table's."""
        own = self.condition()
        if own is None or where is None:
            return own if where is None else where
        return own & where if isinstance(where, Condition) else f"({own}) AND ({where})"

    def files(self) -> list[DataFileRef]:
        """Its live files."""
        if self.within is not None:
            return members_unread(self.work, self.table, self.within)
        shown = [] if self.is_staged else explicit_partitions(self.work, self.table)
        others = [one.values for one in shown if one.values]
        live = live_files(self.work, self.table).values()
        return [one for one in live if not any(has_values(self.work, self.table, one, values) for values in others)]

    def count(self) -> int:
        """How many rows it has, by its metadata; a later change of them is a conflict."""
        plan(self.work, self.table, None if self.within is None else rows_of(self.table, self.within))
        return sum(live_rows(self.work.context.files, file) for file in self.files())


def source(scope: Scope, table: str, partition: str) -> str:
    """What stands for the table's id in a call on a partition: its own data if it is staged."""
    opened = Opened.of(scope, table, partition)
    return cell_of(opened.table, partition) if opened.is_staged else table


def listed(scope: Scope, table: str) -> list[str]:
    """The ids of a table's partitions, the root first."""
    work = scope.read()
    state = table_state(work, table)
    return [one.id for one in (root_of(state), *explicit_partitions(work, state))]


def find(scope: Scope, table: str, values: Values | str | UUID | None, id: str | UUID | None) -> str:
    """The id of a partition by its values or its id; without both, that of the root."""
    work = scope.read()
    state = table_state(work, table)
    if id is not None or isinstance(values, str | UUID):
        if id is not None and values is not None:
            raise Invalid("a partition is named by its values or by its id", expected="one of the two")
        return partition_by_id(work, state, values if id is None else id).id  # type: ignore[arg-type]  # not a mapping here
    if values is None:
        return root_of(state).id
    return partition_by_values(work, state, given_values(values, state.schema, state.spec)).id


def _outside(values: ExplicitValues, schema: Schema) -> Condition:
    """True for rows that differ from the values in one column at least; a null differs from every value."""
    return any_condition([_differs(field.name, field.type, value) for field, value in values.fields(schema).items()])


def _differs(name: str, type: Any, value: Any) -> Condition:
    column = col("`" + name.replace("`", "``") + "`")
    return column.is_not_null() if value is None else (column != python_value(type, value)) | column.is_null()
