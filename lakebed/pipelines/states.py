"""States: a table at a version of a line, kept as text to be compared and read later, from whatever branch."""

from dataclasses import dataclass
from typing import Any, Self

from lakebed.catalog.feed.ends import end_at
from lakebed.catalog.feed.feed import feed_of
from lakebed.catalog.transaction.context import Context, Ref
from lakebed.catalog.transaction.lines import check_kept, open_line
from lakebed.catalog.transaction.scopes import Pinned
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Expired, NotFound
from lakebed.lake.table import Table
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class State:
    """A table at a version of a line, by ids: it stays readable after its branch was dropped, until that is purged."""

    table: str
    line: str
    version: int

    def document(self) -> dict[str, Any]:
        """The state as JSON has it."""
        return {"table": self.table, "line": self.line, "version": self.version}

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Self:
        """The state that `document` wrote."""
        return cls(str(document["table"]), str(document["line"]), int(document["version"]))


def state_of(table: Table[Any]) -> State:
    """The state that a handle shows, written for the line that its last commit belongs to."""
    work: Work = table._scope.read()
    version = table.version or work.base
    return State(str(table.id), _owner(work.ref, version), int(version))


def table_then(now: Table[Any], then: State) -> Table[Any]:
    """The table as it was in a state; `NotFound` or `Expired` if that can't be read any more."""
    context: Context = now._scope.context
    ref = open_line(context, now._scope.ref.catalog, then.line)
    check_kept(context, ref)
    return Table(then.table, Pinned(context, ref, Version.parse(then.version)))


def is_unchanged(now: Table[Any], then: State) -> bool:
    """Whether a table has the rows and columns that it had in a state, on whatever line that was."""
    if str(now.id) != then.table:
        return False
    if state_of(now) == then:
        return True
    try:
        past = table_then(now, then)
        scope, before = now._scope, past._scope
        newest = end_at(scope, str(now.id), scope.read().base)
        oldest = end_at(before, then.table, before.read().base)
        same_columns = (
            oldest.state is not None
            and newest.state is not None
            and oldest.state.schema.fields == newest.state.schema.fields
        )
        return same_columns and not feed_of(oldest, newest, net=True).steps
    except (NotFound, Expired):
        return False


def _owner(ref: Ref, version: Version) -> str:
    """The oldest ancestor, or the line itself, that has a version of what the line sees."""
    sight = ref.line.sight(version)
    return next((at.line for at in reversed(sight) if version <= at.version), ref.line.id)
