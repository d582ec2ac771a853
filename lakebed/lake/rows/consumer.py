"""A consumer: a named position in a table's changes, which commits with the work that it is for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic
from typing import cast as typed
from uuid import UUID

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed import consumers
from lakebed.catalog.transaction.commits import Answer, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid
from lakebed.lake.arguments import asked_moment, version_of
from lakebed.lake.rows.changes import Changes, Since, changes
from lakebed.store import Version


@dataclass(frozen=True, slots=True, repr=False)
class Consumer(Generic[Answer]):
    """Somebody who follows a table's changes: `changes()` are those that it has not seen, `advance` says it has.

    Of two that advance from the same position one succeeds; for the other it is a `Conflict`. Inside a transaction the
    position commits with the transaction's work, so that no change is worked on twice, and none is left out.
    """

    name: str
    _table: str = field(repr=False)
    _scope: Scope = field(repr=False)

    @property
    def position(self) -> Version | None:
        """The version up to which it has seen the changes; None if it has not begun."""
        found = consumers.position_of(self._scope.read(), str(self._table), self.name)
        return None if found == consumers.START else found

    def changes(
        self,
        until: Since | None = None,
        *,
        net: bool = False,
        updates: bool = True,
        where: Where = None,
        columns: Sequence[str] | None = None,
    ) -> Changes:
        """The changes after its position, as `table.changes` has them; from the first row on if it has not begun."""
        since = self.position or consumers.START
        return changes(self._scope, self._table, since, until, net=net, updates=updates, where=where, columns=columns)

    def advance(
        self,
        to: Changes | Moment,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Move on to the end of changes that it got, or to a moment of `at`.

        `Conflict` if it has moved on since it got these changes. Going back is `Invalid`. If no commit wrote to the
        table it stays where it is: a consumer that only looks makes no commits.
        """
        table, since = str(self._table), to.since if isinstance(to, Changes) else None
        if isinstance(to, Changes):
            to.check_of(table)
        until = to.reached if isinstance(to, Changes) else version_of(self._scope, to, table=self._table)
        asked = int(until) if isinstance(to, Changes) else asked_moment(to, until)
        request = Request("advance_consumer", (table, self.name, asked), message, author, event_id)
        commit = self._scope.change(lambda work: consumers.advance(work, table, self.name, until, since), request)
        return typed("Answer", commit)

    def reset(
        self,
        to: Moment | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Go to any moment, also back; without one forget the position, so that it begins again with the first row."""
        table, version = str(self._table), None if to is None else version_of(self._scope, to, table=self._table)
        asked = None if to is None or version is None else asked_moment(to, version)
        request = Request("reset_consumer", (table, self.name, asked), message, author, event_id)
        commit = self._scope.change(lambda work: consumers.put_position(work, table, self.name, version), request)
        return typed("Answer", commit)

    def __repr__(self) -> str:
        """Its name and position: it asks the lake, and never fails."""
        try:
            return f"Consumer {self.name}, {'not begun' if self.position is None else f'at version {self.position}'}"
        except Exception:  # a closed lake, a dropped branch
            return f"Consumer {self.name}"


def consumer_of(scope: Scope, table: str, name: str) -> "Consumer[Answer]":
    """The consumer of a table with a name; it need not have begun."""
    if not isinstance(name, str):
        raise Invalid("a consumer has a name", expected="text", found=type(name).__name__)
    return Consumer(consumers.check_consumer_name(name), table, scope)
