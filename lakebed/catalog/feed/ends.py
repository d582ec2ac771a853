"""The two ends of a feed: a table at a version of a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.data.deltas import history
from lakebed.catalog.tables.tables import TableState, missing_record, stored_state
from lakebed.catalog.transaction.bound import Bound, bound_to
from lakebed.catalog.transaction.holders import unread_holder
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.tombstones import is_purged
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class End:
    """A table at a version. `state` is None if it was not there yet; a dropped table still has one."""

    scope: Scope
    work: Work
    table: str
    state: TableState | None

    @property
    def version(self) -> Version:
        return self.work.base

    @property
    def holder(self) -> str | None:
        return None if self.state is None else str(self.state.id)

    def at(self, version: Version) -> "End":
        """The same table on the same line at another version."""
        return end_at(self.scope, self.table, version)


def end_at(scope: Scope, table: str, version: Version) -> End:
    """A table on a line at a version; `Expired` if it was purged, never an empty state."""
    past = scope.at(version)
    work = past.read()
    holder = unread_holder(work, table)
    if work.unread_attribute(holder, Attribute.STORAGE) is not None:
        return End(past, work, table, stored_state(work, holder))
    if is_purged(work.context.metastore, str(table)):
        raise missing_record(work, str(table))
    return End(past, work, table, None)


def common_version(one: End, other: End) -> Version:
    """The newest version up to which both lines have the same past."""
    others = {at.line: at.version for at in other.work.ref.line.sight(other.version)}
    shared = (min(at.version, others[at.line]) for at in one.work.ref.line.sight(one.version) if at.line in others)
    return max(shared)


def is_past_of(since: End, until: End) -> bool:
    """Whether the first end is a past state of the other's line, so that every commit between them is known."""
    return since.version <= until.version and common_version(since, until) == since.version


def activations(since: End, until: End) -> Iterator[tuple[Version, str]]:
    """The holders of the table's state after the first end, each with the version from which on it is, oldest first."""
    if isinstance(until.table, Bound):
        if since.holder is None and until.holder is not None:
            yield until.version, until.holder
        return
    current = since.holder
    for state in reversed(history(until.work, until.table, since.version, Attribute.STORAGE)):
        found = cast(pb.TableStorage, state.record).active_edition_id or str(until.table)
        if found != current:
            yield state.version, found
            current = found


def state_of_holder(end: End, holder: str) -> TableState:
    """The state that an edition has at an end, active or not."""
    return stored_state(end.work, bound_to(holder))
